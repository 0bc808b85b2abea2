//! Records of what requests to models cost, and of the budgets that limit them.

use crate::domain::{Conversation, ReservationId, Turn, UserId};
use chrono::{DateTime, NaiveDate, Utc};

/// Who and what a request to a model is counted for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spender {
    pub conversation: Conversation,
    pub user_id: UserId,
    pub agent_id: String,
}

impl Spender {
    /// `agent_id` is the agent that runs the turn, which may differ from the one it was filed for.
    pub fn of_turn(turn: &Turn, agent_id: &str) -> Self {
        Self {
            conversation: turn.conversation.clone(),
            user_id: turn.user_id.clone(),
            agent_id: agent_id.to_owned(),
        }
    }
}

/// The usage of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestUsage {
    /// In UTC.
    pub day: NaiveDate,
    pub spender: Spender,
    pub provider: String,
    pub model: String,
    pub input_tokens: i64,
    pub output_tokens: i64,
    /// In millionths of a dollar; none if the price is unknown.
    pub cost_micros: Option<i64>,
}

/// The cost of a day so far, in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayCosts {
    pub by_user: i64,
    pub by_chat: i64,
    /// Of all people.
    pub by_agent: i64,
}

impl DayCosts {
    pub fn plus(self, other: Self) -> Self {
        Self {
            by_user: self.by_user.saturating_add(other.by_user),
            by_chat: self.by_chat.saturating_add(other.by_chat),
            by_agent: self.by_agent.saturating_add(other.by_agent),
        }
    }
}

/// The most that may be spent on one day, in millionths of a dollar; none where there is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DayCaps {
    pub by_user: Option<i64>,
    pub by_chat: Option<i64>,
    pub by_agent: Option<i64>,
}

impl DayCaps {
    /// Whether nothing is left of one of them.
    pub fn reached_by(&self, costs: DayCosts) -> bool {
        let reached = |cap: Option<i64>, cost: i64| cap.is_some_and(|cap| cost >= cap);
        reached(self.by_user, costs.by_user)
            || reached(self.by_chat, costs.by_chat)
            || reached(self.by_agent, costs.by_agent)
    }
}

/// The most that one request may cost, held while it runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetReservation {
    pub reservation_id: ReservationId,
    /// In UTC.
    pub day: NaiveDate,
    pub spender: Spender,
    pub provider: String,
    pub model: String,
    pub cost_micros: i64,
    /// A request that is still open by then has lost its process: it is charged as estimated.
    pub expires_at: DateTime<Utc>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReserveOutcome {
    Reserved,
    /// A cap is reached. `spent` is without the requests that still run.
    Full {
        spent: DayCosts,
    },
}

/// The usage of one model on one day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelUsage {
    pub day: NaiveDate,
    pub model: String,
    pub requests: i64,
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cost_micros: i64,
    /// Requests that are not in the cost because their price is unknown.
    pub unpriced: i64,
}
