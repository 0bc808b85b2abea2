//! Rules of Anthropic's Messages API: the order of messages and blocks, and their fields.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::Value;
use std::collections::HashSet;

const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const MAX_PICTURES: usize = 100;
/// Of one picture, as base64.
const MAX_PICTURE_BYTES: usize = 5 * 1024 * 1024;
const MAX_BREAKPOINTS: usize = 4;

type Checked = Result<(), String>;

/// The API's error message for this request; none if it accepts it.
pub fn complaint(request: &Value) -> Option<String> {
    check(request).err()
}

fn check(request: &Value) -> Checked {
    if request["model"].as_str().unwrap_or_default().is_empty() {
        return Err("model: Field required".into());
    }
    let Some(max_tokens) = request["max_tokens"].as_u64() else {
        return Err("max_tokens: Field required".into());
    };
    if max_tokens == 0 {
        return Err("max_tokens: Input should be greater than or equal to 1".into());
    }
    let Some(messages) = request["messages"].as_array() else {
        return Err("messages: Field required".into());
    };
    if messages.is_empty() {
        return Err("messages: at least one message is required".into());
    }
    system(&request["system"])?;
    tools(request)?;
    turns(messages)?;
    for (at, message) in messages.iter().enumerate() {
        content(message, &format!("messages.{at}"))?;
    }
    calls(messages)?;
    if request["tools"].is_null() && blocks(messages).any(|block| block["type"] == "tool_use") {
        return Err("Requests which have `tool_use` or `tool_result` blocks must define `tools`.".into());
    }
    thinking(request, messages, max_tokens)?;
    limits(request)
}

fn system(system: &Value) -> Checked {
    match system {
        Value::Null | Value::String(_) => Ok(()),
        Value::Array(blocks) if blocks.iter().all(|block| block["type"] == "text" && !blank(block)) => Ok(()),
        Value::Array(_) => Err("system: text content blocks must be non-empty".into()),
        _ => Err("system: Input should be a valid list".into()),
    }
}

fn tools(request: &Value) -> Checked {
    let tools = match &request["tools"] {
        Value::Null if !request["tool_choice"].is_null() => {
            return Err("tool_choice may only be specified while providing tools.".into());
        }
        Value::Null => return Ok(()),
        Value::Array(tools) => tools,
        _ => return Err("tools: Input should be a valid list".into()),
    };
    let mut names = HashSet::new();
    for (at, tool) in tools.iter().enumerate() {
        let at = format!("tools.{at}.custom");
        let name = tool["name"].as_str().unwrap_or_default();
        if !is_legal(name) || name.len() > 128 {
            return Err(format!("{at}.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"));
        }
        if !names.insert(name) {
            return Err("tools: Tool names must be unique.".into());
        }
        let schema = &tool["input_schema"];
        if !schema.is_object() {
            return Err(format!("{at}.input_schema: Field required"));
        }
        if schema["type"] != "object" {
            return Err(format!("{at}.input_schema.type: Input should be 'object'"));
        }
        if ["oneOf", "allOf", "anyOf"].iter().any(|word| schema.get(*word).is_some()) {
            return Err(format!(
                "{at}.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level"
            ));
        }
    }
    Ok(())
}

/// Roles alternate, and the first and the last message are the user's: newer models accept no prefilled answer.
fn turns(messages: &[Value]) -> Checked {
    let mut before = "assistant";
    for (at, message) in messages.iter().enumerate() {
        let role = message["role"].as_str().unwrap_or_default();
        match role {
            "user" | "assistant" if role != before => before = role,
            "assistant" if at == 0 => {
                return Err("messages: first message must use the \"user\" role".into());
            }
            "user" | "assistant" => {
                return Err(format!(
                    "messages: roles must alternate between \"user\" and \"assistant\", but found multiple \"{role}\" roles in a row"
                ));
            }
            _ => return Err(format!("messages.{at}.role: Input should be 'user' or 'assistant'")),
        }
    }
    match before {
        "user" => Ok(()),
        _ => Err("This model does not support assistant message prefill. The conversation must end with a user message.".into()),
    }
}

fn content(message: &Value, at: &str) -> Checked {
    let role = message["role"].as_str().unwrap_or_default();
    match &message["content"] {
        Value::String(text) if text.trim().is_empty() => {
            Err(format!("{at}: {role} messages must have non-empty content"))
        }
        Value::String(_) => Ok(()),
        Value::Array(blocks) if blocks.is_empty() => {
            Err(format!("{at}: all messages must have non-empty content"))
        }
        Value::Array(blocks) => {
            let mut blocks = blocks.iter().enumerate();
            blocks.try_for_each(|(number, each)| block(each, role, &format!("{at}.content.{number}")))
        }
        _ => Err(format!("{at}.content: Input should be a valid list")),
    }
}

