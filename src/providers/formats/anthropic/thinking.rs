//! Signed thinking of the model. It is sent back unchanged, in its place, to the same model, and only if nothing before
//! it has changed: newer models reject their own thinking in another conversation. The stored fingerprint of the
//! conversation (`seal` in `provider_metadata`) detects a change.

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

/// The blocks of an answer to store for later requests; none if the model did not think. Calls are stored in their own
/// column: here they only mark their position.
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

/// The original blocks of an answer, if they may be sent back. `fingerprint` covers what precedes them now.
pub fn recall(
    kept: &Value,
    model: &str,
    fingerprint: &str,
    text: &str,
    calls: &[Value],
) -> Option<Vec<Value>> {
    let changed = kept.get("seal").is_some_and(|seal| seal != fingerprint);
    if kept["provider"] != "anthropic" || kept["model"] != model || changed {
        return None;
    }
    let content = kept["content"].as_array()?;
    let said: String = content.iter().filter_map(|block| block["text"].as_str()).collect();
    let called = content.iter().filter(|block| block["type"] == "tool_use").count();
    // The bot may have added text or dropped calls: then these are not the model's own blocks any more.
    if said.trim() != text.trim() || called != calls.len() || !content.iter().all(is_complete) {
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

/// The API rejects thinking without its signature.
fn is_complete(block: &Value) -> bool {
    match block["type"].as_str() {
        Some("thinking") => block["thinking"].is_string() && block["signature"].is_string(),
        Some("redacted_thinking") => block["data"].is_string(),
        Some("text" | "tool_use") => true,
        _ => false,
    }
}

/// Whether a thinking budget is allowed: the answer with the first calls of the running turn must then begin with
/// thinking. It does not after a crash or after calls of another model. Later answers of the turn need no thinking.
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

/// Removes the thinking setting and all earlier thinking from a request.
pub fn remove_all(body: &mut Value) {
    for message in body["messages"].as_array_mut().into_iter().flatten() {
        if let Some(blocks) = message["content"].as_array_mut() {
            blocks.retain(|block| !is_thinking(block));
        }
    }
    if let Some(fields) = body.as_object_mut() {
        fields.remove("thinking");
    }
}

/// Fingerprint of the system prompt, the tools and the messages of a request.
pub fn fingerprint(body: &Value) -> String {
    let mut fingerprint = Fingerprint::new(&body["system"], &body["tools"]);
    for message in body["messages"].as_array().into_iter().flatten() {
        fingerprint.add(message);
    }
    fingerprint.hex()
}

pub struct Fingerprint(Sha256);

impl Fingerprint {
    pub fn new(system: &Value, tools: &Value) -> Self {
        let mut fingerprint = Self(Sha256::new());
        fingerprint.add(system);
        fingerprint.add(tools);
        fingerprint
    }

    pub fn hex(&self) -> String {
        self.0.clone().finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect()
    }

    /// Sorts the fields, because the database does not keep their order, and skips cache marks, because they move.
    pub fn add(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => self.add_fields(fields),
            Value::Array(items) => {
                self.add_text(&format!("list {}", items.len()));
                items.iter().for_each(|item| self.add(item));
            }
            Value::String(text) => self.add_text(text),
            other => self.add_text(&other.to_string()),
        }
    }

    fn add_fields(&mut self, fields: &Map<String, Value>) {
        let mut fields: Vec<_> = fields.iter().filter(|(name, _)| *name != "cache_control").collect();
        fields.sort_by_key(|(name, _)| *name);
        self.add_text(&format!("fields {}", fields.len()));
        for (name, value) in fields {
            self.add_text(name);
            self.add(value);
        }
    }

    fn add_text(&mut self, text: &str) {
        self.0.update((text.len() as u64).to_be_bytes());
        self.0.update(text);
    }
}
