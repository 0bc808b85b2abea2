//! Rules of OpenAI's chat completions: the order of messages and their fields. Some are enforced only by compatible
//! servers, which the program must support too.

use regex::Regex;
use serde_json::Value;
use std::{collections::HashSet, sync::LazyLock};

const MOST_ID_CHARS: usize = 40;
const PICTURES: [&str; 4] = ["image/jpeg", "image/png", "image/webp", "image/gif"];

/// OpenAI's error message for this request; none if it accepts it.
pub fn complaint(request: &Value) -> Option<String> {
    self::request(request).err()
}

fn request(request: &Value) -> Result<(), String> {
    if request["model"].as_str().unwrap_or_default().is_empty() {
        return Err("you must provide a model parameter".into());
    }
    if !request["stream_options"].is_null() && request["stream"] != true {
        return Err("The 'stream_options' parameter is only allowed when 'stream' is enabled.".into());
    }
    let Some(messages) = request["messages"].as_array() else {
        return Err("Missing required parameter: 'messages'.".into());
    };
    if messages.is_empty() {
        return Err(empty("messages"));
    }
    order(messages)?;
    for (index, message) in messages.iter().enumerate() {
        self::message(message, &format!("messages[{index}]"))?;
    }
    if !request["temperature"].is_null() && !request["temperature"].is_number() {
        return Err("Invalid type for 'temperature': expected a decimal.".into());
    }
    tools(&request["tools"])
}

/// Every call has one result directly after its message. One user message with the pictures of the results may follow.
fn order(messages: &[Value]) -> Result<(), String> {
    let mut unanswered: Vec<&str> = Vec::new();
    let mut before: Option<&Value> = None;
    for (index, message) in messages.iter().enumerate() {
        if message["role"] == "tool" {
            let id = message["tool_call_id"].as_str().unwrap_or_default();
            let Some(position) = unanswered.iter().position(|waiting| *waiting == id) else {
                return Err(format!(
                    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (messages[{index}])"
                ));
            };
            unanswered.remove(position);
        } else if !unanswered.is_empty() {
            return Err(left_unanswered(&unanswered));
        }
        if only_pictures(message) && before.is_some_and(only_pictures) {
            return Err(format!("The pictures of tool results belong in one message. (messages[{index}])"));
        }
        before = Some(message);
        let calls = message["tool_calls"].as_array().into_iter().flatten();
        unanswered.extend(calls.map(|call| call["id"].as_str().unwrap_or_default()));
    }
    match unanswered.is_empty() {
        true => Ok(()),
        false => Err(left_unanswered(&unanswered)),
    }
}

/// The pictures of results: each after its marker, without any other text.
fn only_pictures(message: &Value) -> bool {
    static CAPTION: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\[Attachment ID: [0-9a-f-]{36}\][^\n]*$").expect("a valid pattern"));
    let parts = message["content"].as_array().map(Vec::as_slice).unwrap_or_default();
    let pair = |pair: &[Value]| {
        CAPTION.is_match(pair[0]["text"].as_str().unwrap_or_default()) && pair[1]["type"] != "text"
    };
    message["role"] == "user"
        && !parts.is_empty()
        && parts.len().is_multiple_of(2)
        && parts.chunks(2).all(pair)
}

fn message(message: &Value, at: &str) -> Result<(), String> {
    let role = message["role"].as_str().unwrap_or_default();
    let calls = message["tool_calls"].as_array();
    match role {
        "system" | "developer" | "user" | "tool" => content(&message["content"], role, at)?,
        "assistant" if message["content"].is_null() && calls.is_some() => {}
        "assistant" => content(&message["content"], role, at)?,
        other => {
            return Err(format!(
                "Invalid value: '{other}'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'. ({at})"
            ));
        }
    }
    if calls.is_some_and(Vec::is_empty) {
        return Err(empty(&format!("{at}.tool_calls")));
    }
    if calls.is_some() && role != "assistant" {
        return Err(format!("Unknown parameter: '{at}.tool_calls'."));
    }
    let mut ids = HashSet::new();
    for call in calls.into_iter().flatten() {
        self::call(call, &format!("{at}.tool_calls"))?;
        if !ids.insert(call["id"].as_str()) {
            return Err(format!(
                "Invalid parameter: Duplicate value for 'tool_call_id' of {}. ({at})",
                call["id"]
            ));
        }
    }
    Ok(())
}

