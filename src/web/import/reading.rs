//! One entry at a time: JSON as somebody sent it, to what it says. Names and types are checked here, and what a field
//! may hold; whether the entries fit together is not.

use super::Wrongs;
use crate::{
    domain::{
        AttachmentId, Reference, TurnId,
        annotation::{self, Flaw, short_text},
    },
    web::api::shapes::EntryRole,
};
use chrono::{DateTime, Datelike as _, Utc};
use serde_json::{Map, Value};
use std::str::FromStr;

const LONGEST_CONTENT: usize = 200_000;
const MOST_FILES: usize = 100;
const LONGEST_NAME: usize = 200;
const LONGEST_NOTE: usize = 20_000;

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
/// What GET tells of a file; its id is what counts.
const FILE: [&str; 13] = [
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

/// Left out, null, or a value: on a row that stays, what is left out stays, and null clears.
pub type Stated<T> = Option<Option<T>>;

/// One entry as it was given.
#[derive(Debug, Clone)]
pub struct Given {
    pub at: usize,
    pub role: EntryRole,
    /// Of a call, what was said with it.
    pub content: String,
    pub call: Option<Call>,
    pub internal_id: Option<i64>,
    pub timestamp: Option<DateTime<Utc>>,
    pub turn_id: Option<TurnId>,
    pub agent_id: Stated<String>,
    pub tool_call_id: Option<String>,
    pub tool_name: Option<String>,
    pub attachments: Option<Vec<AttachmentId>>,
    pub refs: Option<Vec<Reference>>,
    pub tags: Option<Vec<String>>,
    pub reply: Stated<Reply>,
    pub album_id: Stated<String>,
    pub note: Stated<String>,
    pub failed: Option<bool>,
    pub duration_ms: Stated<i64>,
    /// By the names the history keeps it under.
    pub usage: Stated<Map<String, Value>>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub name: String,
    pub arguments: Value,
    pub said: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    pub internal_id: Option<i64>,
    pub attachment: Option<AttachmentId>,
    pub quote: Option<String>,
}

pub fn entries(given: &[Value], exclusive: &[String], wrong: &mut Wrongs) -> Vec<Given> {
    let mut read = Vec::new();
    for (at, entry) in given.iter().enumerate() {
        match entry {
            Value::Object(fields) => read.extend(Reader { at, fields, wrong }.entry(exclusive)),
            _ => wrong.add(at, "entry", "must be an object with `role` and `content`"),
        }
    }
    read
}

struct Reader<'a> {
    at: usize,
    fields: &'a Map<String, Value>,
    wrong: &'a mut Wrongs,
}

