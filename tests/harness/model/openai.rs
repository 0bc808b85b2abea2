//! The server's side of OpenAI's chat completions API.

use super::{Asked, Pieces, Said};
use axum::http::{HeaderMap, header};
use serde_json::{Value, json};

pub const KEY: &str = "authorization";

/// The error for wrong headers: status and message.
pub fn unwelcome(headers: &HeaderMap) -> Option<(u16, String)> {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    match bearer.strip_prefix("Bearer ").is_some_and(|key| !key.is_empty()) {
        true => None,
        false => Some((401, "You didn't provide an API key.".into())),
    }
}

pub fn error(status: u16, message: &str) -> Value {
    let (kind, code) = match status {
        429 => ("requests", Some("rate_limit_exceeded")),
        _ => ("invalid_request_error", None),
    };
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

pub fn whole(asked: &Asked, said: &Said) -> Value {
    let content = if said.text.is_empty() && !said.calls.is_empty() { Value::Null } else { json!(said.text) };
    let mut message = json!({ "role": "assistant", "content": content });
    if !said.calls.is_empty() {
        message["tool_calls"] = calls(said).into();
    }
    if let Some(details) = reasoning(said) {
        message["reasoning_details"] = details;
    }
    let mut body = envelope(asked, "chat.completion");
    body["choices"] =
        json!([{ "index": 0, "message": message, "finish_reason": finish(said), "logprobs": null }]);
    body["usage"] = usage();
    body
}

/// The streamed form: text word by word, and the arguments of each call apart from its name.
pub fn pieces(asked: &Asked, said: &Said) -> Pieces {
    let mut before = vec![json!({ "role": "assistant", "content": "" })];
    before.extend(reasoning(said).map(|details| json!({ "reasoning_details": details })));
    let text = said.pieces().into_iter().map(|piece| json!({ "content": piece }));
    let mut after = Vec::new();
    for (index, mut opening) in calls(said).into_iter().enumerate() {
        let arguments = opening["function"]["arguments"].take();
        opening["index"] = index.into();
        opening["function"]["arguments"] = "".into();
        after.push(json!({ "tool_calls": [opening] }));
        after.push(json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] }));
    }
    let chunk = |choices: Value, usage: Value| {
        let mut chunk = envelope(asked, "chat.completion.chunk");
        chunk["choices"] = choices;
        chunk["usage"] = usage;
        format!("data: {chunk}\n\n")
    };
    let piece = |delta| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null);
    let mut end =
        vec![chunk(json!([{ "index": 0, "delta": {}, "finish_reason": finish(said) }]), Value::Null)];
    if asked.request["stream_options"]["include_usage"] == true {
        end.push(chunk(json!([]), usage()));
    }
    end.push("data: [DONE]\n\n".into());
    Pieces {
        before: before.into_iter().map(piece).collect(),
        text: text.map(piece).collect(),
        after: after.into_iter().map(piece).collect(),
        end,
    }
}

fn calls(said: &Said) -> Vec<Value> {
    let call = |call: &super::Called| {
        json!({ "id": format!("call_{}", call.number), "type": "function",
            "function": { "name": call.tool, "arguments": call.arguments } })
    };
    said.calls.iter().map(call).collect()
}

/// As routers to other vendors' models send it. OpenAI itself does not send its reasoning.
fn reasoning(said: &Said) -> Option<Value> {
    let thought = said.thought.as_ref()?;
    Some(json!([{ "type": "reasoning.text", "text": thought.text, "signature": thought.signature }]))
}

fn finish(said: &Said) -> &'static str {
    if said.calls.is_empty() { "stop" } else { "tool_calls" }
}

fn envelope(asked: &Asked, object: &str) -> Value {
    json!({ "id": "chatcmpl-scripted", "object": object, "created": 1_700_000_000, "model": asked.model })
}

fn usage() -> Value {
    json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 })
}
