//! Reads rows into domain types, and removes NUL characters from what is written.

use super::Row;
use crate::domain::{
    Attachment, Content, Conversation, Message, MessageId, NewMessage, Recipe, Session, Turn, UserId,
};
use serde_json::Value;
use sqlx::{Row as _, types::Json};
use std::{borrow::Cow, str::FromStr};

/// Parses a text column that holds one of our types. Any other text is an error.
pub fn parse_column<T: FromStr<Err: std::fmt::Display>>(row: &Row, column: &str) -> Result<T, sqlx::Error> {
    let text: String = row.try_get(column)?;
    text.parse().map_err(|e| decode_error(column, &e))
}

fn parse_optional_column<T: FromStr<Err: std::fmt::Display>>(
    row: &Row,
    column: &str,
) -> Result<Option<T>, sqlx::Error> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|t| t.parse().map_err(|e| decode_error(column, &e))).transpose()
}

fn decode_error(column: &str, error: &dyn std::fmt::Display) -> sqlx::Error {
    sqlx::Error::ColumnDecode { index: column.to_owned(), source: error.to_string().into() }
}

/// Parses ids joined by `string_agg(…, ',')`.
fn parse_ids<T: FromStr<Err: std::fmt::Display>>(row: &Row, column: &str) -> Result<Vec<T>, sqlx::Error> {
    let text: Option<String> = row.try_get(column)?;
    let text = text.unwrap_or_default();
    text.split(',')
        .filter(|part| !part.is_empty())
        .map(|id| id.parse().map_err(|e| decode_error(column, &e)))
        .collect()
}

fn read_json<T: serde::de::DeserializeOwned>(row: &Row, column: &str) -> Result<Option<T>, sqlx::Error> {
    let value: Option<Json<Value>> = row.try_get(column)?;
    value.map(|Json(v)| serde_json::from_value(v).map_err(|e| decode_error(column, &e))).transpose()
}

/// Removes NUL characters: PostgreSQL stores them neither in text nor in JSON.
pub fn strip_nul(text: &str) -> Cow<'_, str> {
    if text.contains('\0') { text.replace('\0', "").into() } else { text.into() }
}

/// JSON without NUL characters.
pub fn json_without_nul(value: &impl serde::Serialize) -> Result<Json<Value>, sqlx::Error> {
    let value = serde_json::to_value(value).map_err(|e| sqlx::Error::Encode(e.into()))?;
    Ok(Json(without_nul(value)))
}

fn without_nul(value: Value) -> Value {
    match value {
        Value::String(text) if text.contains('\0') => Value::String(text.replace('\0', "")),
        Value::Array(items) => items.into_iter().map(without_nul).collect(),
        Value::Object(fields) => {
            fields.into_iter().map(|(k, v)| (strip_nul(&k).into_owned(), without_nul(v))).collect()
        }
        other => other,
    }
}

pub fn read_conversation(row: &Row) -> Result<Conversation, sqlx::Error> {
    Ok(Conversation { interface: parse_column(row, "interface_type")?, id: row.try_get("conversation_id")? })
}

/// Every column of a message, and the ids of its attachments.
pub const MESSAGE: &str = "m.internal_id, m.interface_type, m.conversation_id, m.session_id, m.interface_message_id, \
     m.turn_id, m.thread_root_id, m.timestamp, m.role, m.content, m.tool_calls, m.tool_call_id, m.tool_name, \
     m.agent_id, m.user_id, m.reasoning_info, m.provider_metadata, m.error, m.refs, m.tags, m.reply, m.album_id, m.user_name, \
     (SELECT string_agg(a.attachment_id, ',' ORDER BY a.position) FROM message_attachments a \
      WHERE a.internal_id = m.internal_id) AS attachment_ids";

