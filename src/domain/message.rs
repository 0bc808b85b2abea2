//! One row of the history: something a person, the agent or a tool said.

use super::{AttachmentId, Conversation, MessageId, ReplyTo, SessionId, TurnId, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
    Tool,
}

impl Role {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }
}

impl FromStr for Role {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "user" => Ok(Self::User),
            "assistant" => Ok(Self::Assistant),
            "tool" => Ok(Self::Tool),
            other => Err(format!("unknown role {other:?}")),
        }
    }
}

/// A tool the agent asked for. `arguments` is the text the model wrote, which may not be JSON at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// A stored message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub internal_id: MessageId,
    pub conversation: Conversation,
    pub session_id: SessionId,
    pub interface_message_id: Option<String>,
    pub turn_id: Option<TurnId>,
    pub thread_root_id: Option<MessageId>,
    pub timestamp: DateTime<Utc>,
    pub role: Role,
    /// What was said, without markers: those are made from `attachments` when a prompt is built.
    pub content: String,
    pub tool_calls: Vec<ToolCall>,
    pub tool_call_id: Option<String>,
    pub tool_name: Option<String>,
    pub agent_id: Option<String>,
    pub user_id: Option<UserId>,
    pub reasoning_info: Option<Value>,
    pub provider_metadata: Option<Value>,
    pub error: Option<String>,
    /// What this message answers, as the person pointed at it.
    pub reply: Option<ReplyTo>,
    /// Shared by the messages of one album.
    pub album_id: Option<String>,
    /// In order; for tool results, what the tool made.
    pub attachments: Vec<AttachmentId>,
}

impl Message {
    /// The root of the thread this message is in: itself, if it is a root.
    pub fn root(&self) -> MessageId {
        self.thread_root_id.unwrap_or(self.internal_id)
    }
}

/// A message about to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    pub conversation: Conversation,
    pub session_id: SessionId,
    pub interface_message_id: Option<String>,
    pub turn_id: Option<TurnId>,
    pub thread_root_id: Option<MessageId>,
    pub timestamp: DateTime<Utc>,
    pub role: Role,
    pub content: String,
    pub tool_calls: Vec<ToolCall>,
    pub tool_call_id: Option<String>,
    pub tool_name: Option<String>,
    pub agent_id: Option<String>,
    pub user_id: Option<UserId>,
    pub reasoning_info: Option<Value>,
    pub provider_metadata: Option<Value>,
    pub error: Option<String>,
    pub reply: Option<ReplyTo>,
    pub album_id: Option<String>,
    pub attachments: Vec<AttachmentId>,
}

impl NewMessage {
    /// A bare message; fill in what else is known with struct update syntax.
    pub fn new(
        conversation: Conversation,
        session_id: SessionId,
        role: Role,
        content: impl Into<String>,
    ) -> Self {
        Self {
            conversation,
            session_id,
            interface_message_id: None,
            turn_id: None,
            thread_root_id: None,
            timestamp: Utc::now(),
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            tool_name: None,
            agent_id: None,
            user_id: None,
            reasoning_info: None,
            provider_metadata: None,
            error: None,
            reply: None,
            album_id: None,
            attachments: Vec::new(),
        }
    }

    /// The same message, now that it has an id.
    pub fn stored_as(self, internal_id: MessageId) -> Message {
        Message {
            internal_id,
            conversation: self.conversation,
            session_id: self.session_id,
            interface_message_id: self.interface_message_id,
            turn_id: self.turn_id,
            thread_root_id: self.thread_root_id,
            timestamp: self.timestamp,
            role: self.role,
            content: self.content,
            tool_calls: self.tool_calls,
            tool_call_id: self.tool_call_id,
            tool_name: self.tool_name,
            agent_id: self.agent_id,
            user_id: self.user_id,
            reasoning_info: self.reasoning_info,
            provider_metadata: self.provider_metadata,
            error: self.error,
            reply: self.reply,
            album_id: self.album_id,
            attachments: self.attachments,
        }
    }
}
