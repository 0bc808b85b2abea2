//! Anthropic's Messages, from the server's side.

use super::{Asked, Said};
use axum::http::HeaderMap;
use serde_json::{Value, json};

pub const KEY: &str = "x-api-key";

/// What is wrong with the headers: a status and Anthropic's words.
pub fn unwelcome(headers: &HeaderMap) -> Option<(u16, String)> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if header(KEY).is_empty() {
        return Some((401, "x-api-key header is required".into()));
    }
    match header("anthropic-version") {
        "2023-06-01" => None,
        "" => Some((400, "anthropic-version: header is required".into())),
        other => Some((400, format!("anthropic-version: \"{other}\" is not a valid version"))),
    }
}

pub fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        401 => "authentication_error",
        404 => "not_found_error",
        429 => "rate_limit_error",
        _ => "invalid_request_error",
    };
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": "req_scripted" })
}

pub fn whole(asked: &Asked, said: &Said) -> Value {
    let mut message = envelope(asked);
    message["content"] = blocks(said).into();
    message["stop_reason"] = stop_reason(said).into();
    message["usage"]["output_tokens"] = 20.into();
    message
}

/// The same in pieces: each block begins empty, is filled by deltas and ends. First what is said, then the end.
pub fn events(asked: &Asked, said: &Said) -> (Vec<String>, Vec<String>) {
    let mut events = vec![
        json!({ "type": "message_start", "message": envelope(asked) }),
        // It comes at any time and means nothing.
        json!({ "type": "ping" }),
    ];
    let mut arguments = said.calls.iter().map(|call| call.arguments.as_str());
    for (index, mut block) in blocks(said).into_iter().enumerate() {
        let deltas = match block["type"].as_str().unwrap_or_default() {
            "thinking" => {
                let (thinking, signature) = (block["thinking"].take(), block["signature"].take());
                block["thinking"] = "".into();
                block["signature"] = "".into();
                vec![
                    json!({ "type": "thinking_delta", "thinking": thinking }),
                    json!({ "type": "signature_delta", "signature": signature }),
                ]
            }
            "text" => {
                let text = block["text"].take();
                block["text"] = "".into();
                let words = text.as_str().unwrap_or_default().split_inclusive(' ');
                words.map(|word| json!({ "type": "text_delta", "text": word })).collect()
            }
            _ => {
                block["input"] = json!({});
                let written: Vec<char> = arguments.next().unwrap_or_default().chars().collect();
                let halves = written.split_at(written.len() / 2);
                [&[][..], halves.0, halves.1]
                    .into_iter()
                    .map(|half| half.iter().collect::<String>())
                    .map(|half| json!({ "type": "input_json_delta", "partial_json": half }))
                    .collect()
            }
        };
        events.push(json!({ "type": "content_block_start", "index": index, "content_block": block }));
        let delta = |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        events.extend(deltas.into_iter().map(delta));
        events.push(json!({ "type": "content_block_stop", "index": index }));
    }
    let over = json!({ "stop_reason": stop_reason(said), "stop_sequence": null });
    let end = [
        json!({ "type": "message_delta", "delta": over, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    (events.iter().map(event).collect(), end.iter().map(event).collect())
}

fn event(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

/// No block for a text that is not there: Anthropic sends none either.
fn blocks(said: &Said) -> Vec<Value> {
    let thought = said.thought.as_ref().map(
        |thought| json!({ "type": "thinking", "thinking": thought.text, "signature": thought.signature }),
    );
    let text =
        (!said.text.is_empty()).then(|| json!({ "type": "text", "text": said.text, "citations": null }));
    let calls = said.calls.iter().map(|call| {
        // In one piece they are always JSON: what cannot be read as such comes as a string.
        let input = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        json!({ "type": "tool_use", "id": format!("toolu_{}", call.number), "name": call.tool, "input": input })
    });
    thought.into_iter().chain(text).chain(calls).collect()
}

fn stop_reason(said: &Said) -> &'static str {
    if said.calls.is_empty() { "end_turn" } else { "tool_use" }
}

fn envelope(asked: &Asked) -> Value {
    let usage = json!({ "input_tokens": 100, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": 1 });
    json!({ "id": "msg_scripted", "type": "message", "role": "assistant", "model": asked.model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage })
}
