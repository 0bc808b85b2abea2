//! Parses entries one by one: field names, types and limits. `plan` checks whether the entries fit together.

use super::{
    error::EntryErrors,
    limits::{self, MAX_CONTENT_CHARS, MAX_FILES_PER_ENTRY, MAX_NAME_CHARS, MAX_NOTE_CHARS},
};
use crate::{
    domain::{
        AttachmentId, Reference, TurnId,
        annotation::{self, FieldError, parse_text},
    },
    transfer::json::EntryRole,
};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value};
use std::str::FromStr;

const FIELDS: [&str; 18] = [
    "role",
    "msg",
    "content",
    "timestamp",
    "internalId",
    "turnId",
    "agent_id",
    "tool_call_id",
    "tool_name",
    "attachments",
    "refs",
    "tags",
    "replyTo",
    "albumId",
    "note",
    "failed",
    "durationMs",
    "usage",
];
/// Fields of an attachment in the reply of GET. Only the id is used.
const FILE_FIELDS: [&str; 13] = [
    "attachmentId",
    "filename",
    "mimeType",
    "size",
    "width",
    "height",
    "createdAt",
    "source",
    "description",
    "url",
    "thumbnailUrl",
    "parents",
    "recipe",
];

/// Left out, null, or a value. On a stored row, a field that is left out keeps its value and null clears it.
pub type Patch<T> = Option<Option<T>>;

/// One parsed entry.
#[derive(Debug, Clone)]
pub struct ImportedEntry {
    /// Its position in the list, for errors.
    pub index: usize,
    pub role: EntryRole,
    /// For a tool call, the text that came with it.
    pub content: String,
    pub call: Option<ImportedCall>,
    pub internal_id: Option<i64>,
    pub timestamp: Option<DateTime<Utc>>,
    pub turn_id: Option<TurnId>,
    pub agent_id: Patch<String>,
    pub tool_call_id: Option<String>,
    pub tool_name: Option<String>,
    pub attachments: Option<Vec<AttachmentId>>,
    pub refs: Option<Vec<Reference>>,
    pub tags: Option<Vec<String>>,
    pub reply: Patch<ImportedReply>,
    pub album_id: Patch<String>,
    pub note: Patch<String>,
    pub failed: Option<bool>,
    pub duration_ms: Patch<i64>,
    /// Keyed by the names that the store uses.
    pub usage: Patch<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedCall {
    pub name: String,
    /// As the model wrote them. Kept as text: as a value it may take many times its size.
    pub arguments: String,
    /// Whether text came with the call.
    pub said: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ImportedReply {
    pub internal_id: Option<i64>,
    pub attachment: Option<AttachmentId>,
    pub quote: Option<String>,
}

pub fn parse_all(
    entries: &[Value],
    exclusive_tags: &[String],
    errors: &mut EntryErrors,
) -> Vec<ImportedEntry> {
    let mut parsed = Vec::new();
    for (index, entry) in entries.iter().enumerate() {
        match entry {
            Value::Object(fields) => {
                parsed.extend(EntryParser { index, fields, errors }.parse(exclusive_tags));
            }
            _ => errors.add(index, "entry", "must be an object with `role` and `content`"),
        }
    }
    parsed
}

/// Arguments as the model wrote them. A string that is not JSON is the raw text of malformed arguments.
fn arguments_text(arguments: &Value) -> String {
    match arguments {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        other => other.to_string(),
    }
}

struct EntryParser<'a> {
    index: usize,
    fields: &'a Map<String, Value>,
    errors: &'a mut EntryErrors,
}

impl EntryParser<'_> {
    fn error(&mut self, field: &str, detail: impl Into<String>) {
        self.errors.add(self.index, field, detail);
    }

