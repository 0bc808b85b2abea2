//! Gemini's generateContent API: prompt → request, response → completion. The model and the choice of streaming are in
//! the path. `schema` reduces tool schemas, `stream` assembles streamed responses, `images` is image output.

pub mod images;
mod schema;
mod stream;

pub use stream::GeminiStream;

use super::{
    ApiError, StreamAssembler as _,
    files::{LoadedFiles, caption},
    invalid,
    tool_calls::{
        AnsweredCall, ConversationStep, arguments_object, generate_call_id, pair_tool_calls, valid_name,
    },
};
use crate::domain::ToolCall;
use crate::providers::{
    Completion, LoadedFile, ModelSettings, Prompt, ProviderErrorKind, ShownFile, ToolSpec, Usage,
};
use serde_json::{Value, json};
use std::time::Duration;

/// First message when the beginning was cut off: a conversation must begin with the user.
const EARLIER: &str = "(What was said before is left out.)";
/// Last message after an answer: since Gemini 3.6 a model does not continue its own message.
const GO_ON: &str = "(Go on.)";
/// Google's placeholder signature for calls that no Gemini model signed, such as another vendor's.
const UNSIGNED: &str = "skip_thought_signature_validator";
/// Prefix of the result of a failed tool.
const ERROR_PREFIX: &str = "Error: ";

/// The body of `POST …:generateContent` and `…:streamGenerateContent`.
pub fn request(settings: &ModelSettings, prompt: &Prompt, files: &LoadedFiles) -> Value {
    let mut body = json!({"contents": contents(&settings.model, prompt, files)});
    if !prompt.system.trim().is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": prompt.system}]});
    }
    if !prompt.tools.is_empty() {
        let declared: Vec<Value> = prompt.tools.iter().map(declaration).collect();
        body["tools"] = json!([{"functionDeclarations": declared}]);
    }
    if let Some(temperature) = settings.temperature {
        body["generationConfig"] = json!({"temperature": temperature});
    }
    body
}

fn declaration(spec: &ToolSpec) -> Value {
    let mut declaration = json!({"name": spec.name, "description": spec.description});
    if let Some(parameters) = schema::parameters(&spec.parameters) {
        declaration["parameters"] = parameters;
    }
    declaration
}

fn contents(model: &str, prompt: &Prompt, files: &LoadedFiles) -> Vec<Value> {
    let mut contents = Vec::new();
    let mut turn_start = 0;
    for step in pair_tool_calls(&prompt.messages) {
        match step {
            ConversationStep::User { text, shown } => {
                let mut parts = text_part(text);
                parts.extend(picture_parts(shown, files));
                if !parts.is_empty() {
                    turn_start = contents.len();
                    push(&mut contents, "user", parts);
                }
            }
            ConversationStep::Assistant { text, answered, metadata } => {
                let kept = metadata.filter(|kept| kept["provider"] == "gemini" && kept["model"] == model);
                let parts = kept.and_then(|kept| replay_parts(text, &answered, kept));
                let parts = parts.unwrap_or_else(|| plain_parts(model, text, &answered));
                let results = results(&parts, &answered);
                push(&mut contents, "model", parts);
                push(&mut contents, "user", results);
                // In a content of their own: Vertex and models since 3.6 reject a content that mixes function responses
                // with other parts, and only Gemini 3 accepts pictures inside a function response.
                push(
                    &mut contents,
                    "user",
                    answered.iter().flat_map(|a| picture_parts(a.shown, files)).collect(),
                );
            }
        }
    }
    if wants_signatures(model) {
        contents[turn_start..].iter_mut().for_each(sign);
    }
    if contents.first().is_none_or(|first| first["role"] != "user") {
        contents.insert(0, json!({"role": "user", "parts": text_part(EARLIER)}));
    }
    if contents.last().is_some_and(|last| last["role"] != "user") {
        push(&mut contents, "user", text_part(GO_ON));
    }
    contents
}

/// Appends to the last content of the same role, except to function responses: they must be alone.
fn push(contents: &mut Vec<Value>, role: &str, parts: Vec<Value>) {
    if parts.is_empty() {
        return;
    }
    let responds = |part: &Value| part.get("functionResponse").is_some();
    if let Some(last) = contents.last_mut().filter(|last| last["role"] == role)
        && let Some(before) = last["parts"].as_array_mut()
        && !before.iter().chain(&parts).any(responds)
    {
        before.extend(parts);
        return;
    }
    contents.push(json!({"role": role, "parts": parts}));
}

/// No part for a blank text: the API rejects it.
fn text_part(text: &str) -> Vec<Value> {
    if text.trim().is_empty() { Vec::new() } else { vec![json!({"text": text})] }
}