fn block(block: &Value, role: &str, at: &str) -> Checked {
    match (block["type"].as_str().unwrap_or_default(), role) {
        ("text", _) => text(block),
        ("image", "user") => image(block, at),
        ("document", "user") => document(block, at),
        ("tool_use", "assistant") => tool_use(block, at),
        ("tool_result", "user") => tool_result(block, at),
        ("thinking", "assistant") if !block["signature"].is_string() => {
            Err(format!("{at}.thinking.signature: Field required"))
        }
        ("thinking", "assistant") if !block["thinking"].is_string() => {
            Err(format!("{at}.thinking.thinking: Field required"))
        }
        ("redacted_thinking", "assistant") if !block["data"].is_string() => {
            Err(format!("{at}.redacted_thinking.data: Field required"))
        }
        ("thinking" | "redacted_thinking", "assistant") if !block["cache_control"].is_null() => {
            Err(format!("{at}.cache_control: Extra inputs are not permitted"))
        }
        ("thinking" | "redacted_thinking", "assistant") => Ok(()),
        (kind @ ("tool_use" | "thinking" | "redacted_thinking"), _) => {
            Err(format!("{at}: `{kind}` blocks can only be in `assistant` messages"))
        }
        (kind @ ("tool_result" | "image" | "document"), _) => {
            Err(format!("{at}: `{kind}` blocks can only be in `user` messages"))
        }
        (kind, _) => Err(format!(
            "{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
        )),
    }
}

fn text(block: &Value) -> Checked {
    match block["text"].as_str() {
        Some("") | None => Err("messages: text content blocks must be non-empty".into()),
        Some(text) if text.trim().is_empty() => {
            Err("messages: text content blocks must contain non-whitespace text".into())
        }
        Some(_) => Ok(()),
    }
}

fn image(block: &Value, at: &str) -> Checked {
    let media_type = block["source"]["media_type"].as_str().unwrap_or_default();
    if !PICTURES.contains(&media_type) {
        return Err(format!(
            "{at}.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
        ));
    }
    let data = base64(block, &format!("{at}.image"))?;
    match data.len() > MAX_PICTURE_BYTES {
        true => Err(format!(
            "{at}.image.source.base64: image exceeds 5 MB maximum: {} bytes > {MAX_PICTURE_BYTES} bytes",
            data.len()
        )),
        false => Ok(()),
    }
}

fn document(block: &Value, at: &str) -> Checked {
    if block["source"]["media_type"] != "application/pdf" {
        return Err(format!("{at}.document.source.base64.media_type: Input should be 'application/pdf'"));
    }
    base64(block, &format!("{at}.document")).map(|_| ())
}

fn base64<'a>(block: &'a Value, at: &str) -> Result<&'a str, String> {
    let source = &block["source"];
    let data = source["data"].as_str().unwrap_or_default();
    if source["type"] != "base64" || data.is_empty() {
        return Err(format!("{at}.source.base64.data: Field required"));
    }
    match BASE64_STANDARD.decode(data) {
        Ok(_) => Ok(data),
        Err(_) => Err(format!("{at}.source.base64: invalid base64 data")),
    }
}

