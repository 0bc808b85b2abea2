//! The budget of a running turn: reserved before each request to a model, charged after it.

use super::{
    Agent, Engine,
    budgets::{BudgetExhausted, Reservation, TokenEstimate},
};
use crate::{
    domain::{ToolCall, Turn},
    providers::{Completion, Prompt, ProviderError, Usage},
    store::{Spender, StoreError},
};
use serde_json::Value;

/// Reserves what the next request of this agent may cost, or returns the budget that allows none today.
pub async fn reserve(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    prompt: &Prompt,
) -> Result<Result<Reservation, BudgetExhausted>, StoreError> {
    let (spender, provider) = (Spender::of_turn(turn, &agent.name), &agent.provider);
    let tokens = TokenEstimate::of_prompt(prompt, provider.max_output_tokens());
    engine.budgets.reserve(&spender, provider.name(), provider.model(), tokens).await
}

/// The same for a tool call; nothing is reserved for a tool that asks no service.
pub async fn reserve_for_call(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    call: &ToolCall,
) -> Result<Result<Reservation, BudgetExhausted>, StoreError> {
    let Some(paid) = agent.tools.paid_request(call) else { return Ok(Ok(Reservation::unlimited())) };
    let tokens = TokenEstimate::of_generated_pictures(paid.pictures);
    engine.budgets.reserve(&Spender::of_turn(turn, &agent.name), "images", paid.model, tokens).await
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
