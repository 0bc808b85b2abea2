//! The budget of a running turn: checked before each request to a model, charged after it.

use super::{Agent, Engine, budgets::BudgetExhausted};
use crate::{
    domain::Turn,
    providers::{Completion, ProviderError, Usage},
    store::{Spender, StoreError},
};
use serde_json::Value;

/// The budget that allows no further request of this agent today, if there is one.
pub async fn check(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
) -> Result<Option<BudgetExhausted>, StoreError> {
    engine.budgets.check(&Spender::of_turn(turn, &agent.name), agent.provider.name()).await
}

/// Records the tokens of a request, answered or not.
pub async fn record_request(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    completion: &Result<Completion, ProviderError>,
) {
    let usage = match completion {
        Ok(completion) => Some(&completion.usage),
        Err(error) => error.usage.as_deref(),
    };
    if let Some(usage) = usage {
        let spender = Spender::of_turn(turn, &agent.name);
        engine.budgets.record(&spender, agent.provider.model(), usage).await;
    }
}

/// Records the tokens of the services that a tool asked.
pub async fn record_tool(engine: &Engine, agent: &Agent, turn: &Turn, usages: &[Usage]) {
    let spender = Spender::of_turn(turn, &agent.name);
    for usage in usages {
        engine.budgets.record(&spender, &usage.model, usage).await;
    }
}

/// Model, tokens and cost of a request, for the history row.
pub fn reasoning_info(engine: &Engine, agent: &Agent, usage: &Usage) -> Value {
    engine.budgets.reasoning_info(agent.provider.model(), usage)
}
