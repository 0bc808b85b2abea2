//! What a model answers, and the tokens it took.

use crate::domain::ToolCall;
use serde::Serialize;
use serde_json::Value;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    pub text: String,
    pub tool_calls: Vec<ToolCall>,
    pub usage: Usage,
    /// Data that the provider expects back unchanged with the history, e.g. signed reasoning.
    pub provider_metadata: Option<Value>,
}

/// Tokens of one request, for `reasoning_info` and the ledger. `None` where the server reports no count.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Usage {
    pub provider: &'static str,
    pub model: String,
    /// The whole prompt, including the cached part.
    pub input_tokens: Option<u64>,
    /// Including reasoning.
    pub output_tokens: Option<u64>,
    /// The part of the prompt that the server had cached and charges less for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
}
