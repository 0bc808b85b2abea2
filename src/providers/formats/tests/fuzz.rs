//! Mutated streams and responses of every vendor: reading one never panics.

use super::Vendor;
use crate::providers::sse::EventParser;
use serde_json::{Value, json};

const VENDORS: [Vendor; 3] = [Vendor::Anthropic, Vendor::OpenAi, Vendor::Gemini];

fn events(vendor: Vendor) -> Vec<Value> {
    match vendor {
        Vendor::Anthropic => vec![
            json!({ "type": "message_start", "message": { "id": "m", "model": "claude", "role": "assistant",
                "content": [], "usage": { "input_tokens": 9, "output_tokens": 1 } } }),
            json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
            json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hello" } }),
            json!({ "type": "content_block_stop", "index": 0 }),
            json!({ "type": "content_block_start", "index": 1,
                "content_block": { "type": "tool_use", "id": "t", "name": "crop_image", "input": {} } }),
            json!({ "type": "content_block_delta", "index": 1,
                "delta": { "type": "input_json_delta", "partial_json": "{\"aspect\":\"1:1\"}" } }),
            json!({ "type": "content_block_stop", "index": 1 }),
            json!({ "type": "message_delta", "delta": { "stop_reason": "tool_use" }, "usage": { "output_tokens": 5 } }),
            json!({ "type": "message_stop" }),
        ],
        Vendor::OpenAi => vec![
            json!({ "id": "c", "model": "gpt", "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "Hel" } }] }),
            json!({ "id": "c", "model": "gpt", "choices": [{ "index": 0, "delta": { "content": "lo", "tool_calls": [
                { "index": 0, "id": "t", "type": "function", "function": { "name": "crop_image", "arguments": "{\"aspect\":" } }] } }] }),
            json!({ "id": "c", "model": "gpt", "choices": [{ "index": 0, "delta": { "tool_calls": [
                { "index": 0, "function": { "arguments": "\"1:1\"}" } }] }, "finish_reason": "tool_calls" }] }),
            json!({ "id": "c", "model": "gpt", "choices": [], "usage": { "prompt_tokens": 9, "completion_tokens": 5 } }),
        ],
        Vendor::Gemini => vec![
            json!({ "candidates": [{ "content": { "role": "model", "parts": [{ "text": "Hello" }] } }], "modelVersion": "g" }),
            json!({ "candidates": [{ "content": { "role": "model", "parts": [
                { "functionCall": { "name": "crop_image", "args": { "aspect": "1:1" } }, "thoughtSignature": "s" }] },
                "finishReason": "STOP" }], "usageMetadata": { "promptTokenCount": 9, "candidatesTokenCount": 5 } }),
        ],
    }
}

/// The first byte says whose stream it is.
fn seeds() -> Vec<Vec<u8>> {
    let stream = |(at, vendor): (usize, &Vendor)| {
        let events = events(*vendor);
        let lines: String = events.iter().map(|event| format!("data: {event}\n\n")).collect();
        [&[at as u8], lines.as_bytes()].concat()
    };
    VENDORS.iter().enumerate().map(stream).collect()
}

/// Changes the JSON of some events, or the bytes of the stream.
fn mutate(seed: &[u8], seeds: &[Vec<u8>], rng: &mut fuzzing::SmallRng) -> Vec<u8> {
    let bytes = fuzzing::mutate_bytes(seed, seeds, rng);
    if bytes.len().is_multiple_of(2) {
        return bytes;
    }
    let lines = String::from_utf8_lossy(&seed[1..]).into_owned();
    let events =
        lines.split("\n\n").filter_map(|event| serde_json::from_str(event.strip_prefix("data: ")?).ok());
    let changed: String =
        events.map(|event: Value| format!("data: {}\n\n", fuzzing::mutate_json(&event, rng))).collect();
    [&seed[..1], changed.as_bytes()].concat()
}

#[test]
fn mutated_vendor_streams_never_panic() {
    let seeds = seeds();
    fuzzing::fuzz("streams", &seeds, mutate, |input| {
        let Some((vendor, stream)) = input.split_first() else { return };
        let vendor = VENDORS[usize::from(*vendor) % VENDORS.len()];
        let mut parser = EventParser::default();
        let mut events = Vec::new();
        for chunk in stream.chunks(97) {
            let Ok(complete) = parser.push(chunk) else { return };
            events.extend(complete);
        }
        events.extend(parser.finish().unwrap_or_default());
        let mut assembler = vendor.stream_assembler();
        for event in events.iter().filter_map(|event| serde_json::from_str::<Value>(event).ok()) {
            let _ = vendor.parse_error(&event);
            let _ = vendor.completion("model", &event);
            if assembler.push(&event).is_err() {
                return;
            }
        }
        let completion = assembler.finish().map(|response| vendor.completion("model", &response));
        if seeds.iter().any(|seed| seed == input) {
            let completion = completion.and_then(Result::ok).expect("an unchanged stream is read");
            assert_eq!((completion.text.as_str(), completion.tool_calls.len()), ("Hello", 1));
        }
    });
}
