//! JSON of sessions, history entries and files, as the API and exports write it. Field names are a public contract.

use crate::{
    domain::{self, AttachmentId, InterfaceType, Message, Reference, Role},
    store::Detail,
};
use chrono::{DateTime, Utc};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Session)]
pub struct SessionJson {
    session_id: Uuid,
    user_id: String,
    title: String,
    first_message_preview: String,
    /// Messages of people and of the agent; tool calls are not counted.
    message_count: i64,
    created_at: DateTime<Utc>,
    last_activity: DateTime<Utc>,
    #[schema(value_type = String, example = "web")]
    interface_type: InterfaceType,
}

impl From<domain::Session> for SessionJson {
    fn from(session: domain::Session) -> Self {
        Self {
            session_id: session.session_id.0,
            user_id: session.user_id.0,
            title: session.title.unwrap_or_default(),
            first_message_preview: session.first_message_preview,
            message_count: session.message_count,
            created_at: session.created_at,
            last_activity: session.last_activity,
            interface_type: session.conversation.interface,
        }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Attachment)]
pub struct AttachmentJson {
    pub attachment_id: Uuid,
    filename: String,
    /// From the bytes, never from the name.
    mime_type: String,
    size: i64,
    /// Upright; only for pictures.
    width: Option<i64>,
    height: Option<i64>,
    created_at: DateTime<Utc>,
    /// Who made it: `user` or `tool`.
    #[schema(value_type = String, example = "tool")]
    source: domain::AttachmentSource,
    description: Option<String>,
    url: String,
    /// Only for pictures.
    thumbnail_url: Option<String>,
    /// What it was made from.
    parents: Vec<Uuid>,
    recipe: Option<RecipeJson>,
}

/// How a picture was made from its parents.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = Recipe)]
pub struct RecipeJson {
    tool: String,
    arguments: Value,
}

impl From<&domain::Attachment> for AttachmentJson {
    fn from(file: &domain::Attachment) -> Self {
        let url = format!("/attachments/{}", file.attachment_id);
        let picture = file.is_image() && file.width.is_some();
        Self {
            attachment_id: file.attachment_id.0,
            filename: file.filename.clone(),
            mime_type: file.mime_type.clone(),
            size: file.size,
            width: file.width,
            height: file.height,
            created_at: file.created_at,
            source: file.source,
            description: file.description.clone(),
            thumbnail_url: picture.then(|| format!("{url}?size=320")),
            url,
            parents: file.parents.iter().map(|id| id.0).collect(),
            recipe: file
                .recipe()
                .map(|made| RecipeJson { tool: made.tool.clone(), arguments: made.arguments.clone() }),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryRole {
    User,
    Assistant,
    ToolCall,
    Tool,
}

impl EntryRole {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::ToolCall => "tool_call",
            Self::Tool => "tool",
        }
    }
}

/// One entry of a history. A step of the agent that calls several tools is one entry for each call.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Entry)]
pub struct HistoryEntry {
    pub role: EntryRole,
    /// The text; for a tool call, JSON with its `name` and `arguments`.
    content: String,
    timestamp: DateTime<Utc>,
    pub internal_id: i64,
    turn_id: Option<Uuid>,
    #[serde(rename = "agent_id")]
    agent_id: Option<String>,
    #[serde(rename = "tool_call_id")]
    tool_call_id: Option<String>,
    #[serde(rename = "tool_name")]
    tool_name: Option<String>,
    pub attachments: Vec<AttachmentJson>,
    refs: Vec<ReferenceJson>,
    tags: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<ReplyToJson>,
    /// Shared by the messages of one album.
    #[serde(skip_serializing_if = "Option::is_none")]
    album_id: Option<String>,
    /// Why a file of this message could not be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    /// True for a failed tool call, and for an answer that only reports an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<bool>,
    /// How long a tool took.
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<i64>,
    /// Tokens and cost of the model request.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageJson>,
}

/// Where something comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Ref)]
pub struct ReferenceJson {
    /// A page on the web, `attachment:<uuid>` or `turn:<uuid>`.
    pub url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_excerpt: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bonus: Option<bool>,
}

impl From<&Reference> for ReferenceJson {
    fn from(reference: &Reference) -> Self {
        let Reference { url, title, content, key_excerpt, kind, bonus } = reference.clone();
        Self { url, title, content, key_excerpt, kind, bonus }
    }
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReplyTo)]
pub struct ReplyToJson {
    internal_id: Option<i64>,
    attachment_id: Option<Uuid>,
    quote: Option<String>,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Usage)]
