//! OpenAI's Chat Completions API, as OpenAI, Ollama, vLLM, llama.cpp, OpenRouter, Groq and Azure implement it: prompt →
//! request, response → completion. `stream` assembles streamed responses, `images` is the image API.

pub mod images;
mod stream;

pub use stream::OpenAiStream;

use super::{
    ApiError,
    files::{LoadedFiles, caption},
    invalid,
    tool_calls::{
        AnsweredCall, ConversationStep, arguments_object, generate_call_id, pair_tool_calls, valid_name,
    },
};
use crate::domain::ToolCall;
use crate::providers::{
    Completion, LoadedFile, ModelSettings, Prompt, ProviderErrorKind, ShownFile, ToolSpec, Usage,
};
use serde_json::{Value, json};

const MAX_ID_CHARS: usize = 40;

/// The body of `POST /chat/completions`.
pub fn request(settings: &ModelSettings, prompt: &Prompt, files: &LoadedFiles) -> Value {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    for step in pair_tool_calls(&prompt.messages) {
        match step {
            ConversationStep::User { text, shown } => messages.push(user(text, shown, files)),
            ConversationStep::Assistant { text, answered, metadata } => {
                let kept = metadata
                    .filter(|kept| kept["provider"] == "openai" && kept["model"] == settings.model.as_str());
                messages.extend(assistant(text, &answered, kept, files));
            }
        }
    }
    let mut body = json!({"model": settings.model, "messages": messages, "stream": settings.stream});
    if settings.stream {
        body["stream_options"] = json!({"include_usage": true});
    }
    if !prompt.tools.is_empty() {
        body["tools"] = prompt.tools.iter().map(tool).collect();
    }
    if let Some(temperature) = settings.temperature {
        body["temperature"] = temperature.into();
    }
    body
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
    })
}

fn user(text: &str, shown: &[ShownFile], files: &LoadedFiles) -> Value {
    let mut parts = parts(shown, files);
    if parts.is_empty() {
        return json!({"role": "user", "content": text});
    }
    if !text.is_empty() {
        parts.insert(0, text_part(text));
    }
    json!({"role": "user", "content": parts})
}

fn parts(shown: &[ShownFile], files: &LoadedFiles) -> Vec<Value> {
    files.of(shown).flat_map(|(shown, loaded)| [text_part(&caption(shown)), part(shown, loaded)]).collect()
}

fn part(shown: &ShownFile, loaded: &LoadedFile) -> Value {
    if loaded.is_image() {
        return json!({"type": "image_url", "image_url": {"url": loaded.data_url()}});
    }
    match loaded.mime.strip_prefix("audio/") {
        Some(kind) => {
            let format = if kind.contains("wav") { "wav" } else { "mp3" };
            json!({"type": "input_audio", "input_audio": {"data": loaded.base64(), "format": format}})
        }
        None => json!({"type": "file", "file": {
            "filename": shown.attachment.filename, "file_data": loaded.data_url(),
        }}),
    }
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The assistant message, all its tool results, and then the pictures of the results: servers reject a picture between
/// two results. An empty assistant message is dropped, because servers reject it.
fn assistant(text: &str, answered: &[AnsweredCall], kept: Option<&Value>, files: &LoadedFiles) -> Vec<Value> {
    if text.is_empty() && answered.is_empty() {
        return Vec::new();
    }
    let content = if text.is_empty() { Value::Null } else { Value::from(text) };
    let mut message = json!({"role": "assistant", "content": content});
    if let Some(reasoning) = kept.and_then(|kept| kept.get("reasoning_details")) {
        message["reasoning_details"] = reasoning.clone();
    }
    let ids = valid_ids(answered);
    if !answered.is_empty() {
        let calls = answered.iter().zip(&ids);
        message["tool_calls"] = calls.map(|(answered, id)| call(answered.call, id)).collect();
    }
    let mut messages = vec![message];
    let results = answered.iter().zip(&ids);
    messages.extend(
        results.map(|(answered, id)| json!({"role": "tool", "tool_call_id": id, "content": answered.result})),
    );
    let pictures: Vec<Value> = answered.iter().flat_map(|answered| parts(answered.shown, files)).collect();
    if !pictures.is_empty() {
        messages.push(json!({"role": "user", "content": pictures}));
    }
    messages
}

/// The call ids; an empty, too long or duplicate id is replaced, because servers reject it.
fn valid_ids(answered: &[AnsweredCall]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for ToolCall { id, name, arguments } in answered.iter().map(|answered| answered.call) {
        let is_valid = !id.trim().is_empty() && id.chars().count() <= MAX_ID_CHARS && !ids.contains(id);
        ids.push(if is_valid {
            id.clone()
        } else {
            generate_call_id(&Value::Null, ids.len(), name, arguments)
        });
    }
    ids
}

fn call(call: &ToolCall, id: &str) -> Value {
    // The model's own spelling if it is a JSON object.
    let readable = serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments).is_ok();
    let arguments = if readable { call.arguments.clone() } else { arguments_object(call).to_string() };
    json!({
        "id": id,
        "type": "function",
        "function": {"name": valid_name(&call.name), "arguments": arguments},
    })
}

