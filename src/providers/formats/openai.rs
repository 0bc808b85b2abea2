//! OpenAI's Chat Completions as OpenAI, Ollama, vLLM, llama.cpp, OpenRouter, Groq and Azure speak it: prompt →
//! request, response or events → completion, error body → fault.

use super::{
    Album, Answered, Assembly, Fault, Step, bad, caption, legal_name, made_up_id, readable_arguments, steps,
};
use crate::domain::ToolCall;
use crate::providers::{Completion, Loaded, ModelSettings, Prompt, ProviderError, Shown, ToolSpec, Usage};
use serde_json::{Value, json};

const MAX_ID_CHARS: usize = 40;

/// The body of `POST /chat/completions`.
pub fn request(settings: &ModelSettings, prompt: &Prompt, album: &Album) -> Value {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    for step in steps(&prompt.messages) {
        match step {
            Step::User { text, shown } => messages.push(user(text, shown, album)),
            Step::Assistant { text, answered, metadata } => {
                let kept = metadata
                    .filter(|kept| kept["provider"] == "openai" && kept["model"] == settings.model.as_str());
                messages.extend(assistant(text, &answered, kept, album));
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

fn user(text: &str, shown: &[Shown], album: &Album) -> Value {
    let mut parts = parts(shown, album);
    if parts.is_empty() {
        return json!({"role": "user", "content": text});
    }
    if !text.is_empty() {
        parts.insert(0, text_part(text));
    }
    json!({"role": "user", "content": parts})
}

fn parts(shown: &[Shown], album: &Album) -> Vec<Value> {
    album.of(shown).flat_map(|(shown, loaded)| [text_part(&caption(shown)), part(shown, loaded)]).collect()
}

fn part(shown: &Shown, loaded: &Loaded) -> Value {
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

/// The assistant's message, all its tool results, and only then what those show: a picture between two results is
/// refused. One that neither spoke nor called is rejected by servers.
fn assistant(text: &str, answered: &[Answered], kept: Option<&Value>, album: &Album) -> Vec<Value> {
    if text.is_empty() && answered.is_empty() {
        return Vec::new();
    }
    let content = if text.is_empty() { Value::Null } else { Value::from(text) };
    let mut message = json!({"role": "assistant", "content": content});
    if let Some(reasoning) = kept.and_then(|kept| kept.get("reasoning_details")) {
        message["reasoning_details"] = reasoning.clone();
    }
    let ids = legal_ids(answered);
    if !answered.is_empty() {
        let calls = answered.iter().zip(&ids);
        message["tool_calls"] = calls.map(|(answered, id)| call(answered.call, id)).collect();
    }
    let mut messages = vec![message];
    let results = answered.iter().zip(&ids);
    messages.extend(
        results.map(|(answered, id)| json!({"role": "tool", "tool_call_id": id, "content": answered.result})),
    );
    let seen: Vec<Value> = answered.iter().flat_map(|answered| parts(answered.shown, album)).collect();
    if !seen.is_empty() {
        messages.push(json!({"role": "user", "content": seen}));
    }
    messages
}

/// The ids as they are, but for what a server refuses: none, one too long, or one that another call has too.
fn legal_ids(answered: &[Answered]) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for ToolCall { id, name, arguments } in answered.iter().map(|answered| answered.call) {
        let is_legal = !id.trim().is_empty() && id.chars().count() <= MAX_ID_CHARS && !ids.contains(id);
        ids.push(if is_legal { id.clone() } else { made_up_id(&Value::Null, ids.len(), name, arguments) });
    }
    ids
}

fn call(call: &ToolCall, id: &str) -> Value {
    // As the model wrote them, if they can be read at all.
    let readable = serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments).is_ok();
    let arguments = if readable { call.arguments.clone() } else { readable_arguments(call).to_string() };
    json!({
        "id": id,
        "type": "function",
        "function": {"name": legal_name(&call.name), "arguments": arguments},
    })
}

/// What a successful response says. `model` is the one asked for.
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
    let counted = &response["usage"];
    let usage = Usage {
        provider: "openai",
        model: response["model"].as_str().unwrap_or(model).to_owned(),
        input_tokens: counted["prompt_tokens"].as_u64(),
        output_tokens: counted["completion_tokens"].as_u64(),
        cached_input_tokens: counted["prompt_tokens_details"]["cached_tokens"].as_u64(),
    };
    let reasoning = message.get("reasoning_details").filter(|details| details.is_array());
    let provider_metadata =
        reasoning.map(|details| json!({"provider": "openai", "model": model, "reasoning_details": details}));
    Ok(Completion { text, tool_calls, usage, provider_metadata })
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

/// A streamed response. Servers differ in what they repeat: names and ids come once, arguments and text in pieces.
#[derive(Debug, Default)]
pub struct Pieces {
    text: String,
    refusal: String,
    calls: Vec<Value>,
    reasoning: Vec<Value>,
    id: Value,
    model: Value,
    usage: Value,
    finish: Value,
}

impl Assembly for Pieces {
    fn take(&mut self, event: &Value) -> Result<String, ProviderError> {
        for (field, name) in [(&mut self.id, "id"), (&mut self.model, "model"), (&mut self.usage, "usage")] {
            if !event[name].is_null() {
                *field = event[name].clone();
            }
        }
        let choice = &event["choices"][0];
        if !choice["finish_reason"].is_null() {
            self.finish = choice["finish_reason"].clone();
        }
        let delta = &choice["delta"];
        let said = text(&delta["content"])?;
        self.text += &said;
        self.refusal += delta["refusal"].as_str().unwrap_or_default();
        self.reasoning.extend(delta["reasoning_details"].as_array().into_iter().flatten().cloned());
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            self.take_call(piece);
        }
        Ok(said)
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        if self.finish.is_null() {
            return None;
        }
        let mut message = json!({"role": "assistant", "content": self.text});
        if !self.refusal.is_empty() {
            message["refusal"] = self.refusal.into();
        }
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.into();
        }
        if !self.reasoning.is_empty() {
            message["reasoning_details"] = self.reasoning.into();
        }
        let choice = json!({"message": message, "finish_reason": self.finish});
        Some(json!({"id": self.id, "model": self.model, "usage": self.usage, "choices": [choice]}))
    }
}

impl Pieces {
    fn take_call(&mut self, piece: &Value) {
        let id = piece["id"].as_str().filter(|id| !id.is_empty());
        // Without an index, a new id begins a new call and anything else goes on with the last.
        let known = match piece["index"].as_u64() {
            Some(index) => self.calls.iter().position(|call| call["index"] == index),
            None if id.is_some() => self.calls.iter().position(|call| call["id"].as_str() == id),
            None => self.calls.len().checked_sub(1),
        };
        let at = known.unwrap_or_else(|| {
            let empty = json!({"index": piece["index"], "id": "", "function": {"name": "", "arguments": ""}});
            self.calls.push(empty);
            self.calls.len() - 1
        });
        let call = &mut self.calls[at];
        if let Some(id) = id {
            call["id"] = id.into();
        }
        let function = &piece["function"];
        if let Some(name) = function["name"].as_str().filter(|name| !name.is_empty()) {
            call["function"]["name"] = name.into();
        }
        let more = match &function["arguments"] {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            whole => whole.to_string(),
        };
        let so_far = call["function"]["arguments"].as_str().unwrap_or_default();
        call["function"]["arguments"] = format!("{so_far}{more}").into();
    }
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
        retry_after: None,
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
