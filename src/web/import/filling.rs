//! Steps to rows: what is written of each, and which rows need not be touched at all.

use super::{
    files::rename,
    grouping::{Plan, Step},
    reading::{Call, Given},
};
use crate::{
    access::Viewer,
    domain::{
        AttachmentId, Message, NewMessage, Reference, ReplyTo, Role, Session, Target, ToolCall, TurnId,
    },
    store::NewRow,
    web::api::shapes::EntryRole,
};
use chrono::Utc;
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// What files and turns from elsewhere are called here.
pub struct Names {
    pub files: HashMap<AttachmentId, AttachmentId>,
    pub turns: HashMap<TurnId, TurnId>,
}

impl Names {
    fn file(&self, id: AttachmentId) -> AttachmentId {
        self.files.get(&id).copied().unwrap_or(id)
    }

    fn turn(&self, id: TurnId) -> TurnId {
        self.turns.get(&id).copied().unwrap_or(id)
    }

    fn reference(&self, reference: &Reference) -> Reference {
        let url = match reference.target() {
            Target::Attachment(id) => Target::url_of(self.file(id)),
            Target::Turn(id) => format!("turn:{}", self.turn(id)),
            Target::Web => reference.url.clone(),
        };
        Reference { url, ..reference.clone() }
    }
}

pub fn rows(plan: Plan<'_>, names: &Names, session: &Session, viewer: &Viewer) -> Vec<NewRow> {
    let kept: Vec<_> = plan.steps.iter().map(|step| step.kept.map(|row| row.internal_id)).collect();
    let mut rows = Vec::new();
    for (index, step) in plan.steps.iter().enumerate() {
        let mut message = message(step, names, session, viewer);
        if let Some(reply) = &mut message.reply {
            reply.message = step.reply_to.and_then(|target| kept[target]);
        }
        let unchanged = step.kept.is_some_and(|row| row.body == message);
        rows.push(NewRow {
            kept: kept[index],
            message: (!unchanged).then_some(message),
            thread_root: (step.root != index).then_some(step.root),
            reply_to: step.reply_to,
        });
    }
    rows
}

fn message(step: &Step<'_>, names: &Names, session: &Session, viewer: &Viewer) -> NewMessage {
    let given = step.first();
    let role = match given.role {
        EntryRole::User => Role::User,
        EntryRole::Assistant | EntryRole::ToolCall => Role::Assistant,
        EntryRole::Tool => Role::Tool,
    };
    let mut message = match step.kept {
        Some(row) => row.body.clone(),
        None => NewMessage {
            user_id: (role == Role::User).then(|| viewer.user.clone()),
            timestamp: Utc::now(),
            ..NewMessage::new(session.conversation.clone(), session.session_id, role, "")
        },
    };
    message.content = rename(&given.content, &names.files);
    message.tool_calls = calls(step, names);
    message.turn_id = step.turn.map(|turn| names.turn(turn));
    if given.role == EntryRole::Tool {
        message.tool_call_id.clone_from(&given.tool_call_id);
        message.tool_name.clone_from(&step.tool);
    }
    if let Some(timestamp) = given.timestamp {
        message.timestamp = timestamp;
    }
    if let Some(agent) = &given.agent_id {
        message.agent_id.clone_from(agent);
    }
    if let Some(album) = &given.album_id {
        message.album_id.clone_from(album);
    }
    if let Some(reply) = &given.reply {
        message.reply = reply.as_ref().map(|reply| ReplyTo {
            message: None,
            attachment: reply.attachment.map(|id| names.file(id)),
            quote: reply.quote.clone(),
        });
    }
    if let Some(ids) = &given.attachments {
        message.attachments = ids.iter().map(|id| names.file(*id)).collect();
    }
    if let Some(refs) = &given.refs {
        message.refs = refs.iter().map(|reference| names.reference(reference)).collect();
    }
    if let Some(tags) = &given.tags {
        message.tags.clone_from(tags);
    }
    message.error = trouble(given, message.error.take(), &message.content);
    message.reasoning_info = info(given, message.reasoning_info.take());
    message
}

fn calls(step: &Step<'_>, names: &Names) -> Vec<ToolCall> {
    let calls =
        step.entries.iter().filter_map(|entry| Some((entry.tool_call_id.clone()?, entry.call.as_ref()?)));
    calls
        .map(|(id, call)| {
            let same = |known: &&ToolCall| known.id == id && known.name == call.name && means(known, call);
            // The very text the model wrote, where it says the same.
            match step.kept.and_then(|row: &Message| row.tool_calls.iter().find(same)) {
                Some(known) => known.clone(),
                None => {
                    let arguments = rename(&written(&call.arguments), &names.files);
                    ToolCall { id, name: call.name.clone(), arguments }
                }
            }
        })
        .collect()
}

fn means(known: &ToolCall, call: &Call) -> bool {
    let read = serde_json::from_str::<Value>(&known.arguments).unwrap_or(json!(known.arguments));
    read == call.arguments
}

/// Arguments as a model writes them: a text that is no JSON is one that could not be read.
fn written(arguments: &Value) -> String {
    match arguments {
        Value::String(text) if serde_json::from_str::<Value>(text).is_err() => text.clone(),
        other => other.to_string(),
    }
}

/// The history keeps why something failed; a list of entries only that it did.
fn trouble(given: &Given, before: Option<String>, content: &str) -> Option<String> {
    if given.role == EntryRole::User {
        return given.note.clone().unwrap_or(before);
    }
    match given.failed {
        None => before,
        Some(false) => None,
        Some(true) => {
            before.or_else(|| Some(if content.is_empty() { "failed".to_owned() } else { content.to_owned() }))
        }
    }
}

fn info(given: &Given, before: Option<Value>) -> Option<Value> {
    const USAGE: [&str; 4] = ["model", "input_tokens", "output_tokens", "cost_usd"];
    if given.usage.is_none() && given.duration_ms.is_none() {
        return before;
    }
    let mut info: Map<String, Value> = match before {
        Some(Value::Object(info)) => info,
        _ => Map::new(),
    };
    if let Some(usage) = &given.usage {
        for name in USAGE {
            match usage.as_ref().and_then(|usage| usage.get(name)) {
                Some(value) => drop(info.insert(name.to_owned(), value.clone())),
                None => drop(info.remove(name)),
            }
        }
    }
    match given.duration_ms {
        Some(Some(took)) => drop(info.insert("duration_ms".into(), json!(took))),
        Some(None) => drop(info.remove("duration_ms")),
        None => {}
    }
    (!info.is_empty()).then_some(Value::Object(info))
}