fn picture_parts(shown: &[ShownFile], files: &LoadedFiles) -> Vec<Value> {
    let parts = |(shown, loaded)| [json!({"text": caption(shown)}), inline(loaded)];
    files.of(shown).flat_map(parts).collect()
}

fn inline(loaded: &LoadedFile) -> Value {
    // The API knows "audio/wav" but not "audio/x-wav".
    let mime = loaded.mime.replacen("/x-", "/", 1);
    json!({"inlineData": {"mimeType": mime, "data": loaded.base64()}})
}

/// The original parts of an answer with their signatures. None if they do not match the stored calls: the calls of a
/// last answer, for example, are dropped.
fn replay_parts(text: &str, answered: &[AnsweredCall], metadata: &Value) -> Option<Vec<Value>> {
    // Metadata of a row is not trusted: only parts that could have been kept are sent.
    let kept: Vec<Value> = signed_parts(metadata["parts"].as_array()?)?.into_iter().cloned().collect();
    let calls: Vec<&Value> = kept.iter().filter_map(|part| part.get("functionCall")).collect();
    let same = |(call, answered): (&&Value, &AnsweredCall)| {
        call["name"] == answered.call.name.as_str()
            && call["name"] == function_name(answered.call).as_str()
            && matches!(call["args"], Value::Null | Value::Object(_))
    };
    if calls.len() != answered.len() || !calls.iter().zip(answered).all(same) {
        return None;
    }
    let said: String = kept.iter().filter_map(answer_text).collect();
    // The stored text may be longer than the model's, for example by a line about the sent pictures.
    let (before, after, kept) = match text.split_once(said.trim()) {
        Some((before, after)) => (before, after, kept.clone()),
        None => (text, "", kept.iter().filter(|part| answer_text(part).is_none()).cloned().collect()),
    };
    let mut parts = text_part(before);
    if !answered.is_empty() {
        parts.extend(text_part(after));
        parts.extend(kept);
    } else {
        parts.extend(kept);
        parts.extend(text_part(after));
    }
    Some(parts)
}

fn plain_parts(model: &str, text: &str, answered: &[AnsweredCall]) -> Vec<Value> {
    let mut parts = text_part(text);
    parts.extend(answered.iter().map(|answered| {
        let mut call = json!({"name": function_name(answered.call), "args": arguments_object(answered.call)});
        if wants_signatures(model) {
            call["id"] = valid_name(&answered.call.id).into();
        }
        json!({"functionCall": call})
    }));
    parts
}

/// One response for each call in `parts`, with the same names and ids and in the same order.
fn results(parts: &[Value], answered: &[AnsweredCall]) -> Vec<Value> {
    let calls = parts.iter().filter_map(|part| part.get("functionCall"));
    let response = |(call, answered): (&Value, &AnsweredCall)| {
        let response = match answered.result.strip_prefix(ERROR_PREFIX) {
            Some(error) => json!({"error": error}),
            None => json!({"result": answered.result}),
        };
        let mut response = json!({"name": call["name"], "response": response});
        if let Some(id) = call.get("id") {
            response["id"] = id.clone();
        }
        json!({"functionResponse": response})
    };
    calls.zip(answered).map(response).collect()
}

/// Function names must not begin with a digit or a dash.
fn function_name(call: &ToolCall) -> String {
    let name = valid_name(&call.name);
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return name;
    }
    format!("_{name}").chars().take(64).collect()
}

/// Since Gemini 3, calls have ids, and a call of the running turn is rejected without a signature.
fn wants_signatures(model: &str) -> bool {
    model.contains("gemini") && !["gemini-1", "gemini-2"].iter().any(|old| model.contains(old))
}

/// Signs the first call of a step: the API checks only that one.
fn sign(content: &mut Value) {
    let parts = content["parts"].as_array_mut().into_iter().flatten();
    let first = parts.filter_map(Value::as_object_mut).find(|part| part.contains_key("functionCall"));
    if let Some(call) = first {
        call.entry("thoughtSignature").or_insert_with(|| UNSIGNED.into());
    }
}

/// The text of a part of the answer; none for thoughts.
fn answer_text(part: &Value) -> Option<&str> {
    part["text"].as_str().filter(|_| part["thought"] != true)
}