    fn parse(mut self, exclusive_tags: &[String]) -> Option<ImportedEntry> {
        for name in self.fields.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
            let why = format!("is not a field of an entry; those are {}", FIELDS.join(", "));
            self.errors.add(self.index, name, why);
        }
        let role = self.role();
        let content = self.content();
        let (Some(role), Some(content)) = (role, content) else { return None };
        let (call, content) = match role {
            EntryRole::ToolCall => {
                let (call, said) = self.call(&content)?;
                (Some(call), said)
            }
            _ => (None, content),
        };
        self.check_fields_of_role(role);
        let tool_call_id = self.text("tool_call_id", MAX_NAME_CHARS).flatten();
        let is_tool = matches!(role, EntryRole::ToolCall | EntryRole::Tool);
        if is_tool && tool_call_id.as_deref().unwrap_or_default().is_empty() {
            self.error("tool_call_id", "is missing: it tells which result belongs to which call");
        }
        let tool_name = self.text("tool_name", MAX_NAME_CHARS).flatten();
        if let (Some(call), Some(name)) = (&call, &tool_name)
            && call.name != *name
        {
            let why = format!("is not the name in the content, {:?}", call.name);
            self.error("tool_name", why);
        }
        let (refs, tags) = self.annotations(exclusive_tags);
        Some(ImportedEntry {
            index: self.index,
            role,
            content,
            call,
            internal_id: self.integer("internalId").flatten(),
            timestamp: self.timestamp(),
            turn_id: self.parsed("turnId", "a turn's id, a UUID"),
            agent_id: self.text("agent_id", MAX_NAME_CHARS),
            tool_call_id,
            tool_name,
            attachments: self.attachments(),
            refs,
            tags,
            reply: self.reply(),
            album_id: self.text("albumId", MAX_NAME_CHARS),
            note: self.text("note", MAX_NOTE_CHARS),
            failed: self.flag("failed"),
            duration_ms: self.integer("durationMs"),
            usage: self.usage(),
        })
    }

    fn role(&mut self) -> Option<EntryRole> {
        let role = match self.fields.get("role").and_then(Value::as_str) {
            Some("user") => EntryRole::User,
            Some("assistant") => EntryRole::Assistant,
            Some("tool_call") => EntryRole::ToolCall,
            Some("tool") => EntryRole::Tool,
            _ => {
                self.error("role", "must be user, assistant, tool_call or tool");
                return None;
            }
        };
        Some(role)
    }

    fn content(&mut self) -> Option<String> {
        let mut read = |name: &str| match parse_text(self.fields.get(name), MAX_CONTENT_CHARS) {
            Ok(text) => text,
            Err(why) => {
                self.errors.add(self.index, name, why);
                // Already an error: do not report it as missing, too.
                Some(String::new())
            }
        };
        match (read("content"), read("msg")) {
            (Some(content), Some(msg)) if content != msg => {
                self.error("msg", "says something else than `content`; send one of them");
                None
            }
            (Some(text), _) | (None, Some(text)) => Some(text),
            (None, None) => {
                self.error("content", "is missing; it may be empty, and may be called `msg`");
                None
            }
        }
    }

    /// A tool call and the text that came with it.
    fn call(&mut self, content: &str) -> Option<(ImportedCall, String)> {
        let field = if self.fields.contains_key("content") { "content" } else { "msg" };
        let Ok(Value::Object(inner)) = serde_json::from_str(content) else {
            self.error(field, "of a tool_call must be JSON: {\"name\": …, \"arguments\": …}");
            return None;
        };
        if let Some(unknown) =
            inner.keys().find(|name| !["name", "arguments", "said"].contains(&name.as_str()))
        {
            self.error(
                &format!("{field}.{unknown}"),
                "is not part of a call; those are name, arguments, said",
            );
            return None;
        }
        let name = match inner.get("name").and_then(Value::as_str) {
            Some(name) if !name.is_empty() && name.chars().count() <= MAX_NAME_CHARS => name.to_owned(),
            _ => {
                self.error(&format!("{field}.name"), "must be the name of a tool");
                return None;
            }
        };
        let Some(arguments) = inner.get("arguments") else {
            self.error(&format!("{field}.arguments"), "is missing; {} is none");
            return None;
        };
        if has_nul(arguments) {
            self.error(&format!("{field}.arguments"), "must not contain the NUL character");
            return None;
        }
        let said = match parse_text(inner.get("said"), MAX_CONTENT_CHARS) {
            Ok(said) => said,
            Err(why) => {
                self.error(&format!("{field}.said"), why);
                return None;
            }
        };
        let call = ImportedCall { name, arguments: arguments_text(arguments), said: said.is_some() };
        Some((call, said.unwrap_or_default()))
    }

    /// A field that has no meaning for this role would be lost, so it is an error.
    fn check_fields_of_role(&mut self, role: EntryRole) {
        let allowed: &[(&str, &[EntryRole])] = {
            use EntryRole::{Assistant, Tool, ToolCall, User};
            &[
                ("turnId", &[Assistant, ToolCall, Tool]),
                ("tool_call_id", &[ToolCall, Tool]),
                ("tool_name", &[ToolCall, Tool]),
                ("note", &[User]),
                ("failed", &[Assistant, ToolCall, Tool]),
                ("durationMs", &[Assistant, ToolCall, Tool]),
                ("usage", &[Assistant, ToolCall, Tool]),
            ]
        };
        for (name, roles) in allowed.iter().filter(|(_, roles)| !roles.contains(&role)) {
            let is_unset = |value: &Value| value.is_null() || *value == false;
            if self.fields.get(*name).is_some_and(|value| !is_unset(value)) {
                let words: Vec<&str> = roles.iter().map(|role| role.as_str()).collect();
                self.error(name, format!("means nothing here; it is for {}", words.join(", ")));
            }
        }
    }

    fn text(&mut self, name: &str, max_chars: usize) -> Patch<String> {
        let given = self.fields.get(name)?;
        match parse_text(Some(given), max_chars) {
            Ok(text) => Some(text),
            Err(why) => {
                self.error(name, why);
                None
            }
        }
    }

    fn integer(&mut self, name: &str) -> Patch<i64> {
        match self.fields.get(name)? {
            Value::Null => Some(None),
            value => match value.as_i64().filter(|number| *number >= 0) {
                Some(number) => Some(Some(number)),
                None => {
                    self.error(name, "must be a whole number, not below 0");
                    None
                }
            },
        }
    }

    fn flag(&mut self, name: &str) -> Option<bool> {
        match self.fields.get(name)? {
            Value::Bool(flag) => Some(*flag),
            Value::Null => Some(false),
            _ => {
                self.error(name, "must be true or false");
                None
            }
        }
    }

    fn timestamp(&mut self) -> Option<DateTime<Utc>> {
        let given = self.fields.get("timestamp").filter(|value| !value.is_null())?;
        let time = given.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
        let Some(time) = time.map(|time| time.with_timezone(&Utc)) else {
            self.error("timestamp", "must be a time such as 2026-01-31T12:00:00Z (RFC 3339)");
            return None;
        };
        if let Err(why) = limits::check_time(time) {
            self.error("timestamp", why);
            return None;
        }
        Some(time)
    }

    fn parsed<T: FromStr>(&mut self, name: &str, what: &str) -> Option<T> {
        let given = self.fields.get(name).filter(|value| !value.is_null())?;
        let parsed = given.as_str().and_then(|text| text.parse().ok());
        if parsed.is_none() {
            self.error(name, format!("must be {what}"));
        }
        parsed
    }

    fn annotations(&mut self, exclusive_tags: &[String]) -> (Option<Vec<Reference>>, Option<Vec<String>>) {
        let refs = self.fields.get("refs").map(annotation::parse_references);
        let tags = self.fields.get("tags").map(|given| annotation::parse_tags(given, exclusive_tags));
        let refs = refs.map(|read| read.unwrap_or_else(|errors| self.reject(errors)));
        (refs, tags.map(|read| read.unwrap_or_else(|errors| self.reject(errors))))
    }

    fn reject<T>(&mut self, errors: Vec<FieldError>) -> Vec<T> {
        self.errors.add_all(self.index, errors);
        Vec::new()
    }

    fn attachments(&mut self) -> Option<Vec<AttachmentId>> {
        let items = match self.fields.get("attachments")? {
            Value::Null => return Some(Vec::new()),
            Value::Array(items) if items.len() <= MAX_FILES_PER_ENTRY => items,
            _ => {
                self.error(
                    "attachments",
                    format!("must be a list of at most {MAX_FILES_PER_ENTRY} attachments or ids"),
                );
                return None;
            }
        };
        let mut ids = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if let Value::Object(file) = item
                && let Some(unknown) = file.keys().find(|name| !FILE_FIELDS.contains(&name.as_str()))
            {
                self.error(&format!("attachments[{at}].{unknown}"), "is not a field of an attachment");
                continue;
            }
            let id = match item {
                Value::Object(file) => file.get("attachmentId").and_then(Value::as_str),
                other => other.as_str(),
            };
            match id.and_then(|id| id.parse().ok()) {
                Some(id) => ids.push(id),
                None => self.error(
                    &format!("attachments[{at}]"),
                    "must be an attachment's id, or have `attachmentId`",
                ),
            }
        }
        Some(ids)
    }

    fn reply(&mut self) -> Patch<ImportedReply> {
        let inner = match self.fields.get("replyTo")? {
            Value::Null => return Some(None),
            Value::Object(inner) => inner,
            _ => {
                self.error("replyTo", "must be an object: internalId, attachmentId, quote");
                return None;
            }
        };
        for name in
            inner.keys().filter(|name| !["internalId", "attachmentId", "quote"].contains(&name.as_str()))
        {
            self.error(
                &format!("replyTo.{name}"),
                "is not part of a reply; those are internalId, attachmentId, quote",
            );
        }
        let present = |name: &str| inner.get(name).filter(|value| !value.is_null());
        let internal_id = present("internalId").map(Value::as_i64);
        let attachment = present("attachmentId").map(|id| id.as_str().and_then(|id| id.parse().ok()));
        if internal_id == Some(None) {
            self.error("replyTo.internalId", "must be the internalId of an earlier entry");
        }
        if attachment == Some(None) {
            self.error("replyTo.attachmentId", "must be an attachment's id");
        }
        let quote = match parse_text(inner.get("quote"), MAX_NOTE_CHARS) {
            Ok(quote) => quote,
            Err(why) => {
                self.error("replyTo.quote", why);
                None
            }
        };
        Some(Some(ImportedReply {
            internal_id: internal_id.flatten(),
            attachment: attachment.flatten(),
            quote,
        }))
    }

    fn usage(&mut self) -> Patch<Map<String, Value>> {
        let inner = match self.fields.get("usage")? {
            Value::Null => return Some(None),
            Value::Object(inner) => inner,
            _ => {
                self.error("usage", "must be an object: model, inputTokens, outputTokens, costUsd");
                return None;
            }
        };
        let mut usage = Map::new();
        for (name, value) in inner {
            let count = value.as_i64().is_some_and(|count| count >= 0);
            let (stored_name, valid, detail) = match name.as_str() {
                "model" => {
                    let valid = value
                        .as_str()
                        .is_some_and(|name| name.len() <= MAX_NAME_CHARS && !name.contains('\0'));
                    ("model", valid, "must be the name of a model")
                }
                "inputTokens" => ("input_tokens", count, "must be a whole number, not below 0"),
                "outputTokens" => ("output_tokens", count, "must be a whole number, not below 0"),
                "costUsd" => {
                    let valid = value.as_f64().is_some_and(|cost| cost >= 0.0);
                    ("cost_usd", valid, "must be a number, not below 0")
                }
                _ => ("", false, "is not part of usage; those are model, inputTokens, outputTokens, costUsd"),
            };
            if valid {
                usage.insert(stored_name.to_owned(), value.clone());
            } else if !value.is_null() || stored_name.is_empty() {
                self.error(&format!("usage.{name}"), detail);
            }
        }
        if !usage.contains_key("model") {
            self.error("usage.model", "is missing");
        }
        Some(Some(usage))
    }
}

fn has_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(has_nul),
        Value::Object(fields) => fields.iter().any(|(name, value)| name.contains('\0') || has_nul(value)),
        _ => false,
    }
}
