//! OpenAI's Chat Completions as OpenAI, Ollama, vLLM, llama.cpp, OpenRouter and Groq speak it: prompt → request,
//! response → completion, error body → fault. What to do about a fault is the HTTP side's business.

use super::{Answered, Pictures, Step, steps};
use crate::domain::{Attachment, ToolCall};
use crate::providers::{Completion, Prompt, ProviderError, ToolSpec};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// The body of `POST /chat/completions`.
pub fn request(model: &str, prompt: &Prompt, pictures: &Pictures) -> Value {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    for step in steps(&prompt.messages) {
        match step {
            Step::User { text, images } => messages.push(user(text, &images, pictures)),
            Step::Assistant { text, answered } => messages.extend(assistant(text, &answered)),
        }
    }
    let mut body = json!({"model": model, "messages": messages, "stream": false});
    if !prompt.tools.is_empty() {
        body["tools"] = prompt.tools.iter().map(tool).collect();
    }
    body
}

fn tool(spec: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {"name": spec.name, "description": spec.description, "parameters": spec.parameters},
    })
}

fn user(text: &str, images: &[&Attachment], pictures: &Pictures) -> Value {
    let mut parts = Vec::new();
    for image in images {
        let Some(url) = pictures.get(&image.attachment_id) else {
            continue;
        };
        // Each says whose pixels follow: the text may name more files than are shown.
        parts.push(text_part(&format!("[Attachment ID: {}]", image.attachment_id)));
        parts.push(json!({"type": "image_url", "image_url": {"url": url}}));
    }
    if parts.is_empty() {
        return json!({"role": "user", "content": text});
    }
    if !text.is_empty() {
        parts.insert(0, text_part(text));
    }
    json!({"role": "user", "content": parts})
}

fn text_part(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// The assistant's message and all its tool results. One that neither spoke nor called is rejected by servers.
fn assistant(text: &str, answered: &[Answered]) -> Vec<Value> {
    let content = if text.is_empty() { Value::Null } else { Value::from(text) };
    if answered.is_empty() {
        return match content {
            Value::Null => Vec::new(),
            content => vec![json!({"role": "assistant", "content": content})],
        };
    }
    let calls: Vec<Value> = answered.iter().map(|answered| call(answered.call)).collect();
    let mut messages = vec![json!({"role": "assistant", "content": content, "tool_calls": calls})];
    messages.extend(answered.iter().map(
        |answered| json!({"role": "tool", "tool_call_id": answered.call.id, "content": answered.result}),
    ));
    messages
}

fn call(call: &ToolCall) -> Value {
    // Models make up arguments and names that the same server then refuses to read back from the history.
    let readable = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
    let arguments = if readable { call.arguments.as_str() } else { "{}" };
    json!({
        "id": call.id,
        "type": "function",
        "function": {"name": legal_name(&call.name), "arguments": arguments},
    })
}

/// `^[a-zA-Z0-9_-]{1,64}$`, as the API enforces it.
fn legal_name(name: &str) -> String {
    let legal = |c: char| {
        if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }
    };
    let name: String = name.chars().take(64).map(legal).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

/// What a successful response says. `model` is the one asked for, in case the server does not name it.
pub fn completion(model: &str, response: &Value) -> Result<Completion, ProviderError> {
    let choice = &response["choices"][0];
    let Some(message) = choice["message"].as_object() else {
        return Err(bad("it holds no choices"));
    };
    let refused = message.get("refusal").and_then(Value::as_str).is_some_and(|refusal| !refusal.is_empty());
    if refused || choice["finish_reason"] == "content_filter" {
        return Err(ProviderError::Refused);
    }
    let text = text(message.get("content").unwrap_or(&Value::Null))?;
    let tool_calls = tool_calls(message.get("tool_calls").unwrap_or(&Value::Null), &response["id"])?;
    if text.is_empty() && tool_calls.is_empty() && choice["finish_reason"] == "length" {
        return Err(ProviderError::TooLong);
    }
    let usage = json!({
        "provider": "openai",
        "model": response["model"].as_str().unwrap_or(model),
        "input_tokens": response["usage"]["prompt_tokens"].as_u64(),
        "output_tokens": response["usage"]["completion_tokens"].as_u64(),
    });
    Ok(Completion { text, tool_calls, usage: Some(usage), provider_metadata: None })
}

fn bad(why: &str) -> ProviderError {
    ProviderError::BadAnswer(why.to_owned())
}

fn text(content: &Value) -> Result<String, ProviderError> {
    match content {
        Value::Null => Ok(String::new()),
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) if parts.iter().any(|part| part["type"] == "refusal") => {
            Err(ProviderError::Refused)
        }
        Value::Array(parts) => Ok(parts.iter().filter_map(|part| part["text"].as_str()).collect()),
        _ => Err(bad("its content is neither text nor parts")),
    }
}

fn tool_calls(calls: &Value, response_id: &Value) -> Result<Vec<ToolCall>, ProviderError> {
    let calls = match calls {
        Value::Null => return Ok(Vec::new()),
        Value::Array(calls) => calls,
        _ => return Err(bad("its tool_calls are not a list")),
    };
    let mut read: Vec<ToolCall> = Vec::new();
    for call in calls {
        let function = &call["function"];
        let name = function["name"].as_str().ok_or_else(|| bad("a tool call has no name"))?.to_owned();
        let arguments = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            other => other.to_string(),
        };
        let id = match call["id"].as_str() {
            Some(id) if !id.is_empty() && read.iter().all(|other| other.id != id) => id.to_owned(),
            _ => made_up_id(response_id, read.len(), &name, &arguments),
        };
        read.push(ToolCall { id, name, arguments });
    }
    Ok(read)
}

/// The same for the same response, different for every call in it, and within the API's 40 characters.
fn made_up_id(response_id: &Value, position: usize, name: &str, arguments: &str) -> String {
    let digest = Sha256::digest(json!([response_id, position, name, arguments]).to_string());
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("call_{hex}")
}

/// An error as a server words it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Fault {
    /// Routers put the upstream's status here and answer 200 themselves.
    pub status: Option<u16>,
    /// `code` and `type`, whichever the server gives.
    pub kind: String,
    pub message: String,
}

/// The error in a response body, if it is one.
pub fn fault(response: &Value) -> Option<Fault> {
    let errors = [&response["error"], &response["choices"][0]["error"]];
    let error = match errors.into_iter().find(|error| !blank(error)) {
        Some(error) => error,
        // Older vLLM puts the fields at the top.
        None if response["object"] == "error" => response,
        None => return None,
    };
    let message = error.as_str().or(error["message"].as_str()).unwrap_or_default();
    let code = &error["code"];
    let kinds: Vec<&str> = [code, &error["type"]].into_iter().filter_map(Value::as_str).collect();
    Some(Fault {
        status: code.as_u64().and_then(|code| u16::try_from(code).ok()),
        kind: kinds.join(" "),
        message: message.to_owned(),
    })
}

fn blank(error: &Value) -> bool {
    match error {
        Value::String(text) => text.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => true,
    }
}

#[cfg(test)]
mod tests;
