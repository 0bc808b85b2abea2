//! Everything that running a turn needs: the store, the agents, the limits.

use super::{budgets::Budgets, turns::Turns};
use crate::{
    context::HistoryBounds,
    domain::{Answer, InterfaceType, PlannedSend},
    prompts::Prompts,
    providers::Provider,
    rendering::Renderer,
    store::Store,
    tools::Registry,
};
use std::{collections::HashMap, sync::Arc, time::Duration};

/// How an interface turns an answer into sends.
pub type Planner = fn(&Answer) -> Vec<PlannedSend>;

/// An agent as configured.
pub struct Agent {
    pub name: String,
    pub provider: Arc<dyn Provider>,
    pub prompt: String,
    pub max_steps: u32,
    pub tools: Registry,
    /// The agent that continues a turn when the model of this one fails.
    pub fallback: Option<String>,
}

/// Where titles of conversations come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Titles {
    /// From the model, for agents that have one.
    Model,
    /// From the first message.
    Message,
}

/// How many turns run at the same time. The others wait in the database, oldest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TurnLimits {
    /// In this process.
    pub turns_at_once: usize,
    /// Of one person, in all processes.
    pub turns_per_person: i64,
}

pub struct Engine {
    pub store: Store,
    pub renderer: Renderer,
    pub turns: Arc<Turns>,
    pub prompts: Prompts,
    pub bounds: HistoryBounds,
    /// Never empty; the first is the default.
    pub agents: Vec<Agent>,
    pub planners: HashMap<InterfaceType, Planner>,
    pub tool_timeout: Duration,
    pub turn_timeout: Duration,
    pub limits: TurnLimits,
    pub budgets: Budgets,
    pub titles: Titles,
}

impl Engine {
    /// The agent of a turn. The default agent replaces one that is no longer configured.
    pub(super) fn agent(&self, name: &str) -> Option<&Agent> {
        self.agents.iter().find(|agent| agent.name == name).or(self.agents.first())
    }

    /// An agent, its fallback, the fallback's fallback; each once.
    pub(super) fn fallback_chain<'a>(&'a self, first: &'a Agent) -> Vec<&'a Agent> {
        let mut chain = vec![first];
        while let Some(fallback) = chain.last().and_then(|agent| agent.fallback.as_ref())
            && let Some(next) = self.agents.iter().find(|agent| agent.name == *fallback)
            && chain.iter().all(|known| known.name != next.name)
        {
            chain.push(next);
        }
        chain
    }
}
