//! What people note on messages: references to where something comes from, and tags to find it again. Here is what
//! may be noted; whether a file or a turn is really there is for those to say who can look.

#[cfg(test)]
mod tests;

use super::{AttachmentId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::str::FromStr;
use url::Url;

pub const MOST_TAGS: usize = 50;
pub const LONGEST_TAG: usize = 100;
pub const MOST_REFS: usize = 100;
/// In bytes, as browsers and servers count.
pub const LONGEST_URL: usize = 2048;
pub const LONGEST_TITLE: usize = 500;
pub const LONGEST_CONTENT: usize = 20_000;
pub const LONGEST_EXCERPT: usize = 2_000;
pub const LONGEST_TYPE: usize = 50;

const FIELDS: [&str; 6] = ["url", "title", "content", "keyExcerpt", "type", "bonus"];

/// Where something comes from: a page on the web, `attachment:<uuid>` or `turn:<uuid>`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reference {
    pub url: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_excerpt: Option<String>,
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bonus: Option<bool>,
}

/// What a reference points at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    Web,
    Attachment(AttachmentId),
    Turn(TurnId),
}

impl Target {
    /// The address of a target that is ours.
    pub fn url_of(attachment: AttachmentId) -> String {
        format!("attachment:{attachment}")
    }

    /// The one way to write an address, and what it points at; or what would be allowed instead.
    pub fn read(given: &str) -> Result<(String, Self), &'static str> {
        const ALLOWED: &str = "must be http://…, https://…, attachment:<uuid> or turn:<uuid>";
        let text = given.trim();
        if text.len() > LONGEST_URL {
            return Err("must have at most 2048 bytes");
        }
        let (scheme, rest) = text.split_once(':').ok_or(ALLOWED)?;
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => {
                if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
                    return Err("must have no spaces or line breaks in it");
                }
                // The parser forgives a missing slash; whoever follows the link may not.
                let whole = rest.starts_with("//") && Url::parse(text).is_ok_and(|url| url.has_host());
                if whole { Ok((text.to_owned(), Self::Web)) } else { Err(ALLOWED) }
            }
            "attachment" => {
                let id = AttachmentId::from_str(rest).map_err(|_| ALLOWED)?;
                Ok((Self::url_of(id), Self::Attachment(id)))
            }
            "turn" => {
                let id = TurnId::from_str(rest).map_err(|_| ALLOWED)?;
                Ok((format!("turn:{id}"), Self::Turn(id)))
            }
            _ => Err(ALLOWED),
        }
    }
}

impl Reference {
    /// To a file, as the agent notes it.
    pub fn to_file(id: AttachmentId, filename: &str, kind: &str) -> Self {
        let title: String = filename.chars().take(LONGEST_TITLE).collect();
        Self {
            url: Target::url_of(id),
            title: Some(title).filter(|title| !title.is_empty()),
            kind: Some(kind.to_owned()),
            ..Self::default()
        }
    }

    pub fn target(&self) -> Target {
        Target::read(&self.url).map_or(Target::Web, |(_, target)| target)
    }
}

/// One thing that is not allowed: where it stands, and what would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flaw {
    pub field: String,
    pub detail: String,
}

impl Flaw {
    pub fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }
}

/// Tags as they are kept: trimmed, in small letters, each once, in their order. `exclusive` are the groups of which
/// a message has at most one. Null is none.
pub fn tags(given: &Value, exclusive: &[String]) -> Result<Vec<String>, Vec<Flaw>> {
    let items = list(given, "tags", "a list of words, each `group:value` or plain")?;
    let mut kept: Vec<String> = Vec::new();
    let mut flaws = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item.as_str().ok_or("must be a text").and_then(tag) {
            Ok(tag) if kept.contains(&tag) => {}
            Ok(tag) => {
                let group = exclusive.iter().map(|group| group.trim().to_lowercase());
                let group = group.into_iter().find(|group| group_of(&tag) == Some(group));
                let rival = group.and_then(|group| kept.iter().find(|known| group_of(known) == Some(&group)));
                if let Some(rival) = rival {
                    let why = format!("a message has only one tag of this group, and {rival:?} is there");
                    flaws.push(Flaw::new(format!("tags[{at}]"), why));
                } else {
                    kept.push(tag);
                }
            }
            Err(why) => flaws.push(Flaw::new(format!("tags[{at}]"), why)),
        }
        // The rest need not be read to know that it is too much.
        if kept.len() > MOST_TAGS {
            flaws.push(Flaw::new("tags", format!("must be at most {MOST_TAGS} tags")));
            break;
        }
    }
    if flaws.is_empty() { Ok(kept) } else { Err(flaws) }
}

