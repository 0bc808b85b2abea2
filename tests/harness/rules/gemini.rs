//! Rules of Gemini's generateContent: the order of contents, the fields of parts, and the schemas of functions.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

type Checked = Result<(), String>;

const MOST_INLINE_BYTES: usize = 20 * 1024 * 1024;
const COUNTS_DIFFER: &str = "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
const RESPONSE_ASTRAY: &str =
    "Please ensure that function response turn comes immediately after a function call turn.";
const CALL_ASTRAY: &str = "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
const ENDS_WITH_MODEL: &str = "Requests ending with a model turn are not supported.";

/// The message of the error that this request gets, if any, with HTTP 400 and `INVALID_ARGUMENT`.
pub fn complaint(request: &Value) -> Option<String> {
    check(request).err()
}

/// The error of models since Gemini 3 for a call of the running turn without a signature.
pub fn unsigned_call(request: &Value) -> Option<String> {
    let contents = request["contents"].as_array()?;
    let begins_turn =
        |content: &Value| content["role"] == "user" && of_kind(content, "functionResponse").is_empty();
    let turn = contents.iter().rposition(begins_turn).unwrap_or_default();
    let unsigned = contents[turn..].iter().enumerate().find_map(|(at, content)| {
        let parts = content["parts"].as_array().into_iter().flatten();
        let first = parts.into_iter().find(|part| part.get("functionCall").is_some())?;
        let signed = first["thoughtSignature"].as_str().is_some_and(|text| !text.is_empty());
        (!signed).then(|| (at + turn, first["functionCall"]["name"].as_str().unwrap_or_default()))
    });
    let (at, name) = unsigned?;
    Some(format!(
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position {}.",
        at + 1
    ))
}

fn check(request: &Value) -> Checked {
    const TOP: &[&str] = &[
        "contents",
        "tools",
        "toolConfig",
        "safetySettings",
        "systemInstruction",
        "generationConfig",
        "cachedContent",
        "serviceTier",
        "store",
        "labels",
    ];
    known_fields(request, TOP, "")?;
    let contents = request["contents"].as_array().map_or(&[][..], Vec::as_slice);
    if contents.is_empty() {
        return Err("* GenerateContentRequest.contents: contents is not specified\n".into());
    }
    for (at, content) in contents.iter().enumerate() {
        check_content(content, at)?;
    }
    check_order(contents)?;
    if !request["systemInstruction"].is_null() {
        check_parts(&request["systemInstruction"], "system_instruction")?;
    }
    check_tools(&request["tools"])?;
    check_config(&request["generationConfig"])?;
    let inline: usize = contents.iter().map(inline_bytes).sum();
    if inline > MOST_INLINE_BYTES {
        return Err(format!("Request payload size exceeds the limit: {MOST_INLINE_BYTES} bytes."));
    }
    Ok(())
}

fn known_fields(value: &Value, known: &[&str], at: &str) -> Checked {
    let Some(fields) = value.as_object() else {
        return Err(format!(
            "Invalid value at '{at}' (type.googleapis.com/google.ai.generativelanguage): {value}"
        ));
    };
    match fields.keys().find(|name| !known.contains(&name.as_str())) {
        Some(name) if at.is_empty() => {
            Err(format!("Invalid JSON payload received. Unknown name \"{name}\": Cannot find field."))
        }
        Some(name) => Err(format!(
            "Invalid JSON payload received. Unknown name \"{name}\" at '{at}': Cannot find field."
        )),
        None => Ok(()),
    }
}

fn check_content(content: &Value, at: usize) -> Checked {
    if !["user", "model"].iter().any(|role| content["role"] == *role) {
        return Err("Please use a valid role: user, model.".into());
    }
    let place = format!("contents[{at}]");
    known_fields(content, &["role", "parts"], &place)?;
    check_parts(content, &place)?;
    let misplaced = if content["role"] == "user" { "functionCall" } else { "functionResponse" };
    if !of_kind(content, misplaced).is_empty() {
        return Err(if misplaced == "functionCall" { CALL_ASTRAY } else { RESPONSE_ASTRAY }.into());
    }
    let responses = of_kind(content, "functionResponse").len();
    if responses > 0 && content["parts"].as_array().is_some_and(|parts| parts.len() > responses) {
        // The real message does not contain the reason, so it is added.
        return Err(format!("{ENDS_WITH_MODEL} ({place} mixes function responses with other parts)"));
    }
    Ok(())
}

