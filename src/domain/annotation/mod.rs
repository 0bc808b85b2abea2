//! Annotations of messages: references to sources, and tags. Parses and validates them; callers with a store check that
//! the files and turns they refer to exist.

#[cfg(test)]
mod tests;

use super::{AttachmentId, TurnId};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::str::FromStr;
use url::Url;

pub const MAX_TAGS: usize = 50;
pub const MAX_TAG_CHARS: usize = 100;
pub const MAX_REFERENCES: usize = 100;
pub const MAX_URL_BYTES: usize = 2048;
pub const MAX_TITLE_CHARS: usize = 500;
pub const MAX_CONTENT_CHARS: usize = 20_000;
pub const MAX_EXCERPT_CHARS: usize = 2_000;
pub const MAX_TYPE_CHARS: usize = 50;

const FIELDS: [&str; 6] = ["url", "title", "content", "keyExcerpt", "type", "bonus"];

/// A source: a page on the web, `attachment:<uuid>` or `turn:<uuid>`.
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
pub enum ReferenceTarget {
    Web,
    Attachment(AttachmentId),
    Turn(TurnId),
}

impl ReferenceTarget {
    /// The URL of a reference to a file.
    pub fn attachment_url(attachment: AttachmentId) -> String {
        format!("attachment:{attachment}")
    }

    /// The canonical form of a URL and what it points at. The error says what is allowed.
    pub fn parse(given: &str) -> Result<(String, Self), &'static str> {
        const ALLOWED: &str = "must be http://…, https://…, attachment:<uuid> or turn:<uuid>";
        let text = given.trim();
        if text.len() > MAX_URL_BYTES {
            return Err("must have at most 2048 bytes");
        }
        let (scheme, rest) = text.split_once(':').ok_or(ALLOWED)?;
        match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => {
                if text.chars().any(|c| c.is_whitespace() || c.is_control()) {
                    return Err("must have no spaces or line breaks in it");
                }
                // The parser accepts a missing slash, but other programs that follow the link may not.
                let whole = rest.starts_with("//") && Url::parse(text).is_ok_and(|url| url.has_host());
                if whole { Ok((text.to_owned(), Self::Web)) } else { Err(ALLOWED) }
            }
            "attachment" => {
                let id = AttachmentId::from_str(rest).map_err(|_| ALLOWED)?;
                Ok((Self::attachment_url(id), Self::Attachment(id)))
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
    /// A reference to a file, as the agent adds it.
    pub fn to_file(id: AttachmentId, filename: &str, kind: &str) -> Self {
        let title: String = filename.chars().take(MAX_TITLE_CHARS).collect();
        Self {
            url: ReferenceTarget::attachment_url(id),
            title: Some(title).filter(|title| !title.is_empty()),
            kind: Some(kind.to_owned()),
            ..Self::default()
        }
    }

    pub fn target(&self) -> ReferenceTarget {
        ReferenceTarget::parse(&self.url).map_or(ReferenceTarget::Web, |(_, target)| target)
    }
}

/// An invalid field of the input: its path, and what is allowed there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldError {
    pub field: String,
    pub detail: String,
}

impl FieldError {
    pub fn new(field: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { field: field.into(), detail: detail.into() }
    }
}

/// Normalizes tags: trimmed, lower case, without duplicates, in their order. A message has at most one tag of each
/// `exclusive` group. Null is an empty list.
pub fn parse_tags(given: &Value, exclusive: &[String]) -> Result<Vec<String>, Vec<FieldError>> {
    let items = parse_list(given, "tags", "a list of words, each `group:value` or plain")?;
    let mut kept: Vec<String> = Vec::new();
    let mut errors = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item.as_str().ok_or("must be a text").and_then(parse_tag) {
            Ok(tag) if kept.contains(&tag) => {}
            Ok(tag) => {
                let group = exclusive.iter().map(|group| group.trim().to_lowercase());
                let group = group.into_iter().find(|group| group_of(&tag) == Some(group));
                let rival = group.and_then(|group| kept.iter().find(|known| group_of(known) == Some(&group)));
                if let Some(rival) = rival {
                    let why = format!("a message has only one tag of this group, and {rival:?} is there");
                    errors.push(FieldError::new(format!("tags[{at}]"), why));
                } else {
                    kept.push(tag);
                }
            }
            Err(why) => errors.push(FieldError::new(format!("tags[{at}]"), why)),
        }
        // Stop early: the list may be very long.
        if kept.len() > MAX_TAGS {
            errors.push(FieldError::new("tags", format!("must be at most {MAX_TAGS} tags")));
            break;
        }
    }
    if errors.is_empty() { Ok(kept) } else { Err(errors) }
}

