//! The loop: provider ⇄ tools, every message stored as it is made. A turn found half done after a restart goes on
//! from its stored steps.

use super::{Agent, Engine, says};
use crate::{
    context::{self, Opening},
    domain::{Message, NewMessage, Role, ToolCall, Turn},
    providers::{Completion, Listener, Prompt, PromptMessage, ProviderError, ToolSpec},
    store::StoreError,
    tools::{Output, ToolContext, doing},
};
use futures::future::join_all;
use serde_json::{Value, json};
use std::time::Duration;
use tracing::{debug, warn};

/// Waiting longer than this for a busy model would look like silence.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const PROVIDER_TRIES: u32 = 3;
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
                usage: Some(json!(completion.usage)),
                provider_metadata: completion.provider_metadata,
                ..Outcome::default()
            },
            Err(Stopped::Provider(error)) => {
                warn!(provider = agent.provider.name(), %error, "the provider gave no answer");
                Outcome::failed(says::provider_trouble(&error), &error.to_string())
            }
            Err(Stopped::Store(error)) => return Err(error),
        }
    };
    let text = [notes.as_str(), outcome.text.trim()].into_iter().filter(|part| !part.is_empty());
    Ok(Outcome { text: text.collect::<Vec<_>>().join("\n\n"), answers, ..outcome })
}

enum Stopped {
    Provider(ProviderError),
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
    opening: Opening,
    tools: &ToolContext,
) -> Result<Completion, Stopped> {
    let specs = agent.tools.specs();
    let mut stored = engine.store.messages_of_turn(turn.turn_id).await?;
    finish_interrupted(engine, agent, turn, tools, &mut stored).await?;
    let mut steps = stored.iter().filter(|m| !m.tool_calls.is_empty()).count() as u32;
    loop {
        // After the last step, one request without tools: the answer must be words.
        let offered = if steps < agent.max_steps { specs.clone() } else { Vec::new() };
        let prompt = prompt(&opening, &stored, offered);
        engine.turns.progress(turn.turn_id, |progress| progress.text.clear());
        let heard = |piece: &str| engine.turns.progress(turn.turn_id, |progress| progress.text += piece);
        let completion = ask(agent, &prompt, &heard).await.map_err(Stopped::Provider)?;
        if completion.tool_calls.is_empty() || prompt.tools.is_empty() {
            return Ok(completion);
        }
        steps += 1;
        let request = unique_ids(completion, &stored);
        let calls = request.tool_calls.clone();
        add(engine, agent, turn, &mut stored, request_row(request), Vec::new()).await?;
        run_calls(engine, agent, turn, tools, &mut stored, &calls).await?;
    }
}

fn prompt(opening: &Opening, stored: &[Message], tools: Vec<ToolSpec>) -> Prompt {
    let mut messages: Vec<PromptMessage> = opening.messages.clone();
    messages.extend(context::steps_of_turn(stored));
    Prompt { system: opening.system.clone(), messages, tools, focus: opening.focus.clone() }
}

/// Asks again while the trouble may pass and the wait is bearable.
async fn ask(
    agent: &Agent,
    prompt: &Prompt,
    heard: Listener<'_>,
) -> Result<Completion, ProviderError> {
    let mut tries = 1;
    loop {
        let wait = match agent.provider.complete(prompt, heard).await {
            Ok(completion) => return Ok(completion),
            Err(ProviderError::RetryAfter(wait))
                if tries < PROVIDER_TRIES && wait.unwrap_or_default() <= LONGEST_WAIT =>
            {
                wait.unwrap_or(Duration::from_secs(5)).max(Duration::from_millis(100))
            }
            Err(ProviderError::Unreachable(why)) if tries < PROVIDER_TRIES => {
                debug!(why, "the provider is away");
                Duration::from_millis(200) * 4u32.pow(tries)
            }
            Err(error) => return Err(error),
        };
        tokio::time::sleep(wait).await;
        tries += 1;
    }
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
    let shown = (!calls.is_empty()).then(|| doing(calls));
    engine.turns.progress(turn.turn_id, |progress| progress.doing = shown);
    let work =
        calls.iter().map(|call| agent.tools.call(tools, &call.name, &call.arguments, engine.tool_timeout));
    let results = join_all(work).await;
    engine.turns.progress(turn.turn_id, |progress| progress.doing = None);
    for (call, result) in calls.iter().zip(results) {
        debug!(tool = call.name, failed = result.failed, "tool ran");
        let made = result.outputs.iter().filter_map(|output| match output {
            Output::Made(attachment) => Some(attachment.clone()),
            Output::Known(_) => None,
        });
        let row = |message: NewMessage| NewMessage {
            tool_call_id: Some(call.id.clone()),
            tool_name: Some(call.name.clone()),
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

fn request_row(request: Completion) -> impl FnOnce(NewMessage) -> NewMessage {
    move |message| NewMessage {
        content: request.text,
        tool_calls: request.tool_calls,
        reasoning_info: Some(json!(request.usage)),
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