pub struct UsageJson {
    model: Option<String>,
    input_tokens: Option<i64>,
    output_tokens: Option<i64>,
    cost_usd: Option<f64>,
}

impl UsageJson {
    fn from_info(info: &Value) -> Option<Self> {
        let model = info["model"].as_str().map(str::to_owned);
        let usage = Self {
            input_tokens: info["input_tokens"].as_i64(),
            output_tokens: info["output_tokens"].as_i64(),
            cost_usd: info["cost_usd"].as_f64(),
            model,
        };
        usage.model.is_some().then_some(usage)
    }
}

/// The entries of one message: one, or one per tool call. `files` must hold the files that the message carries; ids
/// that are not in it are skipped.
pub fn entries_of(message: &Message, files: &[domain::Attachment], detail: Detail) -> Vec<HistoryEntry> {
    let entry = |role: EntryRole, content: String| HistoryEntry {
        role,
        content,
        timestamp: message.timestamp,
        internal_id: message.internal_id.0,
        turn_id: message.turn_id.map(|id| id.0),
        agent_id: message.agent_id.clone(),
        tool_call_id: message.tool_call_id.clone(),
        tool_name: message.tool_name.clone(),
        attachments: attachments_json(&message.attachments, files),
        refs: message.refs.iter().map(ReferenceJson::from).collect(),
        tags: message.tags.clone(),
        reply_to: message.reply.as_ref().map(|reply| ReplyToJson {
            internal_id: reply.message.map(|id| id.0),
            attachment_id: reply.attachment.map(|id| id.0),
            quote: reply.quote.clone(),
        }),
        album_id: message.album_id.clone(),
        note: message.error.clone().filter(|_| role == EntryRole::User),
        failed: (role != EntryRole::User && message.error.is_some()).then_some(true),
        duration_ms: message.reasoning_info.as_ref().and_then(|info| info["duration_ms"].as_i64()),
        usage: message.reasoning_info.as_ref().and_then(UsageJson::from_info),
    };
    match (message.role, detail) {
        (Role::User, _) => vec![entry(EntryRole::User, message.content.clone())],
        (Role::Assistant, _) if message.tool_calls.is_empty() => {
            vec![entry(EntryRole::Assistant, message.content.clone())]
        }
        (_, Detail::WithoutTools) => Vec::new(),
        (Role::Tool, _) => vec![entry(EntryRole::Tool, message.content.clone())],
        (Role::Assistant, _) => {
            let call = |(index, call): (usize, &domain::ToolCall)| {
                let arguments = serde_json::from_str::<Value>(&call.arguments);
                let mut content =
                    json!({ "name": call.name, "arguments": arguments.unwrap_or(json!(call.arguments)) });
                if index == 0 && !message.content.is_empty() {
                    content["said"] = json!(message.content);
                }
                let whole = entry(EntryRole::ToolCall, content.to_string());
                HistoryEntry {
                    tool_call_id: Some(call.id.clone()),
                    tool_name: Some(call.name.clone()),
                    usage: whole.usage.clone().filter(|_| index == 0),
                    ..whole
                }
            };
            message.tool_calls.iter().enumerate().map(call).collect()
        }
    }
}

fn attachments_json(ids: &[AttachmentId], files: &[domain::Attachment]) -> Vec<AttachmentJson> {
    let found = ids.iter().filter_map(|id| files.iter().find(|file| file.attachment_id == *id));
    found.map(AttachmentJson::from).collect()
}

/// Splits a serialised object around the items of an empty list.
pub fn split_at_list<'a>(object: &'a str, field: &str) -> (&'a str, &'a str) {
    // Quotes within texts are escaped, so this only matches the field itself.
    let list = format!("\"{field}\":[]");
    let middle = object.find(&list).map_or(object.len(), |at| at + list.len() - 1);
    object.split_at(middle)
}

/// Appends an item of a list, on a line of its own.
pub fn push_item(
    out: &mut Vec<u8>,
    list_begun: &mut bool,
    item: &impl Serialize,
) -> Result<(), serde_json::Error> {
    out.extend_from_slice(if *list_begun { b",\n" } else { b"\n" });
    *list_begun = true;
    serde_json::to_writer(out, item)
}