/// Reads a successful response. `model` is the requested one.
pub fn completion(model: &str, response: &Value) -> Result<Completion, ProviderErrorKind> {
    let choice = &response["choices"][0];
    let Some(message) = choice["message"].as_object() else {
        return Err(invalid("it holds no choices"));
    };
    let refused = message.get("refusal").and_then(Value::as_str).is_some_and(|refusal| !refusal.is_empty());
    if refused || choice["finish_reason"] == "content_filter" {
        return Err(ProviderErrorKind::Refused);
    }
    let text = read_text(message.get("content").unwrap_or(&Value::Null))?;
    let tool_calls = tool_calls(message.get("tool_calls").unwrap_or(&Value::Null), &response["id"])?;
    if text.is_empty() && tool_calls.is_empty() && choice["finish_reason"] == "length" {
        return Err(ProviderErrorKind::TooLong);
    }
    let reasoning = message.get("reasoning_details").filter(|details| details.is_array());
    let provider_metadata =
        reasoning.map(|details| json!({"provider": "openai", "model": model, "reasoning_details": details}));
    Ok(Completion { text, tool_calls, usage: usage(model, response), provider_metadata })
}

/// The image API has other names for the same counts.
pub fn usage(model: &str, response: &Value) -> Usage {
    let counts = &response["usage"];
    let count = |chat: &str, images: &str| counts[chat].as_u64().or(counts[images].as_u64());
    Usage {
        provider: "openai",
        model: response["model"].as_str().unwrap_or(model).to_owned(),
        input_tokens: count("prompt_tokens", "input_tokens"),
        output_tokens: count("completion_tokens", "output_tokens"),
        cached_input_tokens: counts["prompt_tokens_details"]["cached_tokens"].as_u64(),
    }
}

fn read_text(content: &Value) -> Result<String, ProviderErrorKind> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) if parts.iter().any(|part| part["type"] == "refusal") => {
            Err(ProviderErrorKind::Refused)
        }
        Value::Array(parts) => Ok(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        _ => Err(invalid("its content is neither text nor parts")),
    }
}

fn tool_calls(calls: &Value, response_id: &Value) -> Result<Vec<ToolCall>, ProviderErrorKind> {
    let calls = match calls {
        Value::Null => return Ok(Vec::new()),
        Value::Array(calls) => calls,
        _ => return Err(invalid("its tool_calls are not a list")),
    };
    let mut read: Vec<ToolCall> = Vec::new();
    for call in calls {
        let function = &call["function"];
        let name = function["name"].as_str().ok_or_else(|| invalid("a tool call has no name"))?.to_owned();
        let arguments = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            other => other.to_string(),
        };
        let id = match call["id"].as_str() {
            Some(id) if !id.is_empty() && read.iter().all(|other| other.id != id) => id.to_owned(),
            _ => generate_call_id(response_id, read.len(), &name, &arguments),
        };
        read.push(ToolCall { id, name, arguments });
    }
    Ok(read)
}

/// The error in a response body, if there is one.
pub fn parse_error(response: &Value) -> Option<ApiError> {
    let errors = [&response["error"], &response["choices"][0]["error"]];
    let error = match errors.into_iter().find(|error| !is_blank(error)) {
        Some(error) => error,
        // Older vLLM puts the fields at the top level.
        None if response["object"] == "error" => response,
        None => return None,
    };
    let message = error.as_str().or(error["message"].as_str()).unwrap_or_default();
    let code = &error["code"];
    let kinds: Vec<&str> = [code, &error["type"]].into_iter().filter_map(Value::as_str).collect();
    Some(ApiError {
        status: code.as_u64().and_then(|code| u16::try_from(code).ok()),
        kind: kinds.join(" "),
        message: message.to_owned(),
        retry_after: None,
    })
}

fn is_blank(error: &Value) -> bool {
    match error {
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