fn check_parts(content: &Value, at: &str) -> Checked {
    let parts = content["parts"].as_array().map_or(&[][..], Vec::as_slice);
    if parts.is_empty() {
        return Err(format!("* GenerateContentRequest.{at}.parts: contents.parts must not be empty.\n"));
    }
    parts.iter().enumerate().try_for_each(|(index, part)| check_part(part, &format!("{at}.parts[{index}]")))
}

fn check_part(part: &Value, at: &str) -> Checked {
    const DATA: &[&str] = &["text", "inlineData", "functionCall", "functionResponse"];
    known_fields(part, &[DATA, &["thoughtSignature", "thought"]].concat(), at)?;
    let data: Vec<&str> = DATA.iter().filter(|name| part.get(**name).is_some()).copied().collect();
    let [kind] = data[..] else {
        let why = "required oneof field 'data' must have one initialized field";
        return Err(format!("* GenerateContentRequest.{at}.data: {why}\n"));
    };
    let signature = part.get("thoughtSignature");
    if signature.is_some_and(|signature| signature.as_str().is_none_or(str::is_empty)) {
        return Err(format!("Invalid value at '{at}.thought_signature' (TYPE_BYTES)"));
    }
    let value = &part[kind];
    match kind {
        "text" => match value.as_str() {
            None => Err(format!("Invalid value at '{at}.text' (TYPE_STRING), {value}")),
            // A signature may be in a part with empty text.
            Some("") if signature.is_none() => {
                Err("Unable to submit request because it must have a text parameter.".into())
            }
            Some(_) => Ok(()),
        },
        "inlineData" => check_inline(value, at),
        "functionCall" => {
            known_fields(value, &["id", "name", "args"], &format!("{at}.function_call"))?;
            check_name(&value["name"], &format!("{at}.function_call.name"))?;
            check_struct(&value["args"], Wanted::IfGiven, &format!("{at}.function_call.args"))
        }
        _ => {
            known_fields(value, &["id", "name", "response"], &format!("{at}.function_response"))?;
            check_name(&value["name"], &format!("{at}.function_response.name"))?;
            check_struct(&value["response"], Wanted::Always, &format!("{at}.function_response.response"))
        }
    }
}

fn check_inline(value: &Value, at: &str) -> Checked {
    known_fields(value, &["mimeType", "data"], &format!("{at}.inline_data"))?;
    let mime = value["mimeType"].as_str().unwrap_or_default();
    let known = ["image/", "audio/", "video/", "text/", "application/pdf"];
    if mime.contains("/x-") || !known.iter().any(|known| mime.starts_with(known)) {
        return Err(format!("Unsupported MIME type: {mime}"));
    }
    let data = value["data"].as_str().unwrap_or_default();
    if data.is_empty() || BASE64_STANDARD.decode(data).is_err() {
        return Err(format!("Invalid value at '{at}.inline_data.data' (TYPE_BYTES), Base64 decoding failed"));
    }
    Ok(())
}

fn check_name(name: &Value, at: &str) -> Checked {
    let name = name.as_str().unwrap_or_default();
    if name.is_empty() {
        return Err(format!("* GenerateContentRequest.{at}: Name cannot be empty.\n"));
    }
    let begins = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_.-".contains(c));
    if !begins || !plain || name.len() > 64 {
        let why = "Invalid function name. Must start with a letter or an underscore. Must be alphanumeric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-), with a maximum length of 64.";
        return Err(format!("* GenerateContentRequest.{at}: {why}\n"));
    }
    Ok(())
}

enum Wanted {
    Always,
    IfGiven,
}

fn check_struct(value: &Value, wanted: Wanted, at: &str) -> Checked {
    match (value, wanted) {
        (Value::Object(_), _) | (Value::Null, Wanted::IfGiven) => Ok(()),
        _ => Err(format!("Invalid value at '{at}' (type.googleapis.com/google.protobuf.Struct), {value}")),
    }
}

