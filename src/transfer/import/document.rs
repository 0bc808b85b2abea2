//! The document around the entries: a bare list, an export, or the reply of `GET /sessions/{id}/history`.

use crate::domain::annotation::FieldError;
use serde_json::Value;

const MAX_ENTRIES: usize = 10_000;
const MAX_TITLE_CHARS: usize = 200;

/// Fields of an export and of the reply of GET.
const FIELDS: [&str; 11] = [
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

pub struct Document<'a> {
    pub entries: &'a [Value],
    pub title: Option<String>,
}

pub fn parse(document: &Value) -> Result<Document<'_>, FieldError> {
    let (entries, title) = match document {
        Value::Array(entries) => (entries, None),
        Value::Object(fields) => {
            if let Some(unknown) = fields.keys().find(|name| !FIELDS.contains(&name.as_str())) {
                return Err(FieldError::new(unknown, "is not a field of an exported history"));
            }
            if fields.get("version").is_some_and(|version| *version != 1) {
                return Err(FieldError::new("version", "must be 1, the only one there is"));
            }
            if fields.get("nextBefore").is_some_and(|before| !before.is_null()) {
                let detail = "there is more before this page; read the whole history, without limit";
                return Err(FieldError::new("nextBefore", detail));
            }
            let Some(Value::Array(entries)) = fields.get("history") else {
                return Err(FieldError::new("history", "must be a list of entries"));
            };
            let title = fields.get("session").and_then(|session| session["title"].as_str());
            let title = title.map(|title| title.trim().chars().take(MAX_TITLE_CHARS).collect());
            (entries, title)
        }
        _ => return Err(FieldError::new("history", "must be a list of entries, or an exported history")),
    };
    match entries.len() {
        0..=MAX_ENTRIES => Ok(Document { entries, title }),
        _ => Err(FieldError::new("history", format!("must be at most {MAX_ENTRIES} entries"))),
    }
}
