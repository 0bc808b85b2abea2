//! Gemini's generateContent: prompt → request, response or events → completion, error body → fault. The model and
//! whether the answer comes in pieces are said in the path, not here.

mod schema;

use super::{
    Album, Answered, Assembly, Fault, Step, bad, caption, legal_name, made_up_id, readable_arguments, steps,
};
use crate::domain::ToolCall;
use crate::providers::{Completion, Loaded, ModelSettings, Prompt, ProviderError, Shown, ToolSpec, Usage};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// A conversation begins with the person. Stands where a cut took the beginning away.
const EARLIER: &str = "(What was said before is left out.)";
/// A conversation ends with the person: since Gemini 3.6 a model does not go on with its own words.
const GO_ON: &str = "(Go on.)";
/// Google's own word for calls that no Gemini signed, such as another vendor's.
const UNSIGNED: &str = "skip_thought_signature_validator";
/// How a result begins whose tool failed.
const FAILED: &str = "Error: ";

/// The body of `POST …:generateContent` and `…:streamGenerateContent`.
pub fn request(settings: &ModelSettings, prompt: &Prompt, album: &Album) -> Value {
    let mut body = json!({"contents": contents(&settings.model, prompt, album)});
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

fn contents(model: &str, prompt: &Prompt, album: &Album) -> Vec<Value> {
    let mut contents = Vec::new();
    let mut turn_begins = 0;
    for step in steps(&prompt.messages) {
        match step {
            Step::User { text, shown } => {
                let mut parts = text_part(text);
                parts.extend(seen(shown, album));
                if !parts.is_empty() {
                    turn_begins = contents.len();
                    push(&mut contents, "user", parts);
                }
            }
            Step::Assistant { text, answered, metadata } => {
                let kept = metadata.filter(|kept| kept["provider"] == "gemini" && kept["model"] == model);
                let said = kept.and_then(|kept| replayed(text, &answered, kept));
                let said = said.unwrap_or_else(|| plain(model, text, &answered));
                let results = results(&said, &answered);
                push(&mut contents, "model", said);
                push(&mut contents, "user", results);
                // Not beside the results: Vertex and models since 3.6 refuse a content that mixes function responses
                // with anything else, and only Gemini 3 takes pictures inside of a function response.
                push(&mut contents, "user", answered.iter().flat_map(|a| seen(a.shown, album)).collect());
            }
        }
    }
    if wants_signatures(model) {
        contents[turn_begins..].iter_mut().for_each(sign);
    }
    if contents.first().is_none_or(|first| first["role"] != "user") {
        contents.insert(0, json!({"role": "user", "parts": text_part(EARLIER)}));
    }
    if contents.last().is_some_and(|last| last["role"] != "user") {
        push(&mut contents, "user", text_part(GO_ON));
    }
    contents
}

/// Adds to the last content if that is of the same role, but never to function responses: those stand alone.
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

/// None for a text that says nothing: it is refused.
fn text_part(text: &str) -> Vec<Value> {
    if text.trim().is_empty() { Vec::new() } else { vec![json!({"text": text})] }
}

fn seen(shown: &[Shown], album: &Album) -> Vec<Value> {
    let parts = |(shown, loaded)| [json!({"text": caption(shown)}), inline(loaded)];
    album.of(shown).flat_map(parts).collect()
}

fn inline(loaded: &Loaded) -> Value {
    // It knows "audio/wav", but not the "audio/x-wav" that files are often said to be.
    let mime = loaded.mime.replacen("/x-", "/", 1);
    json!({"inlineData": {"mimeType": mime, "data": loaded.base64()}})
}

/// What the model said as it came, each signature in the part it came with. None if that is not what was done: a
/// last answer's calls, say, are dropped.
fn replayed(text: &str, answered: &[Answered], metadata: &Value) -> Option<Vec<Value>> {
    // A row may hold anything; what could not have been kept is not sent.
    let kept: Vec<Value> = kept(metadata["parts"].as_array()?)?.into_iter().cloned().collect();
    let calls: Vec<&Value> = kept.iter().filter_map(|part| part.get("functionCall")).collect();
    let same = |(call, answered): (&&Value, &Answered)| {
        call["name"] == answered.call.name.as_str()
            && call["name"] == name(answered.call).as_str()
            && matches!(call["args"], Value::Null | Value::Object(_))
    };
    if calls.len() != answered.len() || !calls.iter().zip(answered).all(same) {
        return None;
    }
    let said: String = kept.iter().filter_map(spoken).collect();
    // The row may say more than the model did, such as which pictures were sent with it.
    let (before, after, kept) = match text.split_once(said.trim()) {
        Some((before, after)) => (before, after, kept.clone()),
        None => (text, "", kept.iter().filter(|part| spoken(part).is_none()).cloned().collect()),
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

fn plain(model: &str, text: &str, answered: &[Answered]) -> Vec<Value> {
    let mut parts = text_part(text);
    parts.extend(answered.iter().map(|answered| {
        let mut call = json!({"name": name(answered.call), "args": readable_arguments(answered.call)});
        if wants_signatures(model) {
            call["id"] = legal_name(&answered.call.id).into();
        }
        json!({"functionCall": call})
    }));
    parts
}

/// As many as there are calls in `said`, with the same names and ids and in the same order.
fn results(said: &[Value], answered: &[Answered]) -> Vec<Value> {
    let calls = said.iter().filter_map(|part| part.get("functionCall"));
    let response = |(call, answered): (&Value, &Answered)| {
        let response = match answered.result.strip_prefix(FAILED) {
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

/// A name must not begin with a digit or a dash here.
fn name(call: &ToolCall) -> String {
    let name = legal_name(&call.name);
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return name;
    }
    format!("_{name}").chars().take(64).collect()
}

/// Since Gemini 3 a call of the turn at hand is refused without a signature, and calls have ids. Before, calls had
/// neither.
fn wants_signatures(model: &str) -> bool {
    model.contains("gemini") && !["gemini-1", "gemini-2"].iter().any(|old| model.contains(old))
}

/// The first call of a step stands for all of them.
fn sign(content: &mut Value) {
    let parts = content["parts"].as_array_mut().into_iter().flatten();
    let first = parts.filter_map(Value::as_object_mut).find(|part| part.contains_key("functionCall"));
    if let Some(call) = first {
        call.entry("thoughtSignature").or_insert_with(|| UNSIGNED.into());
    }
}

/// The text of a part that is said, not only thought.
fn spoken(part: &Value) -> Option<&str> {
    part["text"].as_str().filter(|_| part["thought"] != true)
}

/// What a successful response says. `model` is the one asked for.
pub fn completion(model: &str, response: &Value) -> Result<Completion, ProviderError> {
    if let Some(chunks) = response.as_array() {
        return completion(model, &joined(chunks)?);
    }
    let candidate = &response["candidates"][0];
    if !candidate.is_object() {
        let blocked = response["promptFeedback"]["blockReason"].is_string();
        return Err(if blocked { ProviderError::Refused } else { bad("it holds no candidates") });
    }
    let parts = match &candidate["content"]["parts"] {
        Value::Array(parts) => parts.as_slice(),
        Value::Null => &[],
        _ => return Err(bad("its parts are not a list")),
    };
    let text: String = parts.iter().filter_map(spoken).collect();
    let tool_calls = tool_calls(parts, &response["responseId"])?;
    finished(candidate["finishReason"].as_str(), !text.is_empty() || !tool_calls.is_empty())?;
    let provider_metadata =
        kept(parts).map(|parts| json!({"provider": "gemini", "model": model, "parts": parts}));
    Ok(Completion { text, tool_calls, usage: usage(model, response), provider_metadata })
}

/// Whether it ended well. With something said, being cut off there is well enough.
fn finished(reason: Option<&str>, anything: bool) -> Result<(), ProviderError> {
    match reason {
        Some(lost @ ("MALFORMED_FUNCTION_CALL" | "UNEXPECTED_TOOL_CALL")) => Err(bad(lost)),
        _ if anything => Ok(()),
        Some("STOP") => Ok(()),
        Some("MAX_TOKENS") => Err(ProviderError::TooLong),
        Some(
            "SAFETY"
            | "PROHIBITED_CONTENT"
            | "BLOCKLIST"
            | "SPII"
            | "RECITATION"
            | "IMAGE_SAFETY"
            | "IMAGE_PROHIBITED_CONTENT"
            | "IMAGE_RECITATION",
        ) => Err(ProviderError::Refused),
        Some(other) => Err(bad(other)),
        None => Err(bad("it neither says anything nor why not")),
    }
}

fn tool_calls(parts: &[Value], response_id: &Value) -> Result<Vec<ToolCall>, ProviderError> {
    let mut read: Vec<ToolCall> = Vec::new();
    for call in parts.iter().filter_map(|part| part.get("functionCall")) {
        let name = call["name"].as_str().ok_or_else(|| bad("a function call has no name"))?.to_owned();
        let arguments = match &call["args"] {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let id = match call["id"].as_str() {
            Some(id) if !id.is_empty() && read.iter().all(|other| other.id != id) => id.to_owned(),
            _ => made_up_id(response_id, read.len(), &name, &arguments),
        };
        read.push(ToolCall { id, name, arguments });
    }
    Ok(read)
}

/// The parts that go back as they came, if any of them is signed. Summaries of thoughts go only with a signature.
fn kept(parts: &[Value]) -> Option<Vec<&Value>> {
    let signed = |part: &Value| part["thoughtSignature"].is_string();
    let keep = |part: &&Value| {
        let says = spoken(part).is_some_and(|text| !text.is_empty()) || part.get("functionCall").is_some();
        says || (signed(part) && part["text"].is_string())
    };
    let kept: Vec<&Value> = parts.iter().filter(keep).collect();
    kept.iter().any(|part| signed(part)).then_some(kept)
}

fn usage(model: &str, response: &Value) -> Usage {
    let counted = &response["usageMetadata"];
    let output = ["candidatesTokenCount", "thoughtsTokenCount"].map(|name| counted[name].as_u64());
    Usage {
        provider: "gemini",
        model: response["modelVersion"].as_str().unwrap_or(model).to_owned(),
        input_tokens: counted["promptTokenCount"].as_u64(),
        output_tokens: output.into_iter().flatten().reduce(u64::saturating_add),
        cached_input_tokens: counted["cachedContentTokenCount"].as_u64(),
    }
}

/// A stream that came as one list, as it does where `alt=sse` is not understood.
fn joined(chunks: &[Value]) -> Result<Value, ProviderError> {
    let mut pieces = Box::<Pieces>::default();
    for chunk in chunks {
        pieces.take(chunk)?;
    }
    pieces.whole().ok_or_else(|| bad("it is a list without an end"))
}

/// A streamed response: each event is a response of its own with more parts.
#[derive(Debug, Default)]
pub struct Pieces {
    parts: Vec<Value>,
    finish: Value,
    blocked: bool,
    /// What is said of the whole response, the last word of each.
    about: Map<String, Value>,
}

impl Assembly for Pieces {
    fn take(&mut self, event: &Value) -> Result<String, ProviderError> {
        for name in ["responseId", "modelVersion", "usageMetadata", "promptFeedback"] {
            if !event[name].is_null() {
                self.about.insert(name.to_owned(), event[name].clone());
            }
        }
        self.blocked |= event["promptFeedback"]["blockReason"].is_string();
        let candidate = &event["candidates"][0];
        if candidate["finishReason"].is_string() {
            self.finish = candidate["finishReason"].clone();
        }
        let mut said = String::new();
        for part in candidate["content"]["parts"].as_array().into_iter().flatten() {
            said += spoken(part).unwrap_or_default();
            self.add(part);
        }
        Ok(said)
    }

    fn whole(mut self: Box<Self>) -> Option<Value> {
        if !self.finish.is_null() {
            let content = json!({"role": "model", "parts": self.parts});
            let candidate = json!({"content": content, "finishReason": self.finish});
            self.about.insert("candidates".to_owned(), json!([candidate]));
        }
        (self.blocked || !self.finish.is_null()).then_some(Value::Object(self.about))
    }
}

impl Pieces {
    /// Plain words go on where the last ended; what is signed stays the part that it is.
    fn add(&mut self, part: &Value) {
        let is_words = |part: &Value| part["text"].is_string() && part.get("thoughtSignature").is_none();
        match self.parts.last_mut() {
            Some(last)
                if is_words(last) && is_words(part) && spoken(last).is_some() == spoken(part).is_some() =>
            {
                let words = [&last["text"], &part["text"]].map(|text| text.as_str().unwrap_or_default());
                last["text"] = words.concat().into();
            }
            _ => self.parts.push(part.clone()),
        }
    }
}

/// The error in a response body, if it is one: alone, or in the list that a stream without `alt=sse` is.
pub fn fault(response: &Value) -> Option<Fault> {
    let errors = response.as_array().map_or(std::slice::from_ref(response), Vec::as_slice);
    let error =
        errors.iter().map(|body| &body["error"]).find(|error| error.is_object() || error.is_string())?;
    let details = error["details"].as_array().map_or(&[][..], Vec::as_slice);
    let reasons = details.iter().filter_map(|detail| detail["reason"].as_str());
    let kinds: Vec<&str> = error["status"].as_str().into_iter().chain(reasons).collect();
    Some(Fault {
        status: error["code"].as_u64().and_then(|code| u16::try_from(code).ok()),
        kind: kinds.join(" "),
        message: error.as_str().or(error["message"].as_str()).unwrap_or_default().to_owned(),
        retry_after: details.iter().find_map(|detail| seconds(detail["retryDelay"].as_str()?)),
    })
}

/// "36s", "0.5s".
fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

#[cfg(test)]
mod tests;
