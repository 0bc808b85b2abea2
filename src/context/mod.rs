//! What the model sees: one file per fragment, each bounded. The walk asks for a whole `Opening` once per turn;
//! the agent then appends the turn's own steps.

mod focus;
mod history;
mod person;
mod recent_attachments;
mod reply;

pub use history::steps_of_turn;

use crate::{
    attachments::markers,
    domain::{Message, Turn},
    prompts::{PromptError, Prompts, SystemVars},
    providers::{Focus, PromptMessage},
    store::{Store, StoreError},
};
use chrono::{TimeDelta, Utc};

/// How much of the past the model is shown.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    pub max_messages: i64,
    pub max_age: TimeDelta,
    pub max_thread_tokens: usize,
}

#[derive(Debug, thiserror::Error)]
pub enum ContextError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Prompts(#[from] PromptError),
}

/// Everything before the turn's first step.
#[derive(Debug, Clone)]
pub struct Opening {
    pub system: String,
    pub messages: Vec<PromptMessage>,
    pub focus: Focus,
    /// What the person must be told whatever the model says: files that could not be fetched or kept.
    pub notes: Vec<String>,
    /// What the answer replies to: the last message with words, else the first.
    pub answers: Option<String>,
}

/// The same opening for a model that finds it too long; none if it cannot be shorter.
pub fn shortened(opening: &Opening) -> Option<Opening> {
    let messages = history::shortened(&opening.messages)?;
    Some(Opening { messages, ..opening.clone() })
}

/// Builds the opening of a turn from the history.
pub async fn open(
    store: &Store,
    prompts: &Prompts,
    prompt_name: &str,
    bounds: &Bounds,
    turn: &Turn,
) -> Result<Opening, ContextError> {
    let in_thread = turn.continues_thread();
    let since = Utc::now() - bounds.max_age;
    let earlier = async {
        if in_thread {
            let mut thread = store.thread(turn.thread_root_id).await?;
            thread.retain(|m| !turn.inputs.contains(&m.internal_id) && m.turn_id != Some(turn.turn_id));
            return Ok(thread);
        }
        let first = turn.inputs.first().copied().unwrap_or(turn.thread_root_id);
        store.recent_messages(turn.session_id, first, since, bounds.max_messages).await
    };
    // None needs another's answer, and the way to the database costs more than the work there.
    let (inputs, earlier, recent) = tokio::try_join!(
        store.inputs_of_turn(turn.turn_id),
        earlier,
        store.recent_attachments(&turn.conversation, since, recent_attachments::MOST),
    )?;
    let scene = focus::look(store, turn, &inputs, &earlier, &recent).await?;
    let block = match in_thread {
        true => recent_attachments::block(prompts, recent, &scene)?,
        false => String::new(),
    };
    let vars = SystemVars {
        now: Utc::now(),
        interface: turn.conversation.interface,
        person: None,
        recent_attachments: &block,
    };
    let system = prompts.system(prompt_name, vars)?;
    let mut messages =
        history::bounded(history::render(&earlier), in_thread.then_some(bounds.max_thread_tokens));
    messages.push(person::speaks(&inputs, &scene));
    Ok(Opening {
        system,
        messages,
        notes: inputs.iter().filter_map(|m| m.error.clone()).collect(),
        answers: answered(&inputs),
        focus: scene.focus,
    })
}

/// What the answer to these messages replies to.
pub fn answered(inputs: &[Message]) -> Option<String> {
    let with_words = inputs.iter().rev().find(|m| !markers::said(m).trim().is_empty());
    with_words.or(inputs.first())?.interface_message_id.clone()
}