fn check_order(contents: &[Value]) -> Checked {
    if contents[0]["role"] != "user" {
        return Err("Please ensure that multiturn requests begin with a user turn.".into());
    }
    for (at, content) in contents.iter().enumerate() {
        let calls = of_kind(content, "functionCall");
        let responses = of_kind(content, "functionResponse");
        let before = at.checked_sub(1).map(|before| &contents[before]);
        if !calls.is_empty() {
            if before.is_none_or(|before| before["role"] != "user") {
                return Err(CALL_ASTRAY.into());
            }
            let next = contents.get(at + 1).map(|next| of_kind(next, "functionResponse")).unwrap_or_default();
            check_answers(&calls, &next)?;
        }
        if !responses.is_empty() && before.is_none_or(|before| of_kind(before, "functionCall").is_empty()) {
            return Err(RESPONSE_ASTRAY.into());
        }
    }
    match contents.last() {
        Some(last) if last["role"] == "model" => Err(ENDS_WITH_MODEL.into()),
        _ => Ok(()),
    }
}

fn check_answers(calls: &[&Value], responses: &[&Value]) -> Checked {
    if calls.len() != responses.len() {
        return Err(COUNTS_DIFFER.into());
    }
    for (call, response) in calls.iter().zip(responses) {
        if call["name"] != response["name"] || call["id"] != response["id"] {
            let (call, response) = (&call["name"], &response["name"]);
            return Err(format!(
                "Please ensure that function responses match their function calls by name and id: {response} answers {call}."
            ));
        }
    }
    Ok(())
}

fn of_kind<'a>(content: &'a Value, kind: &str) -> Vec<&'a Value> {
    content["parts"].as_array().into_iter().flatten().filter_map(|part| part.get(kind)).collect()
}

fn inline_bytes(content: &Value) -> usize {
    of_kind(content, "inlineData").iter().map(|inline| inline["data"].as_str().map_or(0, str::len)).sum()
}

fn check_tools(tools: &Value) -> Checked {
    let mut names = Vec::new();
    for (at, tool) in tools.as_array().into_iter().flatten().enumerate() {
        let known = [
            "functionDeclarations",
            "googleSearch",
            "codeExecution",
            "urlContext",
            "googleMaps",
            "computerUse",
        ];
        known_fields(tool, &known, &format!("tools[{at}]"))?;
        let declared = tool["functionDeclarations"].as_array();
        if declared.is_some_and(Vec::is_empty) || tool.as_object().is_none_or(Map::is_empty) {
            return Err(format!(
                "* GenerateContentRequest.tools[{at}].tool_type: required one_of 'tool_type' must have one initialized field\n"
            ));
        }
        for (index, function) in declared.into_iter().flatten().enumerate() {
            let place = format!("tools[{at}].function_declarations[{index}]");
            known_fields(function, &["name", "description", "parameters"], &place)?;
            check_name(&function["name"], &format!("{place}.name"))?;
            if names.contains(&&function["name"]) {
                return Err(format!("Duplicate function declaration found: {}", function["name"]));
            }
            names.push(&function["name"]);
            if let Some(parameters) = function.get("parameters") {
                check_parameters(parameters, &format!("{place}.parameters"))?;
            }
        }
    }
    match tools {
        Value::Null | Value::Array(_) => Ok(()),
        other => Err(format!(
            "Invalid value at 'tools' (type.googleapis.com/google.ai.generativelanguage.v1beta.Tool), {other}"
        )),
    }
}

fn check_parameters(parameters: &Value, at: &str) -> Checked {
    if !parameters["type"].as_str().is_some_and(|kind| kind.eq_ignore_ascii_case("object")) {
        return Err(format!(
            "* GenerateContentRequest.{at}: functionDeclaration parameters schema should be of type OBJECT.\n"
        ));
    }
    if parameters["properties"].as_object().is_none_or(Map::is_empty) {
        return Err(format!(
            "* GenerateContentRequest.{at}.properties: should be non-empty for OBJECT type\n"
        ));
    }
    check_schema(parameters, at)
}

