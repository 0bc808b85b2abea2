//! Daily limits per person, chat and agent, and what is left of them.

use super::Micros;
use crate::store::{DayCaps, DayCosts, Spender};
use std::collections::HashMap;

#[derive(Debug, Clone, Default)]
pub struct DailyLimits {
    pub per_user: Option<Micros>,
    pub per_chat: Option<Micros>,
    /// By agent, for all people together.
    pub per_agent: HashMap<String, Micros>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetOwner {
    Person,
    Chat,
    /// An agent by name.
    Agent(String),
}

/// A budget that allows no further request today.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("today's budget of {} of the {} is used up", budget.exactly(), describe_owner(owner))]
pub struct BudgetExhausted {
    pub owner: BudgetOwner,
    pub budget: Micros,
}

fn describe_owner(owner: &BudgetOwner) -> String {
    match owner {
        BudgetOwner::Person => "person".to_owned(),
        BudgetOwner::Chat => "chat".to_owned(),
        BudgetOwner::Agent(name) => format!("agent {name}"),
    }
}

/// What is left of a budget today.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetLeft {
    pub owner: BudgetOwner,
    pub budget: Micros,
    pub left: Micros,
}

impl DailyLimits {
    /// Whether any limit applies to this agent.
    pub fn apply_to(&self, agent_id: &str) -> bool {
        self.per_user.is_some() || self.per_chat.is_some() || self.per_agent.contains_key(agent_id)
    }

    pub(super) fn caps(&self, agent_id: &str) -> DayCaps {
        DayCaps {
            by_user: self.per_user.map(|micros| micros.0),
            by_chat: self.per_chat.map(|micros| micros.0),
            by_agent: self.per_agent.get(agent_id).map(|micros| micros.0),
        }
    }

    pub(super) fn left(&self, spender: &Spender, spent: DayCosts) -> Vec<BudgetLeft> {
        let per_agent = self.per_agent.get(&spender.agent_id).copied();
        let all = [
            (BudgetOwner::Person, self.per_user, spent.by_user),
            (BudgetOwner::Chat, self.per_chat, spent.by_chat),
            (BudgetOwner::Agent(spender.agent_id.clone()), per_agent, spent.by_agent),
        ];
        let left = |(owner, budget, spent): (BudgetOwner, Option<Micros>, i64)| {
            let budget = budget?;
            Some(BudgetLeft { owner, budget, left: Micros(budget.0.saturating_sub(spent).max(0)) })
        };
        all.into_iter().filter_map(left).collect()
    }

    pub(super) fn exhausted(&self, spender: &Spender, spent: DayCosts) -> Option<BudgetExhausted> {
        let empty = self.left(spender, spent).into_iter().find(|budget| budget.left == Micros(0))?;
        Some(BudgetExhausted { owner: empty.owner, budget: empty.budget })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Conversation, UserId};

    fn ann() -> Spender {
        Spender {
            conversation: Conversation::telegram(1),
            user_id: UserId("100".into()),
            agent_id: "photothread".into(),
        }
    }

    fn spent(by_user: i64, by_chat: i64, by_agent: i64) -> DayCosts {
        DayCosts { by_user, by_chat, by_agent }
    }

    #[test]
    fn only_a_reached_limit_is_exhausted() {
        let per_agent = [("photothread".to_owned(), Micros(300))].into();
        let limits = DailyLimits { per_user: Some(Micros(100)), per_chat: Some(Micros(200)), per_agent };
        let owner = |spent| limits.exhausted(&ann(), spent).map(|exhausted| exhausted.owner);
        assert_eq!(owner(spent(99, 199, 299)), None);
        assert_eq!(owner(spent(100, 100, 100)), Some(BudgetOwner::Person));
        assert_eq!(owner(spent(99, 250, 299)), Some(BudgetOwner::Chat));
        assert_eq!(owner(spent(99, 199, 300)), Some(BudgetOwner::Agent("photothread".into())));
        let other = Spender { agent_id: "describe".into(), ..ann() };
        assert_eq!(
            limits.exhausted(&other, spent(0, 0, 9999)),
            None,
            "an agent's budget applies to that agent only"
        );
    }

    #[test]
    fn a_limit_of_zero_stops_the_first_request() {
        let limits = DailyLimits { per_user: Some(Micros(0)), ..DailyLimits::default() };
        assert!(limits.apply_to("photothread") && limits.exhausted(&ann(), DayCosts::default()).is_some());
        assert!(!DailyLimits::default().apply_to("photothread"));
    }
}
