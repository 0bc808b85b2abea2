//! The turn loop: asks the model, runs its tool calls, and asks again until it answers with text. A turn that was
//! interrupted continues from its stored steps.

use super::{
    Agent, Engine,
    budgets::BudgetExhausted,
    messages,
    model_request::{self, ModelFailure},
    outcome::{AfterFailure, Outcome},
    tool_steps::TurnSteps,
    turn_budget, viewed_images,
};
use crate::{
    context::{self, Opening},
    domain::{Message, Turn},
    providers::{Completion, Prompt, PromptMessage, ToolSpec},
    store::StoreError,
    tools::ToolContext,
};
use chrono::Utc;
use tracing::{info, warn};

/// Runs the turn with one agent. Fails only if the store does; the next attempt continues from the stored steps.
pub async fn run(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    opening: Opening,
    tools: &ToolContext,
) -> Result<Outcome, StoreError> {
    let notes = opening.notes.join("\n\n");
    let reply_to = opening.reply_to.clone();
    let agent_name = agent.name.clone();
    let has_request = !opening.focus.said.trim().is_empty() || !opening.focus.sent.is_empty();
    if !notes.is_empty() && !has_request {
        // The message was only a file that could not be stored: the note is the whole answer.
        let (reasoning_info, provider_metadata) = (None, None);
        return Ok(Outcome::Answered {
            text: notes,
            agent: agent_name,
            reasoning_info,
            provider_metadata,
            reply_to,
        });
    }
    let with_notes = |text: &str| {
        let parts = [notes.as_str(), text.trim()].into_iter().filter(|part| !part.is_empty());
        parts.collect::<Vec<_>>().join("\n\n")
    };
    let failed = |text: String, error: String, next: AfterFailure| Outcome::Failed {
        text: with_notes(&text),
        error,
        agent: Some(agent_name.clone()),
        reply_to: reply_to.clone(),
        next,
    };
    match ask_until_answered(engine, agent, turn, opening, tools).await {
        Ok(completion) => Ok(Outcome::Answered {
            text: with_notes(&completion.text),
            agent: agent_name.clone(),
            reasoning_info: Some(turn_budget::reasoning_info(engine, agent, &completion.usage)),
            provider_metadata: completion.provider_metadata,
            reply_to: reply_to.clone(),
        }),
        Err(Stop::Model(failure)) => {
            let error = &failure.error;
            warn!(%error, op = "ask_model", agent = agent.name, provider = agent.provider.name(), "no answer");
            let next =
                if failure.allows_fallback() { AfterFailure::TryFallback } else { AfterFailure::EndTurn };
            Ok(failed(messages::no_answer(&failure), error.to_string(), next))
        }
        Err(Stop::Budget(exhausted)) => {
            info!(%exhausted, op = "check_budget", agent = agent.name, "budget exhausted; the model is not asked");
            let free_commands = &engine.budgets.rules().free_commands;
            let text = messages::budget_used(&exhausted, free_commands, Utc::now());
            // The fallback may be free or have its own budget.
            Ok(failed(text, exhausted.to_string(), AfterFailure::TryFallback))
        }
        Err(Stop::Store(error)) => Err(error),
    }
}

/// Why the loop ended without an answer.
enum Stop {
    Model(ModelFailure),
    Budget(BudgetExhausted),
    Store(StoreError),
}

impl From<StoreError> for Stop {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

async fn ask_until_answered(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    mut opening: Opening,
    tools: &ToolContext,
) -> Result<Completion, Stop> {
    let mut shortened = false;
    let specs = agent.tools.specs();
    let mut steps = TurnSteps::resume(engine, agent, turn, tools).await?;
    loop {
        // After the last step, one request without tools: the model must answer with text.
        let offered = if steps.count() < agent.max_steps { specs.clone() } else { Vec::new() };
        let prompt = build_prompt(engine, &opening, steps.stored(), offered).await?;
        engine.turns.progress(turn.turn_id, |progress| progress.text.clear());
        let heard = |piece: &str| engine.turns.progress(turn.turn_id, |progress| progress.text += piece);
        let reservation = turn_budget::reserve(engine, agent, turn, &prompt).await?.map_err(Stop::Budget)?;
        let answer = model_request::ask(engine, agent, turn, &prompt, &heard).await;
        reservation.release().await;
        let completion = match answer {
            Ok(completion) => completion,
            Err(failure) => {
                let may_shorten = failure.is_too_long() && !shortened;
                let Some(shorter) = may_shorten.then(|| context::shorten(&opening)).flatten() else {
                    return Err(Stop::Model(failure));
                };
                info!(op = "ask_model", agent = agent.name, "prompt too long; retrying with less history");
                (opening, shortened) = (shorter, true);
                continue;
            }
        };
        if completion.tool_calls.is_empty() || prompt.tools.is_empty() {
            return Ok(completion);
        }
        steps.run_step(completion).await?;
    }
}

async fn build_prompt(
    engine: &Engine,
    opening: &Opening,
    stored: &[Message],
    tools: Vec<ToolSpec>,
) -> Result<Prompt, StoreError> {
    let mut messages: Vec<PromptMessage> = opening.messages.clone();
    let mut steps = context::steps_of_turn(stored);
    viewed_images::add_to_steps(&engine.store, stored, &mut steps).await?;
    messages.extend(steps);
    Ok(Prompt { system: opening.system.clone(), messages, tools, focus: opening.focus.clone() })
}
