//! Anthropic's Messages API: prompt → request, response → completion. `conversation` orders the messages as the API
//! requires, `thinking` sends signed thinking back, `stream` assembles streamed responses.

mod conversation;
mod stream;
mod thinking;

pub use stream::AnthropicStream;
pub use thinking::fingerprint;

use super::{
    ApiError, LoadedFiles, MAX_OUTPUT_TOKENS, invalid,
    tool_calls::{generate_call_id, valid_name},
};
use crate::domain::ToolCall;
use crate::providers::{Completion, ModelSettings, Prompt, PromptMessage, ProviderErrorKind, Usage};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The body of `POST /v1/messages`.
pub fn request(settings: &ModelSettings, prompt: &Prompt, files: &LoadedFiles) -> Value {
    let mut system = match prompt.system.trim() {
        "" => Value::Null,
        _ => json!([{"type": "text", "text": prompt.system}]),
    };
    let mut tools = tools(prompt);
    let mut messages = conversation::messages(settings, prompt, files, &system, &tools);
    // Three of the four allowed cache marks: the tools change less often than the system prompt, and the conversation
    // grows. The fourth is free for an agent's `options`.
    for block in [last(&mut tools), last(&mut system), last_block(&mut messages)].into_iter().flatten() {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    let mut body = json!({
        "model": settings.model,
        // The API requires a limit for every answer. Thinking counts towards it.
        "max_tokens": MAX_OUTPUT_TOKENS,
        "messages": messages,
        "stream": settings.stream,
    });
    if !system.is_null() {
        body["system"] = system;
    }
    if !tools.is_null() {
        body["tools"] = tools;
        if prompt.tools.is_empty() {
            body["tool_choice"] = json!({"type": "none"});
        }
    }
    if let Some(temperature) = settings.temperature.filter(|_| accepts_temperature(&settings.model)) {
        body["temperature"] = temperature.into();
    }
    body
}

/// The API rejects a history with calls if no tools are declared. A request that offers no tools therefore declares the
/// names that the history uses, with `tool_choice: none`.
fn tools(prompt: &Prompt) -> Value {
    let tool = |name: &str, description: &str, schema: &Value| json!({"name": name, "description": description, "input_schema": schema});
    let offered: Vec<Value> =
        prompt.tools.iter().map(|spec| tool(spec.name, spec.description, &spec.parameters)).collect();
    if !offered.is_empty() {
        return offered.into();
    }
    let calls = prompt.messages.iter().flat_map(|message| match message {
        PromptMessage::Assistant { tool_calls, .. } => tool_calls.as_slice(),
        _ => &[],
    });
    let names: BTreeSet<String> = calls.map(|call| valid_name(&call.name)).collect();
    if names.is_empty() {
        return Value::Null;
    }
    names.iter().map(|name| tool(name, "Not available now.", &json!({"type": "object"}))).collect()
}

fn last(list: &mut Value) -> Option<&mut Value> {
    list.as_array_mut()?.last_mut()
}

fn last_block(messages: &mut [Value]) -> Option<&mut Value> {
    last(&mut messages.last_mut()?["content"])
}

/// Claude 4.7 and later reject a temperature.
fn accepts_temperature(model: &str) -> bool {
    let Some(version) = model.strip_prefix("claude-") else { return true };
    // "sonnet-4-5-20250929", "3-7-sonnet-latest", "opus-5": the numbers that are not a date.
    let mut numbers = version.split('-').filter_map(|part| part.parse::<u32>().ok()).filter(|n| *n < 1000);
    match (numbers.next(), numbers.next().unwrap_or(0)) {
        (Some(major), minor) => (major, minor) < (4, 7),
        (None, _) => false,
    }
}

/// Makes the request consistent again after an agent's `options` were merged into it.
pub fn reconcile_options(body: &mut Value) {
    if body["thinking"]["type"] == "enabled" && !thinking::may_be_enabled(&body["messages"]) {
        thinking::remove_all(body);
    }
    let budget = body["thinking"]["budget_tokens"].as_u64();
    let thinks = matches!(body["thinking"]["type"].as_str(), Some("enabled" | "adaptive"));
    if let Some(budget) = budget.filter(|budget| body["max_tokens"].as_u64().unwrap_or(0) <= *budget) {
        body["max_tokens"] = (budget + MAX_OUTPUT_TOKENS).into();
    }
    let without_tools = body["tools"].is_null();
    let Some(fields) = body.as_object_mut() else { return };
    if thinks {
        fields.remove("temperature");
    }
    if without_tools {
        fields.remove("tool_choice");
    }
}

/// Reads a successful response. `model` is the requested one.
pub fn completion(model: &str, response: &Value) -> Result<Completion, ProviderErrorKind> {
    let Some(content) = response["content"].as_array() else {
        return Err(invalid("it holds no content"));
    };
    let stopped = response["stop_reason"].as_str().unwrap_or_default();
    if stopped == "refusal" {
        return Err(ProviderErrorKind::Refused);
    }
    let texts = content.iter().filter(|block| block["type"] == "text");
    let text: String = texts.filter_map(|block| block["text"].as_str()).collect();
    let tool_calls = tool_calls(content, &response["id"])?;
    let cut = matches!(stopped, "max_tokens" | "model_context_window_exceeded");
    if cut && text.is_empty() && tool_calls.is_empty() {
        return Err(ProviderErrorKind::TooLong);
    }
    let provider_metadata = thinking::keep(model, content);
    Ok(Completion { text, tool_calls, usage: usage(model, response), provider_metadata })
}

pub fn usage(model: &str, response: &Value) -> Usage {
    let count = |name: &str| response["usage"][name].as_u64();
    let input = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"].map(count);
    Usage {
        provider: "anthropic",
        model: response["model"].as_str().unwrap_or(model).to_owned(),
        input_tokens: input.into_iter().flatten().reduce(u64::saturating_add),
        output_tokens: count("output_tokens"),
        cached_input_tokens: count("cache_read_input_tokens"),
    }
}

fn tool_calls(content: &[Value], response_id: &Value) -> Result<Vec<ToolCall>, ProviderErrorKind> {
    let mut read: Vec<ToolCall> = Vec::new();
    for block in content.iter().filter(|block| block["type"] == "tool_use") {
        let name = block["name"].as_str().ok_or_else(|| invalid("a tool call has no name"))?.to_owned();
        let arguments = match &block["input"] {
            Value::Null => "{}".to_owned(),
            // Streamed input that is not JSON. The tool's result will say what is wrong with it.
            Value::String(broken) => broken.clone(),
            input => input.to_string(),
        };
        let id = match block["id"].as_str() {
            Some(id) if !id.is_empty() && read.iter().all(|other| other.id != id) => id.to_owned(),
            _ => generate_call_id(response_id, read.len(), &name, &arguments),
        };
        read.push(ToolCall { id, name, arguments });
    }
    Ok(read)
}

/// The error in a response body or a streamed event, if there is one.
pub fn parse_error(response: &Value) -> Option<ApiError> {
    let error = &response["error"];
    if response["type"] != "error" && !error.is_object() {
        return None;
    }
    let kind = error["type"].as_str().unwrap_or_default();
    let message = error["message"].as_str().or(error.as_str()).unwrap_or_default();
    // The HTTP status of a stream is 200 even if an error event follows.
    let status = match kind {
        "invalid_request_error" => Some(400),
        "authentication_error" => Some(401),
        "billing_error" => Some(402),
        "permission_error" => Some(403),
        "not_found_error" => Some(404),
        "request_too_large" => Some(413),
        "rate_limit_error" => Some(429),
        "api_error" => Some(500),
        "timeout_error" => Some(504),
        "overloaded_error" => Some(529),
        _ => None,
    };
    Some(ApiError { status, kind: kind.to_owned(), message: message.to_owned(), retry_after: None })
}

#[cfg(test)]
mod tests;
