//! Assembles a streamed response. Servers differ in what they repeat: names and ids come once, arguments and text in
//! pieces.

use super::super::StreamAssembler;
use super::read_text;
use crate::providers::ProviderErrorKind;
use serde_json::{Value, json};

#[derive(Debug, Default)]
pub struct OpenAiStream {
    text: String,
    refusal: String,
    calls: Vec<Value>,
    reasoning: Vec<Value>,
    id: Value,
    model: Value,
    usage: Value,
    finish: Value,
}

impl StreamAssembler for OpenAiStream {
    fn push(&mut self, event: &Value) -> Result<String, ProviderErrorKind> {
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
        let text = read_text(&delta["content"])?;
        self.text += &text;
        self.refusal += delta["refusal"].as_str().unwrap_or_default();
        self.reasoning.extend(delta["reasoning_details"].as_array().into_iter().flatten().cloned());
        for piece in delta["tool_calls"].as_array().into_iter().flatten() {
            self.push_call(piece);
        }
        Ok(text)
    }

    fn finish(self: Box<Self>) -> Option<Value> {
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

impl OpenAiStream {
    fn push_call(&mut self, piece: &Value) {
        let id = piece["id"].as_str().filter(|id| !id.is_empty());
        // Without an index, a new id starts a new call; anything else continues the last one.
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
