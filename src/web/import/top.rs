//! What a history comes in: a bare list of entries, an export, or what GET answered.

use crate::domain::annotation::Flaw;
use serde_json::Value;

const MOST_ENTRIES: usize = 10_000;
const LONGEST_TITLE: usize = 200;

/// Of an export, and of what GET answers.
const TOP: [&str; 11] = [
    "history",
    "question",
    "answer",
    "session",
    "attachments",
    "exportedAt",
    "version",
    "success",
    "threadId",
    "messageCount",
    "nextBefore",
];
/// What is sent beside the entries.
pub struct Top<'a> {
    pub entries: &'a [Value],
    pub title: Option<String>,
}

pub fn read(body: &Value) -> Result<Top<'_>, Flaw> {
    let (entries, title) = match body {
        Value::Array(entries) => (entries, None),
        Value::Object(fields) => {
            if let Some(unknown) = fields.keys().find(|name| !TOP.contains(&name.as_str())) {
                return Err(Flaw::new(unknown, "is not a field of an exported history"));
            }
            if fields.get("version").is_some_and(|version| *version != 1) {
                return Err(Flaw::new("version", "must be 1, the only one there is"));
            }
            if fields.get("nextBefore").is_some_and(|before| !before.is_null()) {
                let why = "there is more before this page; read the whole history, without limit";
                return Err(Flaw::new("nextBefore", why));
            }
            let Some(Value::Array(entries)) = fields.get("history") else {
                return Err(Flaw::new("history", "must be a list of entries"));
            };
            let title = fields.get("session").and_then(|session| session["title"].as_str());
            let title = title.map(|title| title.trim().chars().take(LONGEST_TITLE).collect());
            (entries, title)
        }
        _ => return Err(Flaw::new("history", "must be a list of entries, or an exported history")),
    };
    match entries.len() {
        0..=MOST_ENTRIES => Ok(Top { entries, title }),
        _ => Err(Flaw::new("history", format!("must be at most {MOST_ENTRIES} entries"))),
    }
}
