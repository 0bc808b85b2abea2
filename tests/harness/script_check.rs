//! The rules of OpenAI's chat completions that a bot can break: which messages may follow which, and what they hold.

use serde_json::{Value, json};

/// The complaint as OpenAI words it, without its type.
pub fn request(request: &Value) -> Result<(), Value> {
    if request["model"].as_str().unwrap_or_default().is_empty() {
        return Err(complaint("you must provide a model parameter", "model"));
    }
    let Some(messages) = request["messages"].as_array() else {
        return Err(complaint("Missing required parameter: 'messages'.", "messages"));
    };
    if messages.is_empty() {
        let why = "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.";
        return Err(complaint(why, "messages"));
    }
    let mut unanswered: Vec<&str> = Vec::new();
    for (index, message) in messages.iter().enumerate() {
        let at = |field: &str| format!("messages.[{index}].{field}");
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(position) = unanswered.iter().position(|waiting| *waiting == id) else {
                let why = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";
                return Err(complaint(why, at("role")));
            };
            unanswered.remove(position);
        } else if !unanswered.is_empty() {
            return Err(left_unanswered(&unanswered, at("role")));
        }
        let calls = message["tool_calls"].as_array();
        match role {
            "system" | "developer" | "user" | "tool" => content(&message["content"], role, &at("content"))?,
            "assistant" if message["content"].is_null() && calls.is_some() => {}
            "assistant" => content(&message["content"], role, &at("content"))?,
            other => {
                let why = format!(
                    "Invalid value: '{other}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'."
                );
                return Err(complaint(why, at("role")));
            }
        }
        if calls.is_some_and(Vec::is_empty) {
            let why = "empty array. Expected an array with minimum length 1, but got an empty array instead.";
            return Err(complaint(format!("Invalid '{}': {why}", at("tool_calls")), at("tool_calls")));
        }
        for call in calls.into_iter().flatten() {
            let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
            if id.is_empty() || call["type"] != "function" || !function["arguments"].is_string() {
                return Err(complaint(
                    "Invalid tool call: id, type and function are required.",
                    at("tool_calls"),
                ));
            }
            name(&function["name"], &at("tool_calls"))?;
            unanswered.push(id);
        }
    }
    if !unanswered.is_empty() {
        return Err(left_unanswered(&unanswered, "messages".into()));
    }
    tools(&request["tools"])
}

fn complaint(message: impl Into<String>, param: impl Into<String>) -> Value {
    json!({ "message": message.into(), "param": param.into(), "code": null })
}

fn left_unanswered(ids: &[&str], param: String) -> Value {
    let why = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ";
    complaint(format!("{why}{}", ids.join(", ")), param)
}

/// Text, or parts of text and, from users only, images.
fn content(content: &Value, role: &str, at: &str) -> Result<(), Value> {
    let parts = match content {
        Value::String(_) => return Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts,
        other => {
            let got = if other.is_array() { "an empty array" } else { "null or an object" };
            let why = format!("Invalid value for 'content': expected a string, got {got}.");
            return Err(complaint(why, at));
        }
    };
    for part in parts {
        let good = match part["type"].as_str().unwrap_or_default() {
            "text" => part["text"].is_string(),
            "image_url" if role == "user" => {
                let url = part["image_url"]["url"].as_str().unwrap_or_default();
                url.starts_with("http") || (url.starts_with("data:image/") && url.contains(";base64,"))
            }
            _ => false,
        };
        if !good {
            let kind = &part["type"];
            let why =
                format!("Invalid value: {kind} content is not usable here, in a message with role '{role}'.");
            return Err(complaint(why, at));
        }
    }
    Ok(())
}

fn tools(tools: &Value) -> Result<(), Value> {
    if tools.is_null() {
        return Ok(());
    }
    let Some(tools) = tools.as_array().filter(|tools| !tools.is_empty()) else {
        let why = "Invalid 'tools': empty array. Expected an array with minimum length 1, but got an empty array instead.";
        return Err(complaint(why, "tools"));
    };
    for (index, tool) in tools.iter().enumerate() {
        let at = format!("tools[{index}].function");
        name(&tool["function"]["name"], &at)?;
        let parameters = &tool["function"]["parameters"];
        let schema =
            parameters.is_null() || (parameters["type"] == "object" && !parameters["properties"].is_null());
        if tool["type"] != "function" || !schema {
            let why = "Invalid schema for function: schema must be a JSON Schema of 'type: \"object\"' with properties.";
            return Err(complaint(why, at));
        }
    }
    Ok(())
}

fn name(name: &Value, at: &str) -> Result<(), Value> {
    let name = name.as_str().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        let why = format!("Invalid '{at}.name': string does not match pattern '^[a-zA-Z0-9_-]+$'.");
        return Err(complaint(why, at));
    }
    Ok(())
}