pub fn read_message(row: &Row) -> Result<Message, sqlx::Error> {
    Ok(Message {
        internal_id: MessageId(row.try_get("internal_id")?),
        body: NewMessage {
            conversation: read_conversation(row)?,
            session_id: parse_column(row, "session_id")?,
            interface_message_id: row.try_get("interface_message_id")?,
            turn_id: parse_optional_column(row, "turn_id")?,
            thread_root_id: row.try_get::<Option<i64>, _>("thread_root_id")?.map(MessageId),
            timestamp: row.try_get("timestamp")?,
            role: parse_column(row, "role")?,
            content: row.try_get("content")?,
            tool_calls: read_json(row, "tool_calls")?.unwrap_or_default(),
            tool_call_id: row.try_get("tool_call_id")?,
            tool_name: row.try_get("tool_name")?,
            agent_id: row.try_get("agent_id")?,
            user_id: row.try_get::<Option<String>, _>("user_id")?.map(UserId),
            user_name: row.try_get("user_name")?,
            reasoning_info: read_json(row, "reasoning_info")?,
            provider_metadata: read_json(row, "provider_metadata")?,
            error: row.try_get("error")?,
            refs: read_json(row, "refs")?.unwrap_or_default(),
            tags: read_json(row, "tags")?.unwrap_or_default(),
            reply: read_json(row, "reply")?,
            album_id: row.try_get("album_id")?,
            attachments: parse_ids(row, "attachment_ids")?,
        },
    })
}

pub fn read_messages(rows: Vec<Row>) -> Result<Vec<Message>, sqlx::Error> {
    rows.iter().map(read_message).collect()
}

pub const ATTACHMENT: &str = "f.attachment_id, f.conversation_id, f.interface_type, f.source, f.sha256, f.mime_type, \
     f.filename, f.description, f.size, f.width, f.height, f.object_key, f.created_at, f.parents, f.recipe, \
     f.user_id";

pub fn read_attachment(row: &Row) -> Result<Attachment, sqlx::Error> {
    Ok(Attachment {
        attachment_id: parse_column(row, "attachment_id")?,
        conversation: read_conversation(row)?,
        user_id: UserId(row.try_get("user_id")?),
        source: parse_column(row, "source")?,
        mime_type: row.try_get("mime_type")?,
        filename: row.try_get("filename")?,
        description: row.try_get("description")?,
        size: row.try_get("size")?,
        width: row.try_get("width")?,
        height: row.try_get("height")?,
        content: read_content(row)?,
        created_at: row.try_get("created_at")?,
        parents: read_json(row, "parents")?.unwrap_or_default(),
    })
}

/// An empty `object_key` is a recipe that has not been rendered.
fn read_content(row: &Row) -> Result<Content, sqlx::Error> {
    let object_key: String = row.try_get("object_key")?;
    let recipe: Option<Recipe> = read_json(row, "recipe")?;
    match (object_key.is_empty(), recipe) {
        (false, recipe) => Ok(Content::Stored { object_key, sha256: row.try_get("sha256")?, recipe }),
        (true, Some(recipe)) => Ok(Content::Recipe(recipe)),
        (true, None) => Err(decode_error("recipe", &"neither an object key nor a recipe")),
    }
}

pub fn read_attachments(rows: Vec<Row>) -> Result<Vec<Attachment>, sqlx::Error> {
    rows.iter().map(read_attachment).collect()
}

pub fn read_session(row: &Row) -> Result<Session, sqlx::Error> {
    Ok(Session {
        session_id: parse_column(row, "session_id")?,
        conversation: read_conversation(row)?,
        user_id: UserId(row.try_get("user_id")?),
        title: Some(row.try_get("title")?).filter(|title: &String| !title.is_empty()),
        first_message_preview: row.try_get("first_message_preview")?,
        message_count: row.try_get("message_count")?,
        created_at: row.try_get("created_at")?,
        last_activity: row.try_get("last_activity")?,
        revision: row.try_get("revision")?,
    })
}

/// Every column of a turn, and the ids of the messages it answers.
pub const TURN: &str = "t.turn_id, t.interface_type, t.conversation_id, t.session_id, t.state, t.thread_root_id, \
     t.user_id, t.agent_id, t.attempts, t.created_at, \
     (SELECT string_agg(CAST(i.internal_id AS TEXT), ',' ORDER BY i.internal_id) FROM turn_inputs i \
      WHERE i.turn_id = t.turn_id) AS inputs";

pub fn read_turn(row: &Row) -> Result<Turn, sqlx::Error> {
    Ok(Turn {
        turn_id: parse_column(row, "turn_id")?,
        conversation: read_conversation(row)?,
        session_id: parse_column(row, "session_id")?,
        state: parse_column(row, "state")?,
        thread_root_id: MessageId(row.try_get("thread_root_id")?),
        inputs: parse_ids::<i64>(row, "inputs")?.into_iter().map(MessageId).collect(),
        user_id: UserId(row.try_get("user_id")?),
        agent_id: row.try_get("agent_id")?,
        attempts: row.try_get("attempts")?,
        created_at: row.try_get("created_at")?,
    })
}