fn check_schema(schema: &Value, at: &str) -> Checked {
    const KEYWORDS: &[&str] = &[
        "type",
        "format",
        "title",
        "description",
        "nullable",
        "enum",
        "items",
        "properties",
        "required",
        "minItems",
        "maxItems",
        "minLength",
        "maxLength",
        "minProperties",
        "maxProperties",
        "minimum",
        "maximum",
        "pattern",
        "anyOf",
        "propertyOrdering",
    ];
    known_fields(schema, KEYWORDS, at)?;
    let wrong = |field: &str, why: &str| Err(format!("* GenerateContentRequest.{at}.{field}: {why}\n"));
    if let Some(choices) = schema.get("anyOf") {
        if schema.as_object().is_some_and(|fields| fields.len() > 1) {
            return wrong(
                "any_of",
                "schema specified other fields alongside any_of. When using any_of, it must be the only field set",
            );
        }
        let choices = choices.as_array().map_or(&[][..], Vec::as_slice);
        let each = |(index, choice)| check_schema(choice, &format!("{at}.any_of[{index}]"));
        return choices.iter().enumerate().try_for_each(each);
    }
    let kind = schema["type"].as_str().unwrap_or_default();
    let (lower, upper) = (kind.to_lowercase(), kind.to_uppercase());
    let known = ["string", "number", "integer", "boolean", "array", "object"];
    if !known.contains(&lower.as_str()) || (kind != lower && kind != upper) {
        return Err(format!(
            "Invalid value at '{at}.type' (type.googleapis.com/google.ai.generativelanguage.v1beta.Type), {}",
            schema["type"]
        ));
    }
    if let Some(values) = schema.get("enum") {
        let values = values.as_array().map_or(&[][..], Vec::as_slice);
        if lower != "string" {
            return wrong("enum", "only allowed for STRING type");
        }
        if values.is_empty() || values.iter().any(|value| value.as_str().is_none_or(str::is_empty)) {
            return wrong("enum[0]", "cannot be empty");
        }
    }
    let format = schema["format"].as_str();
    if let (Some(format), "string") = (format, lower.as_str())
        && !["enum", "date-time"].contains(&format)
    {
        return wrong("format", "only 'enum' and 'date-time' are supported for STRING type");
    }
    match lower.as_str() {
        "array" if schema["items"].is_null() => wrong("items", "missing field."),
        "array" => check_schema(&schema["items"], &format!("{at}.items")),
        "object" => check_properties(schema, at),
        _ => Ok(()),
    }
}

fn check_properties(schema: &Value, at: &str) -> Checked {
    let none = Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&none);
    for (index, name) in schema["required"].as_array().into_iter().flatten().enumerate() {
        if !name.as_str().is_some_and(|name| properties.contains_key(name)) {
            return Err(format!(
                "* GenerateContentRequest.{at}.required[{index}]: property is not defined\n"
            ));
        }
    }
    properties
        .iter()
        .try_for_each(|(name, property)| check_schema(property, &format!("{at}.properties[{name}]")))
}

fn check_config(config: &Value) -> Checked {
    if config.is_null() {
        return Ok(());
    }
    const KNOWN: &[&str] = &[
        "temperature",
        "topP",
        "topK",
        "maxOutputTokens",
        "stopSequences",
        "candidateCount",
        "seed",
        "presencePenalty",
        "frequencyPenalty",
        "responseMimeType",
        "responseSchema",
        "responseJsonSchema",
        "responseModalities",
        "responseLogprobs",
        "logprobs",
        "thinkingConfig",
        "imageConfig",
        "mediaResolution",
        "speechConfig",
    ];
    known_fields(config, KNOWN, "generation_config")?;
    match config["temperature"].as_f64() {
        Some(temperature) if !(0.0..=2.0).contains(&temperature) => Err(format!(
            "* GenerateContentRequest.generation_config.temperature: temperature must be in the range [0.0, 2.0], got {temperature}\n"
        )),
        _ => Ok(()),
    }
}
