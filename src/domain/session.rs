//! A session: the part of a conversation from one `/new` to the next. It is what people see in a list.

use super::{Conversation, SessionId, UserId};
use chrono::{DateTime, Utc};

#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub session_id: SessionId,
    pub conversation: Conversation,
    /// The person who started it.
    pub user_id: UserId,
    /// None until the first turn or a person gives it one.
    pub title: Option<String>,
    /// The first line that a person wrote; empty until then.
    pub first_message_preview: String,
    /// Messages of people and the agent, without tool calls and their results.
    pub message_count: i64,
    pub created_at: DateTime<Utc>,
    pub last_activity: DateTime<Utc>,
    /// Increases with every change to its messages.
    pub revision: i64,
}
