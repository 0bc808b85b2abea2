//! What the model thought, signed, and how it goes back: exactly as it came, in its place, to the model it came from,
//! and only if nothing before it has changed since. Newer models refuse their own thinking in another conversation.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// What of an answer is to be sent back with the history: nothing, unless the model thought. Calls are stored in their
/// own column; here they are only a place in the order.
pub fn keep(model: &str, content: &[Value]) -> Option<Value> {
    if !content.iter().any(is_thinking) {
        return None;
    }
    let kept: Vec<Value> = content
        .iter()
        .filter_map(|block| match block["type"].as_str()? {
            "thinking" | "redacted_thinking" => Some(block.clone()),
            "text" => Some(json!({"type": "text", "text": block["text"]})),
            "tool_use" => Some(json!({"type": "tool_use"})),
            _ => None,
        })
        .collect();
    Some(json!({"provider": "anthropic", "model": model, "content": kept}))
}

/// The blocks of an answer as they were, if they may go back. `stamp` is of what now comes before them.
pub fn recall(kept: &Value, model: &str, stamp: &str, text: &str, calls: &[Value]) -> Option<Vec<Value>> {
    let elsewhere = kept.get("seal").is_some_and(|seal| seal != stamp);
    if kept["provider"] != "anthropic" || kept["model"] != model || elsewhere {
        return None;
    }
    let content = kept["content"].as_array()?;
    let said: String = content.iter().filter_map(|block| block["text"].as_str()).collect();
    let called = content.iter().filter(|block| block["type"] == "tool_use").count();
    // What the bot added to the words, or left out of the calls, was not said by the model.
    if said.trim() != text.trim() || called != calls.len() || !content.iter().all(is_whole) {
        return None;
    }
    let mut calls = calls.iter();
    let block = |block: &Value| match block["type"].as_str()? {
        "tool_use" => calls.next().cloned(),
        "text" if block["text"].as_str().is_none_or(|text| text.trim().is_empty()) => None,
        _ => Some(block.clone()),
    };
    Some(content.iter().filter_map(block).collect())
}

fn is_thinking(block: &Value) -> bool {
    matches!(block["type"].as_str(), Some("thinking" | "redacted_thinking"))
}

/// Thinking without its signature is refused.
fn is_whole(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("thinking") => block["thinking"].is_string() && block["signature"].is_string(),
        Some("redacted_thinking") => block["data"].is_string(),
        Some("text" | "tool_use") => true,
        _ => false,
    }
}

/// With a thinking budget, the answer that the running turn's first calls are in must begin with thinking. After another
/// model's calls, or a crash, there is none. Later answers of the turn need none: the model thinks once.
pub fn may_be_enabled(messages: &Value) -> bool {
    let Some(messages) = messages.as_array() else { return true };
    let only_results = |message: &Value| {
        let content = message["content"].as_array();
        content.is_some_and(|blocks| blocks.iter().all(|block| block["type"] == "tool_result"))
    };
    let asked = messages.iter().rposition(|message| message["role"] == "user" && !only_results(message));
    match messages.get(asked.map_or(0, |asked| asked + 1)) {
        Some(answer) => is_thinking(&answer["content"][0]),
        None => true,
    }
}

/// Takes all thinking out of a request: the setting and what was thought before.
pub fn forget(body: &mut Value) {
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        if let Some(blocks) = message["content"].as_array_mut() {
            blocks.retain(|block| !is_thinking(block));
        }
    }
    if let Some(fields) = body.as_object_mut() {
        fields.remove("thinking");
    }
}

/// A fingerprint of what a model was told before it thought: system prompt, tools and messages.
pub fn seal(body: &Value) -> String {
    let mut seal = Seal::new(&body["system"], &body["tools"]);
    for message in body["messages"].as_array().into_iter().flatten() {
        seal.add(message);
    }
    seal.stamp()
}

pub struct Seal(Sha256);

impl Seal {
    pub fn new(system: &Value, tools: &Value) -> Self {
        let mut seal = Self(Sha256::new());
        seal.add(system);
        seal.add(tools);
        seal
    }

    pub fn stamp(&self) -> String {
        self.0.clone().finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// In an order of its own, because databases do not keep that of fields, and without cache marks, which move.
    pub fn add(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => self.fields(fields),
            Value::Array(items) => {
                self.piece(&format!("list {}", items.len()));
                items.iter().for_each(|item| self.add(item));
            }
            Value::String(text) => self.piece(text),
            other => self.piece(&other.to_string()),
        }
    }

    fn fields(&mut self, fields: &Map<String, Value>) {
        let mut fields: Vec<_> = fields.iter().filter(|(name, _)| *name != "cache_control").collect();
        fields.sort_by_key(|(name, _)| *name);
        self.piece(&format!("fields {}", fields.len()));
        for (name, value) in fields {
            self.piece(name);
            self.add(value);
        }
    }

    fn piece(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
    }
}