fn call(call: &Value, at: &str) -> Result<(), String> {
    let (id, function) = (call["id"].as_str().unwrap_or_default(), &call["function"]);
    if id.is_empty() || call["type"] != "function" || !function["arguments"].is_string() {
        return Err(format!("Invalid tool call: id, type and function are required. ({at})"));
    }
    if id.chars().count() > MOST_ID_CHARS {
        return Err(format!(
            "Invalid '{at}.id': string too long. Expected a string with maximum length {MOST_ID_CHARS}."
        ));
    }
    let arguments = function["arguments"].as_str().unwrap_or_default();
    if !serde_json::from_str::<Value>(arguments).is_ok_and(|arguments| arguments.is_object()) {
        // Ollama, vLLM and similar servers read them back; OpenAI does not.
        return Err(format!("Invalid '{at}.function.arguments': they must be a JSON object."));
    }
    name(&function["name"], &format!("{at}.function.name"))
}

fn empty(at: &str) -> String {
    format!(
        "Invalid '{at}': empty array. Expected an array with minimum length 1, but got an empty array instead."
    )
}

fn left_unanswered(ids: &[&str]) -> String {
    let why = "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ";
    format!("{why}{}", ids.join(", "))
}

/// Text, or parts of text and, from users only, pictures, sound and files.
fn content(content: &Value, role: &str, at: &str) -> Result<(), String> {
    let parts = match content {
        Value::String(_) => return Ok(()),
        Value::Array(parts) if !parts.is_empty() => parts,
        other => {
            let got = if other.is_array() { "an empty array" } else { "null or an object" };
            return Err(format!("Invalid value for 'content': expected a string, got {got}. ({at})"));
        }
    };
    for part in parts {
        let good = match part["type"].as_str().unwrap_or_default() {
            "text" => part["text"].is_string(),
            "image_url" if role == "user" => picture(part["image_url"]["url"].as_str().unwrap_or_default()),
            "input_audio" if role == "user" => {
                let sound = &part["input_audio"];
                sound["data"].is_string() && (sound["format"] == "wav" || sound["format"] == "mp3")
            }
            "file" if role == "user" => {
                let data = part["file"]["file_data"].as_str().unwrap_or_default();
                data.starts_with("data:application/pdf;base64,") && part["file"]["filename"].is_string()
            }
            _ => false,
        };
        if !good {
            let kind = &part["type"];
            return Err(format!(
                "Invalid value: {kind} content is not usable here, in a message with role '{role}'. ({at})"
            ));
        }
    }
    Ok(())
}

fn picture(url: &str) -> bool {
    let is_ours = |mime: &&str| url.starts_with(&format!("data:{mime};base64,"));
    url.starts_with("http") || PICTURES.iter().any(is_ours)
}

fn tools(tools: &Value) -> Result<(), String> {
    if tools.is_null() {
        return Ok(());
    }
    let Some(tools) = tools.as_array().filter(|tools| !tools.is_empty()) else {
        return Err(empty("tools"));
    };
    for (index, tool) in tools.iter().enumerate() {
        let at = format!("tools[{index}].function");
        name(&tool["function"]["name"], &at)?;
        let parameters = &tool["function"]["parameters"];
        let schema =
            parameters.is_null() || (parameters["type"] == "object" && !parameters["properties"].is_null());
        if tool["type"] != "function" || !schema {
            return Err(format!(
                "Invalid schema for function: schema must be a JSON Schema of 'type: \"object\"' with properties. ({at})"
            ));
        }
    }
    Ok(())
}

fn name(name: &Value, at: &str) -> Result<(), String> {
    let name = name.as_str().unwrap_or_default();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if name.is_empty() || name.len() > 64 || !name.chars().all(plain) {
        return Err(format!("Invalid '{at}': string does not match pattern '^[a-zA-Z0-9_-]+$'."));
    }
    Ok(())
}