impl Reader<'_> {
    fn wrong(&mut self, field: &str, detail: impl Into<String>) {
        self.wrong.add(self.at, field, detail);
    }

    fn entry(mut self, exclusive: &[String]) -> Option<Given> {
        for name in self.fields.keys().filter(|name| !FIELDS.contains(&name.as_str())) {
            let why = format!("is not a field of an entry; those are {}", FIELDS.join(", "));
            self.wrong.add(self.at, name, why);
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
        self.check_meaning(role);
        let tool_call_id = self.text("tool_call_id", LONGEST_NAME).flatten();
        let is_tool = matches!(role, EntryRole::ToolCall | EntryRole::Tool);
        if is_tool && tool_call_id.as_deref().unwrap_or_default().is_empty() {
            self.wrong("tool_call_id", "is missing: it tells which result belongs to which call");
        }
        let tool_name = self.text("tool_name", LONGEST_NAME).flatten();
        if let (Some(call), Some(name)) = (&call, &tool_name)
            && call.name != *name
        {
            let why = format!("is not the name in the content, {:?}", call.name);
            self.wrong("tool_name", why);
        }
        let (refs, tags) = self.annotations(exclusive);
        Some(Given {
            at: self.at,
            role,
            content,
            call,
            internal_id: self.integer("internalId").flatten(),
            timestamp: self.timestamp(),
            turn_id: self.parsed("turnId", "a turn's id, a UUID"),
            agent_id: self.text("agent_id", LONGEST_NAME),
            tool_call_id,
            tool_name,
            attachments: self.attachments(),
            refs,
            tags,
            reply: self.reply(),
            album_id: self.text("albumId", LONGEST_NAME),
            note: self.text("note", LONGEST_NOTE),
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
                self.wrong("role", "must be user, assistant, tool_call or tool");
                return None;
            }
        };
        Some(role)
    }

    fn content(&mut self) -> Option<String> {
        let mut read = |name: &str| match short_text(self.fields.get(name), LONGEST_CONTENT) {
            Ok(text) => text,
            Err(why) => {
                self.wrong.add(self.at, name, why);
                // Said already; it is not missing, too.
                Some(String::new())
            }
        };
        match (read("content"), read("msg")) {
            (Some(content), Some(msg)) if content != msg => {
                self.wrong("msg", "says something else than `content`; send one of them");
                None
            }
            (Some(text), _) | (None, Some(text)) => Some(text),
            (None, None) => {
                self.wrong("content", "is missing; it may be empty, and may be called `msg`");
                None
            }
        }
    }

    /// A call and what was said with it.
    fn call(&mut self, content: &str) -> Option<(Call, String)> {
        let field = if self.fields.contains_key("content") { "content" } else { "msg" };
        let Ok(Value::Object(inner)) = serde_json::from_str(content) else {
            self.wrong(field, "of a tool_call must be JSON: {\"name\": …, \"arguments\": …}");
            return None;
        };
        if let Some(unknown) =
            inner.keys().find(|name| !["name", "arguments", "said"].contains(&name.as_str()))
        {
            self.wrong(
                &format!("{field}.{unknown}"),
                "is not part of a call; those are name, arguments, said",
            );
            return None;
        }
        let name = match inner.get("name").and_then(Value::as_str) {
            Some(name) if !name.is_empty() && name.chars().count() <= LONGEST_NAME => name.to_owned(),
            _ => {
                self.wrong(&format!("{field}.name"), "must be the name of a tool");
                return None;
            }
        };
        let Some(arguments) = inner.get("arguments") else {
            self.wrong(&format!("{field}.arguments"), "is missing; {} is none");
            return None;
        };
        if has_nul(arguments) {
            self.wrong(&format!("{field}.arguments"), "must not contain the NUL character");
            return None;
        }
        let said = match short_text(inner.get("said"), LONGEST_CONTENT) {
            Ok(said) => said,
            Err(why) => {
                self.wrong(&format!("{field}.said"), why);
                return None;
            }
        };
        let call = Call { name, arguments: arguments.clone(), said: said.is_some() };
        Some((call, said.unwrap_or_default()))
    }

    /// A field that says nothing on an entry of this role would be lost.
    fn check_meaning(&mut self, role: EntryRole) {
        let means: &[(&str, &[EntryRole])] = {
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
        for (name, roles) in means.iter().filter(|(_, roles)| !roles.contains(&role)) {
            let says_nothing = |value: &Value| value.is_null() || *value == false;
            if self.fields.get(*name).is_some_and(|value| !says_nothing(value)) {
                let words: Vec<&str> = roles.iter().map(|role| role.word()).collect();
                self.wrong(name, format!("means nothing here; it is for {}", words.join(", ")));
            }
        }
    }

    fn text(&mut self, name: &str, most: usize) -> Stated<String> {
        let given = self.fields.get(name)?;
        match short_text(Some(given), most) {
            Ok(text) => Some(text),
            Err(why) => {
                self.wrong(name, why);
                None
            }
        }
    }

    fn integer(&mut self, name: &str) -> Stated<i64> {
        match self.fields.get(name)? {
            Value::Null => Some(None),
            value => match value.as_i64().filter(|number| *number >= 0) {
                Some(number) => Some(Some(number)),
                None => {
                    self.wrong(name, "must be a whole number, not below 0");
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
                self.wrong(name, "must be true or false");
                None
            }
        }
    }

    fn timestamp(&mut self) -> Option<DateTime<Utc>> {
        let given = self.fields.get("timestamp").filter(|value| !value.is_null())?;
        let time = given.as_str().and_then(|text| DateTime::parse_from_rfc3339(text).ok());
        let time =
            time.map(|time| time.with_timezone(&Utc)).filter(|time| (1970..=9999).contains(&time.year()));
        if time.is_none() {
            self.wrong("timestamp", "must be a time such as 2026-01-31T12:00:00Z (RFC 3339)");
        }
        time
    }

    fn parsed<T: FromStr>(&mut self, name: &str, what: &str) -> Option<T> {
        let given = self.fields.get(name).filter(|value| !value.is_null())?;
        let parsed = given.as_str().and_then(|text| text.parse().ok());
        if parsed.is_none() {
            self.wrong(name, format!("must be {what}"));
        }
        parsed
    }

    fn annotations(&mut self, exclusive: &[String]) -> (Option<Vec<Reference>>, Option<Vec<String>>) {
        let refs = self.fields.get("refs").map(annotation::refs);
        let tags = self.fields.get("tags").map(|given| annotation::tags(given, exclusive));
        let refs = refs.map(|read| read.unwrap_or_else(|flaws| self.all_wrong(flaws)));
        (refs, tags.map(|read| read.unwrap_or_else(|flaws| self.all_wrong(flaws))))
    }

    fn all_wrong<T>(&mut self, flaws: Vec<Flaw>) -> Vec<T> {
        self.wrong.add_all(self.at, flaws);
        Vec::new()
    }

    fn attachments(&mut self) -> Option<Vec<AttachmentId>> {
        let items = match self.fields.get("attachments")? {
            Value::Null => return Some(Vec::new()),
            Value::Array(items) if items.len() <= MOST_FILES => items,
            _ => {
                self.wrong(
                    "attachments",
                    format!("must be a list of at most {MOST_FILES} attachments or ids"),
                );
                return None;
            }
        };
        let mut ids = Vec::new();
        for (at, item) in items.iter().enumerate() {
            if let Value::Object(file) = item
                && let Some(unknown) = file.keys().find(|name| !FILE.contains(&name.as_str()))
            {
                self.wrong(&format!("attachments[{at}].{unknown}"), "is not a field of an attachment");
                continue;
            }
            let id = match item {
                Value::Object(file) => file.get("attachmentId").and_then(Value::as_str),
                other => other.as_str(),
            };
            match id.and_then(|id| id.parse().ok()) {
                Some(id) => ids.push(id),
                None => self.wrong(
                    &format!("attachments[{at}]"),
                    "must be an attachment's id, or have `attachmentId`",
                ),
            }
        }
        Some(ids)
    }

    fn reply(&mut self) -> Stated<Reply> {
        let inner = match self.fields.get("replyTo")? {
            Value::Null => return Some(None),
            Value::Object(inner) => inner,
            _ => {
                self.wrong("replyTo", "must be an object: internalId, attachmentId, quote");
                return None;
            }
        };
        for name in
            inner.keys().filter(|name| !["internalId", "attachmentId", "quote"].contains(&name.as_str()))
        {
            self.wrong(
                &format!("replyTo.{name}"),
                "is not part of a reply; those are internalId, attachmentId, quote",
            );
        }
        let present = |name: &str| inner.get(name).filter(|value| !value.is_null());
        let internal_id = present("internalId").map(Value::as_i64);
        let attachment = present("attachmentId").map(|id| id.as_str().and_then(|id| id.parse().ok()));
        if internal_id == Some(None) {
            self.wrong("replyTo.internalId", "must be the internalId of an earlier entry");
        }
        if attachment == Some(None) {
            self.wrong("replyTo.attachmentId", "must be an attachment's id");
        }
        let quote = match short_text(inner.get("quote"), LONGEST_NOTE) {
            Ok(quote) => quote,
            Err(why) => {
                self.wrong("replyTo.quote", why);
                None
            }
        };
        Some(Some(Reply { internal_id: internal_id.flatten(), attachment: attachment.flatten(), quote }))
    }

    fn usage(&mut self) -> Stated<Map<String, Value>> {
        let inner = match self.fields.get("usage")? {
            Value::Null => return Some(None),
            Value::Object(inner) => inner,
            _ => {
                self.wrong("usage", "must be an object: model, inputTokens, outputTokens, costUsd");
                return None;
            }
        };
        let mut usage = Map::new();
        for (name, value) in inner {
            let count = value.as_i64().is_some_and(|count| count >= 0);
            let (kept, fine, what) = match name.as_str() {
                "model" => {
                    let fine =
                        value.as_str().is_some_and(|name| name.len() <= LONGEST_NAME && !name.contains('\0'));
                    ("model", fine, "must be the name of a model")
                }
                "inputTokens" => ("input_tokens", count, "must be a whole number, not below 0"),
                "outputTokens" => ("output_tokens", count, "must be a whole number, not below 0"),
                "costUsd" => {
                    let fine = value.as_f64().is_some_and(|cost| cost >= 0.0);
                    ("cost_usd", fine, "must be a number, not below 0")
                }
                _ => ("", false, "is not part of usage; those are model, inputTokens, outputTokens, costUsd"),
            };
            if fine {
                usage.insert(kept.to_owned(), value.clone());
            } else if !value.is_null() || kept.is_empty() {
                self.wrong(&format!("usage.{name}"), what);
            }
        }
        if !usage.contains_key("model") {
            self.wrong("usage.model", "is missing");
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
