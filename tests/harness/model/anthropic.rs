//! The server's side of Anthropic's Messages API.

use super::{Asked, Pieces, Said};
use axum::http::HeaderMap;
use serde_json::{Value, json};

pub const KEY: &str = "x-api-key";

/// The error for wrong headers: status and message.
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

/// The streamed form: each block starts empty, is filled by deltas and stops.
pub fn pieces(asked: &Asked, said: &Said) -> Pieces {
    // A ping may come at any time and must be ignored.
    let mut before =
        vec![json!({ "type": "message_start", "message": envelope(asked) }), json!({ "type": "ping" })];
    let (mut text, mut after) = (Vec::new(), Vec::new());
    let mut arguments = said.calls.iter().map(|call| call.arguments.as_str());
    for (index, block) in blocks(said).into_iter().enumerate() {
        let delta = |delta| json!({ "type": "content_block_delta", "index": index, "delta": delta });
        let begin = |block| json!({ "type": "content_block_start", "index": index, "content_block": block });
        let stop = json!({ "type": "content_block_stop", "index": index });
        match block["type"].as_str().unwrap_or_default() {
            "thinking" => before.extend([
                begin(json!({ "type": "thinking", "thinking": "", "signature": "" })),
                delta(json!({ "type": "thinking_delta", "thinking": block["thinking"] })),
                delta(json!({ "type": "signature_delta", "signature": block["signature"] })),
                stop,
            ]),
            "text" => {
                before.push(begin(json!({ "type": "text", "text": "" })));
                let piece = |piece| delta(json!({ "type": "text_delta", "text": piece }));
                text.extend(said.pieces().into_iter().map(piece));
                after.push(stop);
            }
            _ => {
                after.push(begin(
                    json!({ "type": "tool_use", "id": block["id"], "name": block["name"], "input": {} }),
                ));
                // Anthropic's first delta is empty.
                let written: Vec<char> = arguments.next().unwrap_or_default().chars().collect();
                let (one, two) = written.split_at(written.len() / 2);
                for half in [&[], one, two].map(|half| half.iter().collect::<String>()) {
                    after.push(delta(json!({ "type": "input_json_delta", "partial_json": half })));
                }
                after.push(stop);
            }
        }
    }
    let over = json!({ "stop_reason": stop_reason(said), "stop_sequence": null });
    let end = vec![
        json!({ "type": "message_delta", "delta": over, "usage": { "output_tokens": 20 } }),
        json!({ "type": "message_stop" }),
    ];
    let [before, text, after, end] =
        [before, text, after, end].map(|events| events.iter().map(event).collect::<Vec<String>>());
    Pieces { before, text, after, end }
}

fn event(event: &Value) -> String {
    format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap_or_default())
}

/// No block for an empty text: Anthropic sends none either.
fn blocks(said: &Said) -> Vec<Value> {
    let thought = said.thought.as_ref().map(
        |thought| json!({ "type": "thinking", "thinking": thought.text, "signature": thought.signature }),
    );
    let text =
        (!said.text.is_empty()).then(|| json!({ "type": "text", "text": said.text, "citations": null }));
    let calls = said.calls.iter().map(|call| {
        // In an unstreamed answer they are always JSON: text that is not JSON becomes a string.
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
