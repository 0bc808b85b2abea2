//! How much may be spent in a day, by whom, and whether there is any left.

use super::Micros;
use crate::store::{Spender, Spent};
use std::collections::HashMap;

#[derive(Debug, Clone, Default)]
pub struct Budgets {
    pub per_user: Option<Micros>,
    pub per_chat: Option<Micros>,
    /// By agent, of all people together.
    pub per_agent: HashMap<String, Micros>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Whose {
    Person,
    Chat,
    /// Named.
    Agent(String),
}

/// A budget that leaves nothing for another request today.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("today's budget of {} of the {} is used up", budget.exactly(), of(whose))]
pub struct Exhausted {
    pub whose: Whose,
    pub budget: Micros,
}

fn of(whose: &Whose) -> String {
    match whose {
        Whose::Person => "person".to_owned(),
        Whose::Chat => "chat".to_owned(),
        Whose::Agent(name) => format!("agent {name}"),
    }
}

/// How a budget stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    pub whose: Whose,
    pub budget: Micros,
    pub left: Micros,
}

impl Budgets {
    /// Whether any limits this agent.
    pub fn concern(&self, agent_id: &str) -> bool {
        self.per_user.is_some() || self.per_chat.is_some() || self.per_agent.contains_key(agent_id)
    }

    pub(super) fn left(&self, spender: &Spender, spent: Spent) -> Vec<Left> {
        let per_agent = self.per_agent.get(&spender.agent_id).copied();
        let all = [
            (Whose::Person, self.per_user, spent.by_user),
            (Whose::Chat, self.per_chat, spent.by_chat),
            (Whose::Agent(spender.agent_id.clone()), per_agent, spent.by_agent),
        ];
        let left = |(whose, budget, spent): (Whose, Option<Micros>, i64)| {
            let budget = budget?;
            Some(Left { whose, budget, left: Micros(budget.0.saturating_sub(spent).max(0)) })
        };
        all.into_iter().filter_map(left).collect()
    }

    pub(super) fn exhausted(&self, spender: &Spender, spent: Spent) -> Option<Exhausted> {
        let empty = self.left(spender, spent).into_iter().find(|budget| budget.left == Micros(0))?;
        Some(Exhausted { whose: empty.whose, budget: empty.budget })
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

    fn spent(by_user: i64, by_chat: i64, by_agent: i64) -> Spent {
        Spent { by_user, by_chat, by_agent }
    }

    #[test]
    fn a_budget_that_is_reached_is_exhausted_and_no_other() {
        let per_agent = [("photothread".to_owned(), Micros(300))].into();
        let budgets = Budgets { per_user: Some(Micros(100)), per_chat: Some(Micros(200)), per_agent };
        let whose = |spent| budgets.exhausted(&ann(), spent).map(|exhausted| exhausted.whose);
        assert_eq!(whose(spent(99, 199, 299)), None);
        assert_eq!(whose(spent(100, 100, 100)), Some(Whose::Person));
        assert_eq!(whose(spent(99, 250, 299)), Some(Whose::Chat));
        assert_eq!(whose(spent(99, 199, 300)), Some(Whose::Agent("photothread".into())));
        let other = Spender { agent_id: "describe".into(), ..ann() };
        assert_eq!(budgets.exhausted(&other, spent(0, 0, 9999)), None, "an agent's budget is its own");
    }

    #[test]
    fn a_budget_of_nothing_stops_the_first_request() {
        let budgets = Budgets { per_user: Some(Micros(0)), ..Budgets::default() };
        assert!(budgets.concern("photothread") && budgets.exhausted(&ann(), Spent::default()).is_some());
        assert!(!Budgets::default().concern("photothread"));
    }
}
