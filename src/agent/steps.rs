//! The loop: provider ⇄ tools, every message stored as it is made. A turn found half done after a restart goes on
//! from its stored steps.

use super::{
    Agent, Engine,
    asking::{self, NoAnswer},
    bill, looking, says,
};
use crate::{
    context::{self, Opening},
    domain::{Message, NewMessage, Role, ToolCall, Turn},
    money::Exhausted,
    providers::{Completion, Prompt, PromptMessage, ToolSpec},
    store::StoreError,
    tools::{Output, ToolContext},
};
use chrono::Utc;
use futures::future::join_all;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// How long a step waits before it is stored again when the database is away.
const DATABASE_AWAY: Duration = Duration::from_millis(500);

/// How a turn ended.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    pub text: String,
    /// For the history row and the log, never for the chat.
    pub error: Option<String>,
    pub usage: Option<Value>,
    pub provider_metadata: Option<Value>,
    /// The message the answer replies to.
    pub answers: Option<String>,
    /// The agent that ended it, where that is not the one the turn was for.
    pub agent: Option<String>,
    pub next: Next,
}

/// Whether a failed turn is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Next {
    #[default]
    Over,
    /// Another agent could go on from the stored steps.
    AnotherMayTry,
}

impl Outcome {
    /// Our own fault: the turn apologises.
    pub fn broken(error: &str) -> Self {
        Self::failed(says::apology(), error)
    }

    pub fn failed(text: String, error: &str) -> Self {
        Self { text, error: Some(error.to_owned()), ..Self::default() }
    }
}

/// Fails only if the database does; what was stored until then is where the next attempt goes on.
pub async fn run(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    opening: Opening,
    tools: &ToolContext,
) -> Result<Outcome, StoreError> {
    let notes = opening.notes.join("\n\n");
    let answers = opening.answers.clone();
    let nothing_else = opening.focus.said.trim().is_empty() && opening.focus.sent.is_empty();
    let outcome = if !notes.is_empty() && nothing_else {
        // Only a file that could not be kept: the note says it all.
        Outcome::default()
    } else {
        match talk(engine, agent, turn, opening, tools).await {
            Ok(completion) => Outcome {
                text: completion.text,
                usage: bill::reasoning_info(engine, agent, &completion.usage),
                provider_metadata: completion.provider_metadata,
                ..Outcome::default()
            },
            Err(Stopped::Provider(trouble)) => {
                let error = &trouble.error;
                warn!(agent = agent.name, provider = agent.provider.name(), %error, "the model gave no answer");
                let next = if trouble.another_may_try() { Next::AnotherMayTry } else { Next::Over };
                Outcome { next, ..Outcome::failed(says::no_answer(&trouble), &error.to_string()) }
            }
            Err(Stopped::Budget(exhausted)) => {
                info!(%exhausted, "the model is not asked");
                let free = &engine.money.rules().free_commands;
                let told = says::budget_used(&exhausted, free, Utc::now());
                // A fallback may cost nothing, or have a budget of its own.
                Outcome { next: Next::AnotherMayTry, ..Outcome::failed(told, &exhausted.to_string()) }
            }
            Err(Stopped::Store(error)) => return Err(error),
        }
    };
    let text = [notes.as_str(), outcome.text.trim()].into_iter().filter(|part| !part.is_empty());
    Ok(Outcome { text: text.collect::<Vec<_>>().join("\n\n"), answers, ..outcome })
}

