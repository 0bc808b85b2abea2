//! Assembles a streamed response: content blocks start, receive deltas and stop.

use super::super::{StreamAssembler, invalid};
use crate::providers::ProviderErrorKind;
use serde_json::{Map, Value, json};

#[derive(Debug, Default)]
pub struct AnthropicStream {
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
    /// The JSON of a tool's input; valid only when the block ends.
    input: String,
}

impl StreamAssembler for AnthropicStream {
    fn push(&mut self, event: &Value) -> Result<String, ProviderErrorKind> {
        match event["type"].as_str().unwrap_or_default() {
            "message_start" => {
                let message = &event["message"];
                self.id = message["id"].clone();
                self.model = message["model"].clone();
                self.add_usage(&message["usage"]);
            }
            "content_block_start" => return Ok(self.start_block(event)),
            "content_block_delta" => return self.extend_block(event),
            "message_delta" => {
                self.add_usage(&event["usage"]);
                let reason = &event["delta"]["stop_reason"];
                if !reason.is_null() {
                    self.stop_reason = reason.clone();
                    self.stopped = true;
                }
            }
            "message_stop" => self.stopped = true,
            // Pings, block ends and unknown events.
            _ => {}
        }
        Ok(String::new())
    }

    fn finish(self: Box<Self>) -> Option<Value> {
        if !self.stopped {
            return None;
        }
        let content: Vec<Value> = self.blocks.into_iter().map(Block::finish).collect();
        Some(json!({
            "id": self.id, "model": self.model, "usage": self.usage,
            "content": content, "stop_reason": self.stop_reason,
        }))
    }
}

impl AnthropicStream {
    /// Later counts are totals and replace earlier ones.
    fn add_usage(&mut self, usage: &Value) {
        for (name, count) in usage.as_object().into_iter().flatten().filter(|(_, count)| !count.is_null()) {
            self.usage.insert(name.clone(), count.clone());
        }
    }

    fn start_block(&mut self, event: &Value) -> String {
        let content = event["content_block"].clone();
        let said = match content["type"].as_str() {
            Some("text") => content["text"].as_str().unwrap_or_default().to_owned(),
            _ => String::new(),
        };
        self.blocks.push(Block { index: event["index"].clone(), content, input: String::new() });
        said
    }

    fn extend_block(&mut self, event: &Value) -> Result<String, ProviderErrorKind> {
        let block = self.blocks.iter_mut().rev().find(|block| block.index == event["index"]);
        let block = block.ok_or_else(|| invalid("it goes on with a block that never began"))?;
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
            // Citations and unknown deltas.
            _ => {}
        }
        Ok(String::new())
    }
}

impl Block {
    fn add(&mut self, field: &str, piece: &str) -> Result<(), ProviderErrorKind> {
        let content =
            self.content.as_object_mut().ok_or_else(|| invalid("a block of it is not an object"))?;
        let so_far = content.get(field).and_then(Value::as_str).unwrap_or_default();
        let more = format!("{so_far}{piece}");
        content.insert(field.to_owned(), more.into());
        Ok(())
    }

    /// Input that is not JSON stays a string.
    fn finish(mut self) -> Value {
        if !self.input.is_empty()
            && let Some(content) = self.content.as_object_mut()
        {
            let input = serde_json::from_str(&self.input).unwrap_or(Value::String(self.input));
            content.insert("input".to_owned(), input);
        }
        self.content
    }
}
