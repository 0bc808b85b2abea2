//! A turn: one request of a person (a message, a burst or an album) and everything done about it.

use super::{Conversation, MessageId, SessionId, TurnId, UserId};
use chrono::{DateTime, Utc};
use std::str::FromStr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnState {
    /// Filed, waiting for the conversation to be free. Late album photos may still join.
    Pending,
    Running,
    Done,
    Failed,
    Cancelled,
}

impl TurnState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn is_over(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

impl FromStr for TurnState {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "pending" => Ok(Self::Pending),
            "running" => Ok(Self::Running),
            "done" => Ok(Self::Done),
            "failed" => Ok(Self::Failed),
            "cancelled" => Ok(Self::Cancelled),
            other => Err(format!("unknown turn state {other:?}")),
        }
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
    /// How often it was started: more than once only after a crash.
    pub attempts: i64,
    pub created_at: DateTime<Utc>,
}

impl Turn {
    /// Does it go on in a thread that was there before, rather than begin one?
    pub fn continues_thread(&self) -> bool {
        !self.inputs.contains(&self.thread_root_id)
    }
}
