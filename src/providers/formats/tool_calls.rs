//! Tool calls as every vendor accepts them: each call has exactly one result, a legal name, an id and object arguments.

use crate::domain::ToolCall;
use crate::providers::{PromptMessage, ShownFile};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

/// The result of a call that has none.
const INTERRUPTED: &str = "(interrupted)";

/// One step of a conversation. The type allows neither a call without a result nor a result without a call.
#[derive(Debug, PartialEq)]
pub enum ConversationStep<'a> {
    User { text: &'a str, shown: &'a [ShownFile] },
    Assistant { text: &'a str, answered: Vec<AnsweredCall<'a>>, metadata: Option<&'a Value> },
}

#[derive(Debug, PartialEq)]
pub struct AnsweredCall<'a> {
    pub call: &'a ToolCall,
    pub result: &'a str,
    pub shown: &'a [ShownFile],
}

/// Pairs each call with the result directly after it. Results without a call are dropped.
pub fn pair_tool_calls<'a>(messages: &'a [PromptMessage]) -> Vec<ConversationStep<'a>> {
    let step = |(at, message): (usize, &'a PromptMessage)| match message {
        PromptMessage::User { text, shown } => Some(ConversationStep::User { text, shown }),
        PromptMessage::Assistant { text, tool_calls, provider_metadata } => {
            let results = messages.iter().skip(at + 1).map_while(tool_result).collect();
            let answered = answer_calls(tool_calls, results);
            Some(ConversationStep::Assistant { text, answered, metadata: provider_metadata.as_ref() })
        }
        PromptMessage::Tool { .. } => None,
    };
    messages.iter().enumerate().filter_map(step).collect()
}

/// Call id, text and shown files.
type ToolResultParts<'a> = (&'a str, &'a str, &'a [ShownFile]);

fn tool_result(message: &PromptMessage) -> Option<ToolResultParts<'_>> {
    match message {
        PromptMessage::Tool { call_id, text, shown, .. } => Some((call_id, text, shown)),
        _ => None,
    }
}

fn answer_calls<'a>(calls: &'a [ToolCall], mut results: Vec<ToolResultParts<'a>>) -> Vec<AnsweredCall<'a>> {
    let answer = |call: &'a ToolCall| {
        let found = results.iter().position(|(id, ..)| *id == call.id).map(|at| results.remove(at));
        let (_, result, shown) = found.unwrap_or((&call.id, INTERRUPTED, &[]));
        AnsweredCall { call, result, shown }
    };
    calls.iter().map(answer).collect()
}

/// The arguments of a call as an object. Models produce invalid arguments, which the same server then rejects in the
/// history.
pub fn arguments_object(call: &ToolCall) -> Value {
    match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ => Value::Object(Default::default()),
    }
}

/// `^[a-zA-Z0-9_-]{1,64}$`, as the vendors enforce it.
pub fn valid_name(name: &str) -> String {
    let valid = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
    };
    let name: String = name.chars().take(64).map(valid).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// A call id for servers that give none: deterministic for a response, unique within it, at most 40 characters
/// (OpenAI's limit).
pub fn generate_call_id(response_id: &Value, position: usize, name: &str, arguments: &str) -> String {
    let digest = Sha256::digest(serde_json::json!([response_id, position, name, arguments]).to_string());
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("call_{hex}")
}
