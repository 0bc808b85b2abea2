//! A streamed response: blocks begin, grow and end, and are put together into the message they would have been.

use super::super::{Assembly, bad};
use crate::providers::ProviderError;
use serde_json::{Map, Value, json};

#[derive(Debug, Default)]
pub struct Pieces {
    id: Value,
    model: Value,
    usage: Map<String, Value>,
    blocks: Vec<Block>,
    stop_reason: Value,
    stopped: bool,
}

#[derive(Debug)]
struct Block {
    index: Value,
    content: Value,
    /// Of a tool's input, JSON that is only whole at the end.
    input: String,
}

impl Assembly for Pieces {
    fn take(&mut self, event: &Value) -> Result<String, ProviderError> {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                let message = &event["message"];
                self.id = message["id"].clone();
                self.model = message["model"].clone();
                self.count(&message["usage"]);
            }
            "content_block_start" => return Ok(self.begin(event)),
            "content_block_delta" => return self.grow(event),
            "message_delta" => {
                self.count(&event["usage"]);
                let reason = &event["delta"]["stop_reason"];
                if !reason.is_null() {
                    self.stop_reason = reason.clone();
                    self.stopped = true;
                }
            }
            "message_stop" => self.stopped = true,
            // Pings, the ends of blocks, and what the API may add one day.
            _ => {}
        }
        Ok(String::new())
    }

    fn whole(self: Box<Self>) -> Option<Value> {
        if !self.stopped {
            return None;
        }
        let content: Vec<Value> = self.blocks.into_iter().map(Block::whole).collect();
        Some(json!({
            "id": self.id, "model": self.model, "usage": self.usage,
            "content": content, "stop_reason": self.stop_reason,
        }))
    }
}

impl Pieces {
    /// Later counts are of everything so far.
    fn count(&mut self, usage: &Value) {
        for (name, count) in usage.as_object().into_iter().flatten().filter(|(_, count)| !count.is_null()) {
            self.usage.insert(name.clone(), count.clone());
        }
    }

    fn begin(&mut self, event: &Value) -> String {
        let content = event["content_block"].clone();
        let said = match content["type"].as_str() {
            Some("text") => content["text"].as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        self.blocks.push(Block { index: event["index"].clone(), content, input: String::new() });
        said
    }

    fn grow(&mut self, event: &Value) -> Result<String, ProviderError> {
        let block = self.blocks.iter_mut().rev().find(|block| block.index == event["index"]);
        let block = block.ok_or_else(|| bad("it goes on with a block that never began"))?;
        let delta = &event["delta"];
        let piece = |name: &str| delta[name].as_str().unwrap_or_default().to_owned();
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => {
                block.add("text", &piece("text"))?;
                return Ok(piece("text"));
            }
            "input_json_delta" => block.input += &piece("partial_json"),
            "thinking_delta" => block.add("thinking", &piece("thinking"))?,
            "signature_delta" => block.add("signature", &piece("signature"))?,
            // Citations, and what the API may add one day.
            _ => {}
        }
        Ok(String::new())
    }
}

impl Block {
    fn add(&mut self, field: &str, piece: &str) -> Result<(), ProviderError> {
        let content = self.content.as_object_mut().ok_or_else(|| bad("a block of it is not an object"))?;
        let so_far = content.get(field).and_then(Value::as_str).unwrap_or_default();
        let more = format!("{so_far}{piece}");
        content.insert(field.to_owned(), more.into());
        Ok(())
    }

    /// Input that is no JSON stays the text it is.
    fn whole(mut self) -> Value {
        if !self.input.is_empty()
            && let Some(content) = self.content.as_object_mut()
        {
            let input = serde_json::from_str(&self.input).unwrap_or(Value::String(self.input));
            content.insert("input".to_owned(), input);
        }
        self.content
    }
}
