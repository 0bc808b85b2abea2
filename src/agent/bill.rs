//! The money side of a request: asked before it whether it may be made, told after it what it took.

use super::{Agent, Engine};
use crate::{
    domain::Turn,
    money::Exhausted,
    providers::{Completion, ProviderError, Usage},
    store::{Spender, StoreError},
};
use serde_json::Value;

/// The budget that leaves nothing for another request of this agent, if one does.
pub async fn exhausted(engine: &Engine, agent: &Agent, turn: &Turn) -> Result<Option<Exhausted>, StoreError> {
    engine.money.exhausted(&Spender::of_turn(turn, &agent.name), agent.provider.name()).await
}

/// Notes what asking takes, answered or not.
pub async fn noted(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    asking: impl Future<Output = Result<Completion, ProviderError>>,
) -> Result<Completion, ProviderError> {
    let completion = asking.await;
    let usage = match &completion {
        Ok(completion) => Some(&completion.usage),
        Err(error) => error.usage.as_deref(),
    };
    if let Some(usage) = usage {
        let spender = Spender::of_turn(turn, &agent.name);
        engine.money.note(&spender, agent.provider.model(), usage).await;
    }
    completion
}

/// Notes what the services took that a tool asked.
pub async fn noted_of_tool(engine: &Engine, agent: &Agent, turn: &Turn, taken: &[Usage]) {
    let spender = Spender::of_turn(turn, &agent.name);
    for usage in taken {
        engine.money.note(&spender, &usage.model, usage).await;
    }
}

/// What the history keeps of a request.
pub fn reasoning_info(engine: &Engine, agent: &Agent, usage: &Usage) -> Option<Value> {
    Some(engine.money.reasoning_info(agent.provider.model(), usage))
}
