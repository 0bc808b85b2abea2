//! Planned rows → rows for the store. A row whose message did not change is not written again.

use super::{
    entries::{ImportedCall, ImportedEntry},
    ids::{NewIds, replace_in_text},
    plan::{HistoryPlan, PlannedRow},
};
use crate::{
    access::Viewer,
    domain::{Message, NewMessage, ReplyTo, Role, Session, ToolCall},
    store::{ReplacementRow, RowContent},
    transfer::json::EntryRole,
};
use chrono::Utc;
use serde_json::{Map, Value, json};

pub fn build(
    plan: &HistoryPlan<'_>,
    ids: &NewIds,
    session: &Session,
    viewer: &Viewer,
) -> Vec<ReplacementRow> {
    let stored: Vec<_> = plan.rows.iter().map(|row| row.stored.map(|row| row.internal_id)).collect();
    let mut rows = Vec::new();
    for (index, row) in plan.rows.iter().enumerate() {
        let mut message = build_message(row, ids, session, viewer);
        if let Some(reply) = &mut message.reply {
            reply.message = row.reply_to.and_then(|target| stored[target]);
        }
        let content = match row.stored {
            Some(row) if row.body == message => RowContent::Kept(row.internal_id),
            Some(row) => RowContent::Rewritten(row.internal_id, message),
            None => RowContent::New(message),
        };
        rows.push(ReplacementRow {
            content,
            thread_root: (row.root != index).then_some(row.root),
            reply_to: row.reply_to,
        });
    }
    rows
}

fn build_message(row: &PlannedRow<'_>, ids: &NewIds, session: &Session, viewer: &Viewer) -> NewMessage {
    let entry = row.first();
    let role = match entry.role {
        EntryRole::User => Role::User,
        EntryRole::Assistant | EntryRole::ToolCall => Role::Assistant,
        EntryRole::Tool => Role::Tool,
    };
    let mut message = match row.stored {
        Some(row) => row.body.clone(),
        None => NewMessage {
            user_id: (role == Role::User).then(|| viewer.user.clone()),
            timestamp: Utc::now(),
            ..NewMessage::new(session.conversation.clone(), session.session_id, role, "")
        },
    };
    message.content = replace_in_text(&entry.content, &ids.files);
    message.tool_calls = build_calls(row, ids);
    message.turn_id = row.turn.map(|turn| ids.turn(turn));
    if entry.role == EntryRole::Tool {
        message.tool_call_id.clone_from(&entry.tool_call_id);
        message.tool_name.clone_from(&row.tool);
    }
    if let Some(timestamp) = entry.timestamp {
        message.timestamp = timestamp;
    }
    if let Some(agent) = &entry.agent_id {
        message.agent_id.clone_from(agent);
    }
    if let Some(album) = &entry.album_id {
        message.album_id.clone_from(album);
    }
    if let Some(reply) = &entry.reply {
        message.reply = reply.as_ref().map(|reply| ReplyTo {
            message: None,
            attachment: reply.attachment.map(|id| ids.file(id)),
            quote: reply.quote.clone(),
        });
    }
    if let Some(files) = &entry.attachments {
        message.attachments = files.iter().map(|id| ids.file(*id)).collect();
    }
    if let Some(refs) = &entry.refs {
        message.refs = refs.iter().map(|reference| ids.reference(reference)).collect();
    }
    if let Some(tags) = &entry.tags {
        message.tags.clone_from(tags);
    }
    message.error = error_text(entry, message.error.take(), &message.content);
    message.reasoning_info = reasoning_info(entry, message.reasoning_info.take());
    message
}

fn build_calls(row: &PlannedRow<'_>, ids: &NewIds) -> Vec<ToolCall> {
    let calls =
        row.entries.iter().filter_map(|entry| Some((entry.tool_call_id.clone()?, entry.call.as_ref()?)));
    calls
        .map(|(id, call)| {
            let same =
                |known: &&ToolCall| known.id == id && known.name == call.name && same_arguments(known, call);
            // Keep the exact text the model wrote if the arguments did not change.
            match row.stored.and_then(|row: &Message| row.tool_calls.iter().find(same)) {
                Some(known) => known.clone(),
                None => {
                    let arguments = replace_in_text(&call.arguments, &ids.files);
                    ToolCall { id, name: call.name.clone(), arguments }
                }
            }
        })
        .collect()
}

fn same_arguments(known: &ToolCall, call: &ImportedCall) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(json!(text));
    known.arguments == call.arguments || read(&known.arguments) == read(&call.arguments)
}

/// The stored row knows why something failed, an entry only that it did: keep the stored reason.
fn error_text(entry: &ImportedEntry, before: Option<String>, content: &str) -> Option<String> {
    if entry.role == EntryRole::User {
        return entry.note.clone().unwrap_or(before);
    }
    match entry.failed {
        None => before,
        Some(false) => None,
        Some(true) => {
            before.or_else(|| Some(if content.is_empty() { "failed".to_owned() } else { content.to_owned() }))
        }
    }
}

fn reasoning_info(entry: &ImportedEntry, before: Option<Value>) -> Option<Value> {
    const USAGE: [&str; 4] = ["model", "input_tokens", "output_tokens", "cost_usd"];
    if entry.usage.is_none() && entry.duration_ms.is_none() {
        return before;
    }
    let mut info: Map<String, Value> = match before {
        Some(Value::Object(info)) => info,
        _ => Map::new(),
    };
    if let Some(usage) = &entry.usage {
        for name in USAGE {
            match usage.as_ref().and_then(|usage| usage.get(name)) {
                Some(value) => drop(info.insert(name.to_owned(), value.clone())),
                None => drop(info.remove(name)),
            }
        }
    }
    match entry.duration_ms {
        Some(Some(took)) => drop(info.insert("duration_ms".into(), json!(took))),
        Some(None) => drop(info.remove("duration_ms")),
        None => {}
    }
    (!info.is_empty()).then_some(Value::Object(info))
}