/// One tag as it is kept.
pub fn tag(given: &str) -> Result<String, &'static str> {
    let lower = given.trim().to_lowercase();
    if lower.chars().any(char::is_control) {
        return Err("must be one line without control characters");
    }
    let tag = match lower.split_once(':') {
        Some((group, value)) => match (group.trim(), value.trim()) {
            ("", _) | (_, "") => return Err("needs something on both sides of the colon: `group:value`"),
            (group, value) => format!("{group}:{value}"),
        },
        None => lower,
    };
    match tag.chars().count() {
        0 => Err("must not be blank"),
        1..=LONGEST_TAG => Ok(tag),
        _ => Err("must have at most 100 characters"),
    }
}

fn group_of(tag: &str) -> Option<&str> {
    tag.split_once(':').map(|(group, _)| group)
}

/// References as they are kept. Null is none.
pub fn refs(given: &Value) -> Result<Vec<Reference>, Vec<Flaw>> {
    let items = list(given, "refs", "a list of references, each with a `url`")?;
    if items.len() > MOST_REFS {
        return Err(vec![Flaw::new("refs", format!("must be at most {MOST_REFS} references"))]);
    }
    let mut kept = Vec::new();
    let mut flaws = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item {
            Value::Object(fields) => match reference(fields) {
                Ok(reference) => kept.push(reference),
                Err(found) => flaws.extend(
                    found
                        .into_iter()
                        .map(|flaw| Flaw::new(format!("refs[{at}].{}", flaw.field), flaw.detail)),
                ),
            },
            _ => flaws.push(Flaw::new(format!("refs[{at}]"), "must be an object with a `url`")),
        }
    }
    if flaws.is_empty() { Ok(kept) } else { Err(flaws) }
}

fn reference(fields: &Map<String, Value>) -> Result<Reference, Vec<Flaw>> {
    let unknown = fields.keys().filter(|name| !FIELDS.contains(&name.as_str()));
    let mut flaws: Vec<Flaw> = unknown
        .map(|name| {
            Flaw::new(name, format!("is not a field of a reference; those are {}", FIELDS.join(", ")))
        })
        .collect();
    let url = match fields.get("url") {
        Some(Value::String(text)) => match Target::read(text) {
            Ok((url, _)) => url,
            Err(why) => {
                flaws.push(Flaw::new("url", why));
                String::new()
            }
        },
        Some(_) => {
            flaws.push(Flaw::new("url", "must be a text"));
            String::new()
        }
        None => {
            flaws.push(Flaw::new("url", "is missing"));
            String::new()
        }
    };
    let mut text = |name: &str, most: usize| match short_text(fields.get(name), most) {
        Ok(text) => text,
        Err(why) => {
            flaws.push(Flaw::new(name, why));
            None
        }
    };
    let (title, content) = (text("title", LONGEST_TITLE), text("content", LONGEST_CONTENT));
    let (key_excerpt, kind) = (text("keyExcerpt", LONGEST_EXCERPT), text("type", LONGEST_TYPE));
    let bonus = match fields.get("bonus") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(bonus)) => Some(*bonus),
        Some(_) => {
            flaws.push(Flaw::new("bonus", "must be true or false"));
            None
        }
    };
    match flaws.is_empty() {
        true => Ok(Reference { url, title, content, key_excerpt, kind, bonus }),
        false => Err(flaws),
    }
}

/// A text of at most so many characters, as any database keeps it; none if it is left out or null.
pub fn short_text(given: Option<&Value>, most: usize) -> Result<Option<String>, String> {
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.contains('\0') => Err("must not contain the NUL character".into()),
        // Bytes first: counting is only needed where it may matter.
        Some(Value::String(text)) if text.len() > most && text.chars().count() > most => {
            Err(format!("must have at most {most} characters"))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err("must be a text".into()),
    }
}

fn list<'a>(given: &'a Value, field: &str, what: &str) -> Result<&'a [Value], Vec<Flaw>> {
    match given {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(vec![Flaw::new(field, format!("must be {what}"))]),
    }
}
