//! How a turn ended: answered or failed.

use super::messages;
use crate::domain::TurnState;
use serde_json::Value;

#[derive(Debug, Clone)]
pub enum Outcome {
    Answered {
        text: String,
        agent: String,
        /// Model, tokens and cost; none if no model was asked.
        reasoning_info: Option<Value>,
        provider_metadata: Option<Value>,
        /// The message that the answer replies to.
        reply_to: Option<String>,
    },
    Failed {
        /// The sentence for the person.
        text: String,
        /// For the history row and the log, never for the chat.
        error: String,
        /// The agent that failed; none if the turn ended before an agent was chosen.
        agent: Option<String>,
        reply_to: Option<String>,
        next: AfterFailure,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    EndTurn,
    /// The fallback agent may continue from the stored steps.
    TryFallback,
}

impl Outcome {
    /// An internal error: the person gets an apology.
    pub fn internal_error(error: &str) -> Self {
        Self::failed(messages::apology(), error)
    }

    pub fn failed(text: String, error: &str) -> Self {
        Self::Failed {
            text,
            error: error.to_owned(),
            agent: None,
            reply_to: None,
            next: AfterFailure::EndTurn,
        }
    }

    pub fn state(&self) -> TurnState {
        match self {
            Self::Answered { .. } => TurnState::Done,
            Self::Failed { .. } => TurnState::Failed,
        }
    }

    pub fn text(&self) -> &str {
        match self {
            Self::Answered { text, .. } | Self::Failed { text, .. } => text,
        }
    }

    pub fn agent(&self) -> Option<&str> {
        match self {
            Self::Answered { agent, .. } => Some(agent),
            Self::Failed { agent, .. } => agent.as_deref(),
        }
    }

    pub fn reply_to(&self) -> Option<&str> {
        match self {
            Self::Answered { reply_to, .. } | Self::Failed { reply_to, .. } => reply_to.as_deref(),
        }
    }
}
