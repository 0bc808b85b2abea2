//! Reads requests of any vendor, for assertions of tests.

use regex::Regex;
use serde_json::Value;
use std::sync::LazyLock;

/// The ids in `[Attachment ID: …]` markers of all messages, each once, in order.
pub fn attachment_ids(request: &Value) -> Vec<String> {
    static MARKER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[Attachment ID: ([0-9a-fA-F-]{36})\]").expect("a valid pattern"));
    let mut ids: Vec<String> = Vec::new();
    for message in messages(request) {
        let text = content(message).to_string();
        for id in MARKER.captures_iter(&text).map(|marker| marker[1].to_owned()) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    ids
}

/// The tool results, oldest first.
pub fn results(request: &Value) -> Vec<String> {
    let mut results = Vec::new();
    for message in messages(request) {
        if message["role"] == "tool" {
            results.push(words(content(message)));
        }
        for part in content(message).as_array().into_iter().flatten() {
            if part["type"] == "tool_result" {
                results.push(words(&part["content"]));
            } else if !part["functionResponse"].is_null() {
                let response = &part["functionResponse"]["response"];
                let failed = if response["error"].is_null() { "" } else { "Error: " };
                results.push(format!("{failed}{}", words(response)));
            }
        }
    }
    results
}

/// The number of pictures in it.
pub fn pictures(request: &Value) -> usize {
    let data = ["inlineData", "inline_data"].map(|name| &request[name]);
    let is_picture = request["type"] == "image_url"
        || request["type"] == "image"
        || data.iter().any(|data| data.to_string().contains("\"image/"));
    let inside: usize = match request {
        Value::Array(parts) => parts.iter().map(pictures).sum(),
        Value::Object(fields) => fields.values().map(pictures).sum(),
        _ => 0,
    };
    inside + usize::from(is_picture)
}

/// The tools it offers.
pub fn tools(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().into_iter().flatten();
    tools
        .flat_map(|tool| match &tool["functionDeclarations"] {
            Value::Array(all) => all.iter().map(|one| &one["name"]).collect(),
            _ if tool["function"].is_object() => vec![&tool["function"]["name"]],
            _ => vec![&tool["name"]],
        })
        .filter_map(Value::as_str)
        .collect()
}

/// The text of the last message: a person's message or a result.
pub fn last_words(request: &Value) -> String {
    messages(request).last().map(|message| words(content(message))).unwrap_or_default()
}

fn messages(request: &Value) -> &[Value] {
    let messages = request["messages"].as_array().or(request["contents"].as_array());
    messages.map(Vec::as_slice).unwrap_or_default()
}

fn content(message: &Value) -> &Value {
    if message["parts"].is_null() { &message["content"] } else { &message["parts"] }
}

/// All texts in it, joined by lines.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().map(words).filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        // Names, ids and pixels are not text.
        Value::Object(fields) => ["text", "result", "output", "error", "content"]
            .iter()
            .filter_map(|name| fields.get(*name))
            .map(words)
            .collect::<Vec<_>>()
            .join("\n"),
        _ => String::new(),
    }
}