enum Stopped {
    Provider(NoAnswer),
    /// Asking once more would cost more than allowed today.
    Budget(Exhausted),
    Store(StoreError),
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Steps until the model answers in words, then returns those.
async fn talk(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    mut opening: Opening,
    tools: &ToolContext,
) -> Result<Completion, Stopped> {
    let mut shortened = false;
    let specs = agent.tools.specs();
    let mut stored = engine.store.messages_of_turn(turn.turn_id).await?;
    finish_interrupted(engine, agent, turn, tools, &mut stored).await?;
    let is_own_step = |m: &&Message| !m.tool_calls.is_empty() && m.agent_id.as_ref() == Some(&agent.name);
    let mut steps = stored.iter().filter(is_own_step).count() as u32;
    loop {
        // After the last step, one request without tools: the answer must be words.
        let offered = if steps < agent.max_steps { specs.clone() } else { Vec::new() };
        let prompt = prompt(engine, &opening, &stored, offered).await?;
        engine.turns.progress(turn.turn_id, |progress| progress.text.clear());
        let heard = |piece: &str| engine.turns.progress(turn.turn_id, |progress| progress.text += piece);
        if let Some(exhausted) = bill::exhausted(engine, agent, turn).await? {
            return Err(Stopped::Budget(exhausted));
        }
        let completion = match asking::ask(engine, agent, turn, &prompt, &heard).await {
            Ok(completion) => completion,
            Err(trouble) => {
                let may_shorten = trouble.is_too_long() && !shortened;
                let Some(shorter) = may_shorten.then(|| context::shortened(&opening)).flatten() else {
                    return Err(Stopped::Provider(trouble));
                };
                info!("too long for the model; it is asked again with less of the past");
                (opening, shortened) = (shorter, true);
                continue;
            }
        };
        if completion.tool_calls.is_empty() || prompt.tools.is_empty() {
            return Ok(completion);
        }
        steps += 1;
        let request = unique_ids(completion, &stored);
        let calls = request.tool_calls.clone();
        let info = bill::reasoning_info(engine, agent, &request.usage);
        add(engine, agent, turn, &mut stored, request_row(request, info), Vec::new()).await?;
        run_calls(engine, agent, turn, tools, &mut stored, &calls).await?;
    }
}

async fn prompt(
    engine: &Engine,
    opening: &Opening,
    stored: &[Message],
    tools: Vec<ToolSpec>,
) -> Result<Prompt, StoreError> {
    let mut messages: Vec<PromptMessage> = opening.messages.clone();
    let mut steps = context::steps_of_turn(stored);
    looking::show(&engine.store, stored, &mut steps).await?;
    messages.extend(steps);
    Ok(Prompt { system: opening.system.clone(), messages, tools, focus: opening.focus.clone() })
}

/// Some models repeat or omit call ids; a result must find exactly its call.
fn unique_ids(mut completion: Completion, stored: &[Message]) -> Completion {
    let mut taken: Vec<String> =
        stored.iter().flat_map(|m| m.tool_calls.iter().map(|call| call.id.clone())).collect();
    for (index, call) in completion.tool_calls.iter_mut().enumerate() {
        if call.id.is_empty() || taken.contains(&call.id) {
            call.id = format!("call-{}-{index}", taken.len() + 1);
        }
        taken.push(call.id.clone());
    }
    completion
}

/// Calls whose results were lost in a crash are made again: edits are deterministic and destroy nothing.
async fn finish_interrupted(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    tools: &ToolContext,
    stored: &mut Vec<Message>,
) -> Result<(), Stopped> {
    let answered = |id: &str| stored.iter().any(|m| m.tool_call_id.as_deref() == Some(id));
    let open: Vec<ToolCall> =
        stored.iter().flat_map(|m| m.tool_calls.clone()).filter(|call| !answered(&call.id)).collect();
    run_calls(engine, agent, turn, tools, stored, &open).await
}

/// Runs the calls of one step side by side; every call gets a result.
async fn run_calls(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    tools: &ToolContext,
    stored: &mut Vec<Message>,
    calls: &[ToolCall],
) -> Result<(), Stopped> {
    let shown = (!calls.is_empty()).then(|| agent.tools.describe_progress(calls));
    engine.turns.progress(turn.turn_id, |progress| progress.doing = shown);
    let work = calls.iter().map(|call| async {
        let since = Instant::now();
        let result = agent.tools.call(tools, &call.name, &call.arguments, engine.tool_timeout).await;
        (result, since.elapsed())
    });
    let results = join_all(work).await;
    engine.turns.progress(turn.turn_id, |progress| progress.doing = None);
    for (call, (result, took)) in calls.iter().zip(results) {
        debug!(tool = call.name, failed = result.failed, "tool ran");
        bill::noted_of_tool(engine, agent, turn, &result.usage).await;
        let made = result.outputs.iter().filter_map(|output| match output {
            Output::Made(attachment) => Some(attachment.clone()),
            Output::Known(_) => None,
        });
        let row = |message: NewMessage| NewMessage {
            tool_call_id: Some(call.id.clone()),
            tool_name: Some(call.name.clone()),
            reasoning_info: Some(json!({ "duration_ms": took.as_millis() as u64 })),
            error: result.failed.then(|| result.text.clone()),
            attachments: result.outputs.iter().map(Output::id).collect(),
            content: result.text.clone(),
            role: Role::Tool,
            ..message
        };
        add(engine, agent, turn, stored, row, made.collect()).await?;
    }
    Ok(())
}

fn request_row(request: Completion, info: Option<Value>) -> impl FnOnce(NewMessage) -> NewMessage {
    move |message| NewMessage {
        content: request.text,
        tool_calls: request.tool_calls,
        reasoning_info: info,
        provider_metadata: request.provider_metadata,
        ..message
    }
}

/// Stores one message of the turn as it happens, however long the database is away: what the model said is not
/// asked for twice.
async fn add(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    stored: &mut Vec<Message>,
    fill: impl FnOnce(NewMessage) -> NewMessage,
    made: Vec<crate::domain::Attachment>,
) -> Result<(), Stopped> {
    let message = fill(NewMessage {
        turn_id: Some(turn.turn_id),
        thread_root_id: Some(turn.thread_root_id),
        agent_id: Some(agent.name.clone()),
        ..NewMessage::new(turn.conversation.clone(), turn.session_id, Role::Assistant, "")
    });
    loop {
        match engine.store.add_message_with(&message, &made).await {
            Ok(id) => {
                stored.push(Message { internal_id: id, body: message });
                engine.turns.changed(&turn.conversation);
                return Ok(());
            }
            Err(StoreError::Unavailable(error)) => warn!(%error, "a step waits for the database"),
            Err(error) => return Err(error.into()),
        }
        // It may have been committed although we did not hear of it.
        let all = loop {
            tokio::time::sleep(DATABASE_AWAY).await;
            match engine.store.messages_of_turn(turn.turn_id).await {
                Err(StoreError::Unavailable(_)) => {}
                read => break read?,
            }
        };
        if all.len() > stored.len() {
            *stored = all;
            return Ok(());
        }
    }
}
