//! A turn: one request of a person (a message, a burst or an album) and all work on it until its answer.

use super::{Conversation, MessageId, SessionId, TurnId, UserId};
use chrono::{DateTime, Utc};

text_enum! {
    TurnState "a state of a turn" {
        /// Filed. Waits until no other turn of its conversation runs; late photos of its album may still join.
        Pending = "pending",
        Running = "running",
        Done = "done",
        Failed = "failed",
        Cancelled = "cancelled",
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    pub turn_id: TurnId,
    pub conversation: Conversation,
    pub session_id: SessionId,
    pub state: TurnState,
    pub thread_root_id: MessageId,
    /// The user messages this turn answers, in order.
    pub inputs: Vec<MessageId>,
    pub user_id: UserId,
    pub agent_id: String,
    /// How often it was claimed: more than once only after a crash or an outage of the database.
    pub attempts: i64,
    pub created_at: DateTime<Utc>,
}

impl Turn {
    /// True if its thread existed before it.
    pub fn continues_thread(&self) -> bool {
        !self.inputs.contains(&self.thread_root_id)
    }
}