/// Normalizes one tag.
pub fn parse_tag(given: &str) -> Result<String, &'static str> {
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
        1..=MAX_TAG_CHARS => Ok(tag),
        _ => Err("must have at most 100 characters"),
    }
}

fn group_of(tag: &str) -> Option<&str> {
    tag.split_once(':').map(|(group, _)| group)
}

/// Normalizes references. Null is an empty list.
pub fn parse_references(given: &Value) -> Result<Vec<Reference>, Vec<FieldError>> {
    let items = parse_list(given, "refs", "a list of references, each with a `url`")?;
    if items.len() > MAX_REFERENCES {
        return Err(vec![FieldError::new("refs", format!("must be at most {MAX_REFERENCES} references"))]);
    }
    let mut kept = Vec::new();
    let mut errors = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item {
            Value::Object(fields) => match parse_reference(fields) {
                Ok(reference) => kept.push(reference),
                Err(found) => errors.extend(
                    found
                        .into_iter()
                        .map(|error| FieldError::new(format!("refs[{at}].{}", error.field), error.detail)),
                ),
            },
            _ => errors.push(FieldError::new(format!("refs[{at}]"), "must be an object with a `url`")),
        }
    }
    if errors.is_empty() { Ok(kept) } else { Err(errors) }
}

fn parse_reference(fields: &Map<String, Value>) -> Result<Reference, Vec<FieldError>> {
    let unknown = fields.keys().filter(|name| !FIELDS.contains(&name.as_str()));
    let mut errors: Vec<FieldError> = unknown
        .map(|name| {
            FieldError::new(name, format!("is not a field of a reference; those are {}", FIELDS.join(", ")))
        })
        .collect();
    let url = match fields.get("url") {
        Some(Value::String(text)) => match ReferenceTarget::parse(text) {
            Ok((url, _)) => url,
            Err(why) => {
                errors.push(FieldError::new("url", why));
                String::new()
            }
        },
        Some(_) => {
            errors.push(FieldError::new("url", "must be a text"));
            String::new()
        }
        None => {
            errors.push(FieldError::new("url", "is missing"));
            String::new()
        }
    };
    let mut text = |name: &str, max_chars: usize| match parse_text(fields.get(name), max_chars) {
        Ok(text) => text,
        Err(why) => {
            errors.push(FieldError::new(name, why));
            None
        }
    };
    let (title, content) = (text("title", MAX_TITLE_CHARS), text("content", MAX_CONTENT_CHARS));
    let (key_excerpt, kind) = (text("keyExcerpt", MAX_EXCERPT_CHARS), text("type", MAX_TYPE_CHARS));
    let bonus = match fields.get("bonus") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(bonus)) => Some(*bonus),
        Some(_) => {
            errors.push(FieldError::new("bonus", "must be true or false"));
            None
        }
    };
    match errors.is_empty() {
        true => Ok(Reference { url, title, content, key_excerpt, kind, bonus }),
        false => Err(errors),
    }
}

/// A text of at most `max_chars` characters that every database can store; none if it is left out or null.
pub fn parse_text(given: Option<&Value>, max_chars: usize) -> Result<Option<String>, String> {
    match given {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.contains('\0') => Err("must not contain the NUL character".into()),
        // Bytes first: counting characters is slow and seldom needed.
        Some(Value::String(text)) if text.len() > max_chars && text.chars().count() > max_chars => {
            Err(format!("must have at most {max_chars} characters"))
        }
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err("must be a text".into()),
    }
}

fn parse_list<'a>(given: &'a Value, field: &str, what: &str) -> Result<&'a [Value], Vec<FieldError>> {
    match given {
        Value::Null => Ok(&[]),
        Value::Array(items) => Ok(items),
        _ => Err(vec![FieldError::new(field, format!("must be {what}"))]),
    }
}
