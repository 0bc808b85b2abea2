//! What was said before, as the model sees it: never an orphaned tool call or result, whatever was cut, and
//! bounded with the oldest middle first to go and the root never.

use super::person;
use crate::{
    domain::{Message, Role},
    providers::PromptMessage,
};

/// Said of a tool call whose result never came: the turn was cancelled or the program stopped.
pub const INTERRUPTED: &str = "Error: this was interrupted before it finished.";

/// Messages that only make sense together: a person's message, an answer, or a call with all its results.
type Unit = Vec<PromptMessage>;

/// Stored rows as units. Results are found by call id within their turn, wherever they stand.
pub fn render(messages: &[Message]) -> Vec<Unit> {
    let mut units = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        match message.role {
            Role::User => units.push(vec![PromptMessage::User {
                text: person::message(message),
                images: Vec::new(),
            }]),
            Role::Assistant if message.tool_calls.is_empty() => {
                if !message.content.trim().is_empty() {
                    units.push(vec![assistant(message)]);
                }
            }
            Role::Assistant => units.push(call_with_results(message, &messages[index + 1..])),
            // Results are taken up by their call; one without a call has lost its meaning.
            Role::Tool => {}
        }
    }
    units
}

/// The steps of the running turn so far, and whether some tool calls still have no result.
pub fn steps_of_turn(messages: &[Message]) -> Vec<PromptMessage> {
    render(messages).into_iter().flatten().collect()
}

fn assistant(message: &Message) -> PromptMessage {
    PromptMessage::Assistant {
        text: message.content.clone(),
        tool_calls: message.tool_calls.clone(),
        provider_metadata: message.provider_metadata.clone(),
    }
}

fn call_with_results(message: &Message, later: &[Message]) -> Unit {
    let mut unit = vec![assistant(message)];
    for call in &message.tool_calls {
        let result = later.iter().find(|m| {
            m.role == Role::Tool
                && m.turn_id == message.turn_id
                && m.tool_call_id.as_deref() == Some(&call.id)
        });
        unit.push(PromptMessage::Tool {
            call_id: call.id.clone(),
            name: call.name.clone(),
            text: result.map_or_else(|| INTERRUPTED.to_owned(), |m| m.content.clone()),
        });
    }
    unit
}

/// Drops units after the first, oldest first, until the rest fits.
pub fn bounded(mut units: Vec<Unit>, max_tokens: Option<usize>) -> Vec<PromptMessage> {
    if let Some(most) = max_tokens {
        let mut total: usize = units.iter().map(tokens).sum();
        while total > most && units.len() > 2 {
            total -= tokens(&units.remove(1));
        }
    }
    units.into_iter().flatten().collect()
}

/// A rough count, on the safe side for most languages: three bytes to a token.
fn tokens(unit: &Unit) -> usize {
    let bytes = |message: &PromptMessage| match message {
        PromptMessage::User { text, .. } | PromptMessage::Tool { text, .. } => text.len(),
        PromptMessage::Assistant { text, tool_calls, .. } => {
            text.len()
                + tool_calls
                    .iter()
                    .map(|call| call.name.len() + call.arguments.len())
                    .sum::<usize>()
        }
    };
    unit.iter().map(|message| bytes(message) / 3 + 4).sum()
}