/// Reads a successful response. `model` is the requested one.
pub fn completion(model: &str, response: &Value) -> Result<Completion, ProviderErrorKind> {
    if let Some(chunks) = response.as_array() {
        return completion(model, &join_chunks(chunks)?);
    }
    let candidate = &response["candidates"][0];
    if !candidate.is_object() {
        let blocked = response["promptFeedback"]["blockReason"].is_string();
        return Err(if blocked { ProviderErrorKind::Refused } else { invalid("it holds no candidates") });
    }
    let parts = match &candidate["content"]["parts"] {
        Value::Array(parts) => parts.as_slice(),
        Value::Null => &[],
        _ => return Err(invalid("its parts are not a list")),
    };
    let text: String = parts.iter().filter_map(answer_text).collect();
    let tool_calls = tool_calls(parts, &response["responseId"])?;
    check_finish(candidate["finishReason"].as_str(), !text.is_empty() || !tool_calls.is_empty())?;
    let provider_metadata =
        signed_parts(parts).map(|parts| json!({"provider": "gemini", "model": model, "parts": parts}));
    Ok(Completion { text, tool_calls, usage: usage(model, response), provider_metadata })
}

/// Whether the response ended well. An answer with content may be cut off.
fn check_finish(reason: Option<&str>, has_content: bool) -> Result<(), ProviderErrorKind> {
    match reason {
        Some(lost @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL")) => Err(invalid(lost)),
        _ if has_content => Ok(()),
        Some("STOP") => Ok(()),
        Some("MAX_TOKENS") => Err(ProviderErrorKind::TooLong),
        Some(
            "SAFETY"
            | "PROHIBITED_CONTENT"
            | "BLOCKLIST"
            | "SPII"
            | "RECITATION"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => Err(ProviderErrorKind::Refused),
        Some(other) => Err(invalid(other)),
        None => Err(invalid("it neither says anything nor why not")),
    }
}

fn tool_calls(parts: &[Value], response_id: &Value) -> Result<Vec<ToolCall>, ProviderErrorKind> {
    let mut read: Vec<ToolCall> = Vec::new();
    for call in parts.iter().filter_map(|part| part.get("functionCall")) {
        let name = call["name"].as_str().ok_or_else(|| invalid("a function call has no name"))?.to_owned();
        let arguments = match &call["args"] {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let id = match call["id"].as_str() {
            Some(id) if !id.is_empty() && read.iter().all(|other| other.id != id) => id.to_owned(),
            _ => generate_call_id(response_id, read.len(), &name, &arguments),
        };
        read.push(ToolCall { id, name, arguments });
    }
    Ok(read)
}

/// The parts to send back unchanged, if any is signed. Summaries of thoughts are kept only with a signature.
fn signed_parts(parts: &[Value]) -> Option<Vec<&Value>> {
    let signed = |part: &Value| part["thoughtSignature"].is_string();
    let keep = |part: &&Value| {
        let says =
            answer_text(part).is_some_and(|text| !text.is_empty()) || part.get("functionCall").is_some();
        says || (signed(part) && part["text"].is_string())
    };
    let kept: Vec<&Value> = parts.iter().filter(keep).collect();
    kept.iter().any(|part| signed(part)).then_some(kept)
}

pub fn usage(model: &str, response: &Value) -> Usage {
    let counts = &response["usageMetadata"];
    let output = ["candidatesTokenCount", "thoughtsTokenCount"].map(|name| counts[name].as_u64());
    Usage {
        provider: "gemini",
        model: response["modelVersion"].as_str().unwrap_or(model).to_owned(),
        input_tokens: counts["promptTokenCount"].as_u64(),
        output_tokens: output.into_iter().flatten().reduce(u64::saturating_add),
        cached_input_tokens: counts["cachedContentTokenCount"].as_u64(),
    }
}

/// Joins a stream that came as one JSON list, as servers send it that do not know `alt=sse`.
fn join_chunks(chunks: &[Value]) -> Result<Value, ProviderErrorKind> {
    let mut stream = Box::<GeminiStream>::default();
    for chunk in chunks {
        stream.push(chunk)?;
    }
    stream.finish().ok_or_else(|| invalid("it is a list without an end"))
}

/// The error in a response body, if there is one: alone, or in the list of a stream without `alt=sse`.
pub fn parse_error(response: &Value) -> Option<ApiError> {
    let errors = response.as_array().map_or(std::slice::from_ref(response), Vec::as_slice);
    let error =
        errors.iter().map(|body| &body["error"]).find(|error| error.is_object() || error.is_string())?;
    let details = error["details"].as_array().map_or(&[][..], Vec::as_slice);
    let reasons = details.iter().filter_map(|detail| detail["reason"].as_str());
    let kinds: Vec<&str> = error["status"].as_str().into_iter().chain(reasons).collect();
    Some(ApiError {
        status: error["code"].as_u64().and_then(|code| u16::try_from(code).ok()),
        kind: kinds.join(" "),
        message: error.as_str().or(error["message"].as_str()).unwrap_or_default().to_owned(),
        retry_after: details.iter().find_map(|detail| parse_seconds(detail["retryDelay"].as_str()?)),
    })
}

/// "36s", "0.5s".
fn parse_seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests;
