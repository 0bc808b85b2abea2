//! What a reply points at, and the sitting of a conversation it happens in.

use super::{AttachmentId, Conversation, MessageId, SessionId, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What the person replied to. All parts are optional on their own: a quote of a message we never saw
/// is still worth passing on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyTo {
    /// The stored message, if we know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The one attachment carried by the exact message replied to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<AttachmentId>,
    /// The words the person marked, or the text of a message we never saw.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}

/// One sitting of a conversation, as listed to people.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub session_id: SessionId,
    pub conversation: Conversation,
    pub user_id: UserId,
    pub title: String,
    pub first_message_preview: String,
    pub message_count: i64,
    pub created_at: DateTime<Utc>,
    pub last_activity: DateTime<Utc>,
    /// Goes up with every change to its messages.
    pub revision: i64,
}
