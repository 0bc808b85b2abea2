//! Assembles a streamed response: each event is a partial response whose parts are appended.

use super::super::StreamAssembler;
use super::answer_text;
use crate::providers::ProviderErrorKind;
use serde_json::{Map, Value, json};

#[derive(Debug, Default)]
pub struct GeminiStream {
    parts: Vec<Value>,
    finish: Value,
    blocked: bool,
    /// Fields of the whole response; the last event that has one wins.
    fields: Map<String, Value>,
}

impl StreamAssembler for GeminiStream {
    fn push(&mut self, event: &Value) -> Result<String, ProviderErrorKind> {
        for name in ["responseId", "modelVersion", "usageMetadata", "promptFeedback"] {
            if !event[name].is_null() {
                self.fields.insert(name.to_owned(), event[name].clone());
            }
        }
        self.blocked |= event["promptFeedback"]["blockReason"].is_string();
        let candidate = &event["candidates"][0];
        if candidate["finishReason"].is_string() {
            self.finish = candidate["finishReason"].clone();
        }
        let mut text = String::new();
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            text += answer_text(part).unwrap_or_default();
            self.add(part);
        }
        Ok(text)
    }

    fn finish(mut self: Box<Self>) -> Option<Value> {
        if !self.finish.is_null() {
            let content = json!({"role": "model", "parts": self.parts});
            let candidate = json!({"content": content, "finishReason": self.finish});
            self.fields.insert("candidates".to_owned(), json!([candidate]));
        }
        (self.blocked || !self.finish.is_null()).then_some(Value::Object(self.fields))
    }
}

impl GeminiStream {
    /// Appends unsigned text to the last part; a signed part stays as it is.
    fn add(&mut self, part: &Value) {
        let is_plain_text = |part: &Value| part["text"].is_string() && part.get("thoughtSignature").is_none();
        match self.parts.last_mut() {
            Some(last)
                if is_plain_text(last)
                    && is_plain_text(part)
                    && answer_text(last).is_some() == answer_text(part).is_some() =>
            {
                let texts = [&last["text"], &part["text"]].map(|text| text.as_str().unwrap_or_default());
                last["text"] = texts.concat().into();
            }
            _ => self.parts.push(part.clone()),
        }
    }
}
