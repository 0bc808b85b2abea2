//! What the model sees, one file per fragment, each bounded. `open` builds an `Opening` once per turn; the agent appends
//! the steps of the turn.

mod focus;
mod history;
mod recent_attachments;
mod reply;
mod user_message;

pub use history::steps_of_turn;

use crate::{
    attachments::markers,
    domain::{Message, Turn},
    prompts::{PromptError, Prompts, SystemVars},
    providers::{Focus, PromptMessage},
    store::{Store, StoreError},
};
use chrono::{TimeDelta, Utc};

/// How much history the model sees.
#[derive(Debug, Clone, Copy)]
pub struct HistoryBounds {
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
    /// Lines that the answer must contain, regardless of the model: files that could not be fetched or stored.
    pub notes: Vec<String>,
    /// The message that the answer replies to: the last one with text, else the first.
    pub reply_to: Option<String>,
}

/// A shorter opening after the model found it too long; none if it cannot be shortened.
pub fn shorten(opening: &Opening) -> Option<Opening> {
    let messages = history::shorten(&opening.messages)?;
    Some(Opening { messages, ..opening.clone() })
}

/// Builds the opening of a turn from the history.
pub async fn open(
    store: &Store,
    prompts: &Prompts,
    prompt_name: &str,
    bounds: &HistoryBounds,
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
    // The queries are independent, and the round trips cost more than the queries.
    let (inputs, earlier, recent) = tokio::try_join!(
        store.inputs_of_turn(turn.turn_id),
        earlier,
        store.recent_attachments(&turn.conversation, since, recent_attachments::MAX_FILES),
    )?;
    let facts = focus::gather(store, turn, &inputs, &earlier, &recent).await?;
    let block = match in_thread {
        true => recent_attachments::block(prompts, recent, &facts)?,
        false => String::new(),
    };
    let vars = SystemVars {
        now: Utc::now(),
        interface: turn.conversation.interface,
        person: inputs.iter().rev().find_map(|message| message.user_name.as_deref()),
        recent_attachments: &block,
    };
    let system = prompts.system(prompt_name, vars)?;
    let mut messages =
        history::bound(history::render(&earlier), in_thread.then_some(bounds.max_thread_tokens));
    messages.push(user_message::current(&inputs, &facts));
    Ok(Opening {
        system,
        messages,
        notes: inputs.iter().filter_map(|m| m.error.clone()).collect(),
        reply_to: message_to_answer(&inputs),
        focus: facts.focus,
    })
}

/// The interface's id of the message that an answer to `inputs` replies to.
pub fn message_to_answer(inputs: &[Message]) -> Option<String> {
    let with_text = inputs.iter().rev().find(|m| !markers::visible_text(m).trim().is_empty());
    with_text.or(inputs.first())?.interface_message_id.clone()
}