fn tool_use(block: &Value, at: &str) -> Checked {
    if !is_legal(block["id"].as_str().unwrap_or_default()) {
        return Err(format!("{at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    let name = block["name"].as_str().unwrap_or_default();
    if !is_legal(name) || name.len() > 200 {
        return Err(format!("{at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{{1,200}}$'"));
    }
    match block["input"].is_object() {
        true => Ok(()),
        false => Err(format!("{at}.tool_use.input: Input should be a valid dictionary")),
    }
}

fn tool_result(block: &Value, at: &str) -> Checked {
    if !is_legal(block["tool_use_id"].as_str().unwrap_or_default()) {
        return Err(format!("{at}.tool_result.tool_use_id: String should match pattern '^[a-zA-Z0-9_-]+$'"));
    }
    let inner = match &block["content"] {
        Value::Null | Value::String(_) => return Ok(()),
        Value::Array(inner) => inner,
        _ => return Err(format!("{at}.tool_result.content: Input should be a valid list")),
    };
    for (number, each) in inner.iter().enumerate() {
        let at = format!("{at}.tool_result.content.{number}");
        match each["type"].as_str().unwrap_or_default() {
            "text" => text(each)?,
            _ if block["is_error"] == true => {
                return Err(format!("{at}: all content must be type `text` if `is_error` is true"));
            }
            "image" => image(each, &at)?,
            "document" => document(each, &at)?,
            kind => {
                return Err(format!(
                    "{at}: Input tag '{kind}' found using 'type' does not match any of the expected tags"
                ));
            }
        }
    }
    Ok(())
}

/// Every call has its result at the start of the next message, and every result has its call.
fn calls(messages: &[Value]) -> Checked {
    let mut known = HashSet::new();
    for (at, message) in messages.iter().enumerate() {
        let before: Vec<&str> = match at {
            0 => Vec::new(),
            _ => ids(&messages[at - 1], "tool_use", "id").map(|(_, id)| id).collect(),
        };
        let mut answered = HashSet::new();
        for (number, id) in ids(message, "tool_result", "tool_use_id") {
            if !before.contains(&id) {
                return Err(format!(
                    "messages.{at}.content.{number}: unexpected `tool_use_id` found in `tool_result` blocks: {id}. Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
                ));
            }
            if !answered.insert(id) {
                return Err(format!(
                    "messages.{at}.content.{number}: each tool_use must have a single result. Found multiple `tool_result` blocks with id: {id}"
                ));
            }
            if number >= answered.len() {
                return Err(format!(
                    "messages.{at}: `tool_result` blocks must come before any other block of the message, but one was found at content.{number}"
                ));
            }
        }
        unanswered(&before, &answered, at)?;
        for (number, id) in ids(message, "tool_use", "id") {
            if !known.insert(id) {
                return Err(format!("messages.{at}.content.{number}: `tool_use` ids must be unique"));
            }
        }
    }
    let last: Vec<&str> = ids(&messages[messages.len() - 1], "tool_use", "id").map(|(_, id)| id).collect();
    unanswered(&last, &HashSet::new(), messages.len())
}

/// `at` is the message that should hold the results.
fn unanswered(calls: &[&str], answered: &HashSet<&str>, at: usize) -> Checked {
    let open: Vec<&str> = calls.iter().copied().filter(|id| !answered.contains(id)).collect();
    if open.is_empty() {
        return Ok(());
    }
    Err(format!(
        "messages.{}: `tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a corresponding `tool_result` block in the next message.",
        at - 1,
        open.join(", ")
    ))
}

fn ids<'a>(message: &'a Value, kind: &'a str, field: &'a str) -> impl Iterator<Item = (usize, &'a str)> {
    let blocks = message["content"].as_array().into_iter().flatten().enumerate();
    blocks
        .filter(move |(_, block)| block["type"] == kind)
        .filter_map(move |(at, block)| Some((at, block[field].as_str()?)))
}

/// With a thinking budget, the first step of the running turn begins with thinking; later steps need none.
fn thinking(request: &Value, messages: &[Value], max_tokens: u64) -> Checked {
    let thinking = &request["thinking"];
    let kind = thinking["type"].as_str().unwrap_or("disabled");
    if kind != "disabled" && request["temperature"].as_f64().is_some_and(|temperature| temperature != 1.0) {
        return Err("`temperature` may only be set to 1 when thinking is enabled.".into());
    }
    if kind != "enabled" {
        return Ok(());
    }
    let budget = thinking["budget_tokens"].as_u64().unwrap_or(0);
    if budget < 1024 {
        return Err("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024".into());
    }
    if max_tokens <= budget {
        return Err("`max_tokens` must be greater than `thinking.budget_tokens`.".into());
    }
    if matches!(request["tool_choice"]["type"].as_str(), Some("any" | "tool")) {
        return Err("Thinking may not be enabled when tool_choice forces tool use.".into());
    }
    let is_answer_to_tools = |message: &&Value| {
        message["role"] == "assistant"
            || message["content"]
                .as_array()
                .is_some_and(|blocks| blocks.iter().all(|block| block["type"] == "tool_result"))
    };
    let steps = messages.iter().rev().take_while(is_answer_to_tools).count();
    let at = messages.len() - steps;
    let Some(first) = messages.get(at) else { return Ok(()) };
    match first["content"][0]["type"].as_str().unwrap_or("text") {
        "thinking" | "redacted_thinking" => Ok(()),
        found => Err(format!(
            "messages.{at}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks)."
        )),
    }
}

fn limits(request: &Value) -> Checked {
    let pictures = count(request, &|value| value["type"] == "image" && value["source"].is_object());
    if pictures > MAX_PICTURES {
        return Err(format!("messages: too many images and documents: {pictures} > {MAX_PICTURES}"));
    }
    let breakpoints = count(request, &|value| value["cache_control"].is_object());
    if breakpoints > MAX_BREAKPOINTS {
        return Err(format!(
            "A maximum of {MAX_BREAKPOINTS} blocks with cache_control may be provided. Found {breakpoints}."
        ));
    }
    Ok(())
}

fn count(value: &Value, wanted: &dyn Fn(&Value) -> bool) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(|item| count(item, wanted)).sum(),
        Value::Object(fields) => fields.values().map(|field| count(field, wanted)).sum(),
        _ => 0,
    };
    inner + usize::from(wanted(value))
}

fn blocks(messages: &[Value]) -> impl Iterator<Item = &Value> {
    messages.iter().flat_map(|message| message["content"].as_array().into_iter().flatten())
}

fn blank(block: &Value) -> bool {
    block["text"].as_str().is_none_or(|text| text.trim().is_empty())
}

fn is_legal(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}
