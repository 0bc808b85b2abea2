//! Chooses the agent of a turn and tries its fallbacks. Retries while the database is unavailable.

use super::{
    Agent, Engine,
    outcome::{AfterFailure, Outcome},
    turn_loop,
};
use crate::{
    context::{self, ContextError},
    domain::Turn,
    retry,
    store::StoreError,
    tools::ToolContext,
};
use backon::Retryable as _;
use std::time::Duration;
use tracing::{error, warn};

/// A turn with more claims than this is not run again: it may be the reason for the crashes.
pub const MAX_TURN_ATTEMPTS: i64 = 3;

const FIRST_TURN_WAIT: Duration = Duration::from_millis(100);
const MAX_TURN_WAIT: Duration = Duration::from_secs(10);

/// Runs the turn. After an outage of the database it continues from the stored steps.
pub async fn run_with_fallbacks(engine: &Engine, turn: &Turn, tools: &ToolContext) -> Outcome {
    if turn.attempts > MAX_TURN_ATTEMPTS {
        return Outcome::internal_error("started too often without an end");
    }
    let Some(agent) = engine.agent(&turn.agent_id) else {
        return Outcome::internal_error("no agent is configured");
    };
    let run = (|| try_agents(engine, agent, turn, tools))
        .retry(retry::forever(FIRST_TURN_WAIT, MAX_TURN_WAIT))
        .when(|error| matches!(error, ContextError::Store(StoreError::Unavailable(_))))
        .notify(|error, wait| warn!(%error, op = "run_turn", "database unavailable; retrying in {wait:?}"));
    run.await.unwrap_or_else(|error| {
        error!(%error, op = "run_turn", "the turn failed");
        Outcome::internal_error(&error.to_string())
    })
}

/// Runs the turn with the agent, then with its fallbacks while they are allowed.
async fn try_agents(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    tools: &ToolContext,
) -> Result<Outcome, ContextError> {
    let mut first_failure = None;
    let mut chain = engine.fallback_chain(agent).into_iter().peekable();
    while let Some(agent) = chain.next() {
        let opening =
            context::open(&engine.store, &engine.prompts, &agent.prompt, &engine.bounds, turn).await?;
        let outcome = turn_loop::run(engine, agent, turn, opening, tools).await?;
        let Outcome::Failed { next, .. } = &outcome else { return Ok(outcome) };
        let next_agent = chain.peek().filter(|_| *next == AfterFailure::TryFallback);
        // The person is told about the agent that they asked.
        first_failure.get_or_insert(outcome);
        let Some(fallback) = next_agent else { break };
        warn!(op = "run_turn", agent = agent.name, fallback = fallback.name, "trying the fallback agent");
    }
    Ok(first_failure.unwrap_or_else(|| Outcome::internal_error("no agent ran the turn")))
}
