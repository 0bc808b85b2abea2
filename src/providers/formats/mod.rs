//! Wire formats: pure prompt ⇄ JSON, one file per vendor, and the rules that every vendor shares.
//! No HTTP and no keys.

pub mod openai;

use super::PromptMessage;
use crate::domain::{Attachment, AttachmentId, ToolCall};
use std::collections::HashMap;

/// More than this in one request costs much and is looked at little; the rest stay as markers.
pub const MAX_PICTURES: usize = 6;

/// What stands for the result of a call that never got one.
const INTERRUPTED: &str = "(interrupted)";

/// Data URLs of the pictures that could be loaded.
pub type Pictures = HashMap<AttachmentId, String>;

/// The conversation as every vendor accepts it: a call without a result, or a result without a call,
/// cannot be said in this type.
#[derive(Debug, PartialEq)]
pub enum Step<'a> {
    User { text: &'a str, images: Vec<&'a Attachment> },
    Assistant { text: &'a str, answered: Vec<Answered<'a>> },
}

#[derive(Debug, PartialEq)]
pub struct Answered<'a> {
    pub call: &'a ToolCall,
    pub result: &'a str,
}

/// Pairs each call with the result directly after it. Results of no call are dropped, and so are the
/// images of all but the last user message: older ones stay as markers, which tools can look at.
pub fn steps<'a>(messages: &'a [PromptMessage]) -> Vec<Step<'a>> {
    let newest = messages.iter().rposition(|message| matches!(message, PromptMessage::User { .. }));
    let step = |(at, message): (usize, &'a PromptMessage)| match message {
        PromptMessage::User { text, images } => {
            let images = if Some(at) == newest { shown(images) } else { Vec::new() };
            Some(Step::User { text, images })
        }
        PromptMessage::Assistant { text, tool_calls, .. } => {
            let results = messages.iter().skip(at + 1).map_while(result).collect();
            Some(Step::Assistant { text, answered: answered(tool_calls, results) })
        }
        PromptMessage::Tool { .. } => None,
    };
    messages.iter().enumerate().filter_map(step).collect()
}

fn shown(images: &[Attachment]) -> Vec<&Attachment> {
    images.iter().filter(|attachment| attachment.is_image()).take(MAX_PICTURES).collect()
}

fn result(message: &PromptMessage) -> Option<(&str, &str)> {
    match message {
        PromptMessage::Tool { call_id, text, .. } => Some((call_id, text)),
        _ => None,
    }
}

fn answered<'a>(calls: &'a [ToolCall], mut results: Vec<(&'a str, &'a str)>) -> Vec<Answered<'a>> {
    let answer = |call: &'a ToolCall| {
        let found = results.iter().position(|(id, _)| *id == call.id);
        Answered { call, result: found.map_or(INTERRUPTED, |at| results.remove(at).1) }
    };
    calls.iter().map(answer).collect()
}

#[cfg(test)]
pub(super) mod samples {
    use super::*;
    use crate::domain::{AttachmentSource, Conversation};

    pub fn picture(number: u128) -> Attachment {
        Attachment {
            attachment_id: AttachmentId(uuid::Uuid::from_u128(number)),
            conversation: Conversation::telegram(1),
            source: AttachmentSource::User,
            sha256: String::new(),
            mime_type: "image/jpeg".into(),
            filename: "image.jpg".into(),
            description: None,
            size: 1,
            width: Some(1),
            height: Some(1),
            object_key: String::new(),
            created_at: chrono::DateTime::UNIX_EPOCH,
            parents: Vec::new(),
            recipe: None,
        }
    }

    pub fn user(text: &str, images: Vec<Attachment>) -> PromptMessage {
        PromptMessage::User { text: text.into(), images }
    }

    pub fn assistant(text: &str, tool_calls: Vec<ToolCall>) -> PromptMessage {
        PromptMessage::Assistant { text: text.into(), tool_calls, provider_metadata: None }
    }

    pub fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
        ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
    }

    pub fn tool(call_id: &str, text: &str) -> PromptMessage {
        PromptMessage::Tool { call_id: call_id.into(), name: "crop_image".into(), text: text.into() }
    }
}
