//! The server's side of Gemini's generateContent API.

use super::{Asked, Pieces, Said};
use axum::http::HeaderMap;
use serde_json::{Value, json};

pub const KEY: &str = "x-goog-api-key";

/// The error for wrong headers: status and message.
pub fn unwelcome(headers: &HeaderMap) -> Option<(u16, String)> {
    match headers.get(KEY).is_some_and(|key| !key.is_empty()) {
        true => None,
        false => Some((
            403,
            "Method doesn't allow unregistered callers (callers without established identity).".into(),
        )),
    }
}

pub fn error(status: u16, message: &str) -> Value {
    let kind = match status {
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        429 => "RESOURCE_EXHAUSTED",
        _ => "INVALID_ARGUMENT",
    };
    json!({ "error": { "code": status, "message": message, "status": kind } })
}

/// Google sends the time to retry in the body, not in a header.
pub fn busy(retry_after_ms: u64) -> Value {
    let mut body = error(429, "You exceeded your current quota.");
    let delay = format!("{}s", retry_after_ms as f64 / 1000.0);
    body["error"]["details"] =
        json!([{ "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay }]);
    body
}

pub fn whole(asked: &Asked, said: &Said) -> Value {
    let mut parts: Vec<Value> = thought(said).into_iter().collect();
    if !said.text.is_empty() {
        parts.push(json!({ "text": said.text }));
    }
    parts.extend(calls(asked, said));
    if said.calls.is_empty()
        && let (Some(thought), Some(last)) = (&said.thought, parts.last_mut())
    {
        last["thoughtSignature"] = thought.signature.clone().into();
    }
    chunk(asked, parts, Some("STOP"))
}

/// The streamed form: each event is a whole response with some of the parts.
pub fn pieces(asked: &Asked, said: &Said) -> Pieces {
    let mut end = json!({ "text": "" });
    if said.calls.is_empty()
        && let Some(thought) = &said.thought
    {
        // The signature of a streamed text comes after it, in a part with empty text.
        end["thoughtSignature"] = thought.signature.clone().into();
    }
    let one = |part: Value| event(&chunk(asked, vec![part], None));
    Pieces {
        before: thought(said).into_iter().map(one).collect(),
        text: said.pieces().into_iter().map(|piece| one(json!({ "text": piece }))).collect(),
        after: calls(asked, said).into_iter().map(one).collect(),
        end: vec![event(&chunk(asked, vec![end], Some("STOP")))],
    }
}

fn event(chunk: &Value) -> String {
    format!("data: {chunk}\r\n\r\n")
}

fn thought(said: &Said) -> Option<Value> {
    said.thought.as_ref().map(|thought| json!({ "text": thought.text, "thought": true }))
}

/// Since the third generation, calls have ids and signatures, and the signatures must be sent back.
pub fn is_signed(asked: &Asked) -> bool {
    asked.model.as_str().is_some_and(|model| model.starts_with("gemini-3"))
}

/// Of parallel calls, only the first is signed.
fn calls(asked: &Asked, said: &Said) -> Vec<Value> {
    let with_ids = is_signed(asked);
    let mut signature = said.thought.as_ref().map(|thought| &thought.signature);
    let call = |call: &super::Called| {
        let args = serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        let mut part = json!({ "functionCall": { "name": call.tool, "args": args } });
        if with_ids {
            part["functionCall"]["id"] = format!("fc{}", call.number).into();
        }
        if let Some(signature) = signature.take() {
            part["thoughtSignature"] = signature.clone().into();
        }
        part
    };
    said.calls.iter().map(call).collect()
}

fn chunk(asked: &Asked, parts: Vec<Value>, finish: Option<&str>) -> Value {
    let mut candidate = json!({ "content": { "parts": parts, "role": "model" }, "index": 0 });
    if let Some(finish) = finish {
        candidate["finishReason"] = finish.into();
    }
    let usage = json!({ "promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120 });
    json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": asked.model,
        "responseId": "scripted" })
}
