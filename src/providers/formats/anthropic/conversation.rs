//! The conversation as the Messages API accepts it: people and model take turns, a person begins and ends, and all
//! results of one answer stand at the head of the very next message. How thinking is kept is not known here.

use super::super::{Album, Answered, Step, caption, legal_name, readable_arguments, steps};
use super::thinking::{Seal, recall};
use crate::domain::ToolCall;
use crate::providers::{Loaded, ModelSettings, Prompt, Shown};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;

/// Stands where a message or a result holds nothing: empty text is refused.
const NOTHING: &str = "(nothing)";
/// Before an answer whose question was cut off.
const EARLIER: &str = "(What was said before this is left out.)";
/// After an answer that nobody has replied to: most models refuse to go on with their own words.
const GO_ON: &str = "Please go on.";
const MAX_ID_CHARS: usize = 64;
/// What the API takes as pictures.
const PICTURES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// `system` and `tools` as they will be sent: thinking goes back only to the conversation it came from.
pub fn messages(
    settings: &ModelSettings,
    prompt: &Prompt,
    album: &Album,
    system: &Value,
    tools: &Value,
) -> Vec<Value> {
    let mut conversation = Conversation {
        model: &settings.model,
        album,
        messages: Vec::new(),
        ids: HashSet::new(),
        seal: Seal::new(system, tools),
        sealed: 0,
    };
    for step in steps(&prompt.messages) {
        match step {
            Step::User { text, shown } => conversation.user(text, shown),
            Step::Assistant { text, answered, metadata } => conversation.assistant(text, &answered, metadata),
        }
    }
    if conversation.next_is_the_model() {
        return conversation.messages;
    }
    conversation.hear(vec![text_block(GO_ON)]);
    conversation.messages
}

struct Conversation<'a> {
    model: &'a str,
    album: &'a Album,
    messages: Vec<Value>,
    /// Every call's id so far.
    ids: HashSet<String>,
    seal: Seal,
    /// How many of the messages the seal covers.
    sealed: usize,
}

impl Conversation<'_> {
    fn user(&mut self, text: &str, shown: &[Shown]) {
        let mut blocks = parts(shown, self.album);
        if !text.trim().is_empty() {
            blocks.insert(0, text_block(text));
        }
        if blocks.is_empty() {
            blocks.push(text_block(NOTHING));
        }
        self.hear(blocks);
    }

    /// One that neither spoke nor called is not sent.
    fn assistant(&mut self, text: &str, answered: &[Answered], metadata: Option<&Value>) {
        let ids: Vec<String> = answered.iter().map(|answered| self.legal_id(&answered.call.id)).collect();
        let calls: Vec<Value> =
            answered.iter().zip(&ids).map(|(answered, id)| call(answered.call, id)).collect();
        if text.trim().is_empty() && calls.is_empty() {
            return;
        }
        if self.messages.is_empty() {
            self.hear(vec![text_block(EARLIER)]);
        }
        let recalled = metadata.and_then(|kept| {
            // Every answer was given to a person's message, so that nothing else can be what came before it.
            let stamp = self.next_is_the_model().then(|| self.stamp())?;
            recall(kept, self.model, &stamp, text, &calls)
        });
        let plain = || {
            let said = (!text.trim().is_empty()).then(|| text_block(text));
            said.into_iter().chain(calls.iter().cloned()).collect()
        };
        let content = recalled.unwrap_or_else(plain);
        self.add("assistant", content);
        let results: Vec<Value> =
            answered.iter().zip(&ids).map(|(answered, id)| result(answered, id, self.album)).collect();
        if !results.is_empty() {
            self.hear(results);
        }
    }

    fn next_is_the_model(&self) -> bool {
        self.messages.last().is_some_and(|message| message["role"] == "user")
    }

    fn hear(&mut self, blocks: Vec<Value>) {
        self.add("user", blocks);
    }

    fn add(&mut self, role: &str, mut blocks: Vec<Value>) {
        if let Some(last) = self.messages.last_mut().filter(|last| last["role"] == role)
            && let Some(content) = last["content"].as_array_mut()
        {
            content.append(&mut blocks);
            return;
        }
        self.messages.push(json!({"role": role, "content": blocks}));
    }

    /// Of all that comes before the next message.
    fn stamp(&mut self) -> String {
        for message in self.messages.iter().skip(self.sealed) {
            self.seal.add(message);
        }
        self.sealed = self.messages.len();
        self.seal.stamp()
    }

    /// `^[a-zA-Z0-9_-]+$` and only once in a request, whatever other vendors and old rows call their calls.
    fn legal_id(&mut self, id: &str) -> String {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = !id.is_empty() && id.len() <= MAX_ID_CHARS && id.chars().all(legal);
        let mut legal = if fits { id.to_owned() } else { digest(id) };
        let mut again = 1;
        while self.ids.contains(&legal) {
            again += 1;
            legal = digest(&format!("{id} {again}"));
        }
        self.ids.insert(legal.clone());
        legal
    }
}

fn digest(id: &str) -> String {
    let hex: String = Sha256::digest(id).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("toolu_{hex}")
}

fn call(call: &ToolCall, id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": legal_name(&call.name), "input": readable_arguments(call)})
}

fn result(answered: &Answered, id: &str, album: &Album) -> Value {
    let mut blocks = parts(answered.shown, album);
    let text = match answered.result.trim() {
        "" => NOTHING,
        _ => answered.result,
    };
    let mut result = json!({"type": "tool_result", "tool_use_id": id});
    if blocks.is_empty() {
        result["content"] = text.into();
        // With it, nothing but text is taken.
        if text.starts_with("Error: ") {
            result["is_error"] = true.into();
        }
    } else {
        blocks.insert(0, text_block(text));
        result["content"] = blocks.into();
    }
    result
}

fn parts(shown: &[Shown], album: &Album) -> Vec<Value> {
    let parts = album
        .of(shown)
        .filter_map(|(shown, loaded)| Some([text_block(&caption(shown)), part(shown, loaded)?]));
    parts.flatten().collect()
}

fn part(shown: &Shown, loaded: &Loaded) -> Option<Value> {
    let source = || json!({"type": "base64", "media_type": loaded.mime, "data": loaded.base64()});
    match loaded.mime.as_str() {
        mime if PICTURES.contains(&mime) => Some(json!({"type": "image", "source": source()})),
        "application/pdf" => {
            let mut document = json!({"type": "document", "source": source()});
            if !shown.attachment.filename.is_empty() {
                document["title"] = shown.attachment.filename.as_str().into();
            }
            Some(document)
        }
        _ => None,
    }
}

fn text_block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}
