//! A message: one row of the history, from a person, the agent or a tool.

use super::{AttachmentId, Conversation, MessageId, Reference, ReplyTo, SessionId, TurnId, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::ops::Deref;

text_enum! {
    Role "a role" { User = "user", Assistant = "assistant", Tool = "tool" }
}

/// A tool call of the agent. `arguments` is the text that the model wrote, which may not be valid JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: String,
}

/// A stored message and its id.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub internal_id: MessageId,
    pub body: NewMessage,
}

impl Deref for Message {
    type Target = NewMessage;
    fn deref(&self) -> &NewMessage {
        &self.body
    }
}

impl Message {
    /// The root of its thread; itself, if it is a root.
    pub fn root(&self) -> MessageId {
        self.thread_root_id.unwrap_or(self.internal_id)
    }
}

/// A message about to be stored.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    pub conversation: Conversation,
    pub session_id: SessionId,
    /// Its id on the interface; none until it is sent.
    pub interface_message_id: Option<String>,
    /// None on user messages.
    pub turn_id: Option<TurnId>,
    /// None on a root.
    pub thread_root_id: Option<MessageId>,
    pub timestamp: DateTime<Utc>,
    pub role: Role,
    /// The text. On user messages and tool results, a marker for each attachment follows.
    pub content: String,
    pub tool_calls: Vec<ToolCall>,
    pub tool_call_id: Option<String>,
    pub tool_name: Option<String>,
    pub agent_id: Option<String>,
    pub user_id: Option<UserId>,
    /// The display name of the person when they wrote it; none if the interface has no names.
    pub user_name: Option<String>,
    pub reasoning_info: Option<Value>,
    pub provider_metadata: Option<Value>,
    pub error: Option<String>,
    /// What this message replies to.
    pub reply: Option<ReplyTo>,
    /// Its sources.
    pub refs: Vec<Reference>,
    /// `group:value` or a plain word.
    pub tags: Vec<String>,
    /// Shared by the messages of one album.
    pub album_id: Option<String>,
    /// In order. On tool results, the files that the tool made.
    pub attachments: Vec<AttachmentId>,
}

impl NewMessage {
    /// True for what a chat shows as a message: not for tool results and steps that call tools.
    pub fn is_chat_message(&self) -> bool {
        self.role != Role::Tool && self.tool_calls.is_empty()
    }

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
            user_name: None,
            reasoning_info: None,
            provider_metadata: None,
            error: None,
            refs: Vec::new(),
            tags: Vec::new(),
            reply: None,
            album_id: None,
            attachments: Vec::new(),
        }
    }
}
