//! Orders messages as the Messages API requires: user and assistant alternate, the user begins and ends, and all results
//! of an answer come first in the next user message.

use super::super::{
    files::{LoadedFiles, caption},
    tool_calls::{AnsweredCall, ConversationStep, arguments_object, pair_tool_calls, valid_name},
};
use super::thinking::{Fingerprint, recall};
use crate::domain::ToolCall;
use crate::providers::{LoadedFile, ModelSettings, Prompt, ShownFile};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;

/// Replaces an empty message or result: the API rejects empty text.
const EMPTY: &str = "(nothing)";
/// Before an answer whose question was cut from the history.
const EARLIER: &str = "(What was said before this is left out.)";
/// After an answer at the end of the history: most models do not continue their own message.
const GO_ON: &str = "Please go on.";
const MAX_ID_CHARS: usize = 64;
/// Picture types that the API accepts.
const PICTURE_TYPES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

/// `system` and `tools` as they will be sent: thinking is sent back only in the conversation that it came from.
pub fn messages(
    settings: &ModelSettings,
    prompt: &Prompt,
    files: &LoadedFiles,
    system: &Value,
    tools: &Value,
) -> Vec<Value> {
    let mut list = MessageList {
        model: &settings.model,
        files,
        messages: Vec::new(),
        ids: HashSet::new(),
        fingerprint: Fingerprint::new(system, tools),
        fingerprinted: 0,
    };
    for step in pair_tool_calls(&prompt.messages) {
        match step {
            ConversationStep::User { text, shown } => list.add_user(text, shown),
            ConversationStep::Assistant { text, answered, metadata } => {
                list.add_assistant(text, &answered, metadata)
            }
        }
    }
    if list.ends_with_user() {
        return list.messages;
    }
    list.add_user_blocks(vec![text_block(GO_ON)]);
    list.messages
}

struct MessageList<'a> {
    model: &'a str,
    files: &'a LoadedFiles,
    messages: Vec<Value>,
    /// The ids of all calls so far.
    ids: HashSet<String>,
    fingerprint: Fingerprint,
    /// How many of the messages the fingerprint covers.
    fingerprinted: usize,
}

impl MessageList<'_> {
    fn add_user(&mut self, text: &str, shown: &[ShownFile]) {
        let mut blocks = parts(shown, self.files);
        if !text.trim().is_empty() {
            blocks.insert(0, text_block(text));
        }
        if blocks.is_empty() {
            blocks.push(text_block(EMPTY));
        }
        self.add_user_blocks(blocks);
    }

    /// An answer without text and calls is not sent.
    fn add_assistant(&mut self, text: &str, answered: &[AnsweredCall], metadata: Option<&Value>) {
        let ids: Vec<String> = answered.iter().map(|answered| self.valid_id(&answered.call.id)).collect();
        let calls: Vec<Value> =
            answered.iter().zip(&ids).map(|(answered, id)| call(answered.call, id)).collect();
        if text.trim().is_empty() && calls.is_empty() {
            return;
        }
        if self.messages.is_empty() {
            self.add_user_blocks(vec![text_block(EARLIER)]);
        }
        let recalled = metadata.and_then(|kept| {
            // The model answered a user message. If none precedes now, the history has changed.
            let fingerprint = self.ends_with_user().then(|| self.fingerprint_so_far())?;
            recall(kept, self.model, &fingerprint, text, &calls)
        });
        let plain = || {
            let said = (!text.trim().is_empty()).then(|| text_block(text));
            said.into_iter().chain(calls.iter().cloned()).collect()
        };
        let content = recalled.unwrap_or_else(plain);
        self.add("assistant", content);
        let results: Vec<Value> =
            answered.iter().zip(&ids).map(|(answered, id)| result(answered, id, self.files)).collect();
        if !results.is_empty() {
            self.add_user_blocks(results);
        }
    }

    fn ends_with_user(&self) -> bool {
        self.messages.last().is_some_and(|message| message["role"] == "user")
    }

    fn add_user_blocks(&mut self, blocks: Vec<Value>) {
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

    /// Fingerprint of everything before the next message.
    fn fingerprint_so_far(&mut self) -> String {
        for message in self.messages.iter().skip(self.fingerprinted) {
            self.fingerprint.add(message);
        }
        self.fingerprinted = self.messages.len();
        self.fingerprint.hex()
    }

    /// `^[a-zA-Z0-9_-]+$` and unique within the request. Ids of other vendors are replaced by a digest.
    fn valid_id(&mut self, id: &str) -> String {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let fits = !id.is_empty() && id.len() <= MAX_ID_CHARS && id.chars().all(valid);
        let mut valid = if fits { id.to_owned() } else { digest(id) };
        let mut again = 1;
        while self.ids.contains(&valid) {
            again += 1;
            valid = digest(&format!("{id} {again}"));
        }
        self.ids.insert(valid.clone());
        valid
    }
}

fn digest(id: &str) -> String {
    let hex: String = Sha256::digest(id).iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("toolu_{hex}")
}

fn call(call: &ToolCall, id: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": valid_name(&call.name), "input": arguments_object(call)})
}

fn result(answered: &AnsweredCall, id: &str, files: &LoadedFiles) -> Value {
    let mut blocks = parts(answered.shown, files);
    let text = match answered.result.trim() {
        "" => EMPTY,
        _ => answered.result,
    };
    let mut result = json!({"type": "tool_result", "tool_use_id": id});
    if blocks.is_empty() {
        result["content"] = text.into();
        // The API accepts `is_error` on text results only.
        if text.starts_with("Error: ") {
            result["is_error"] = true.into();
        }
    } else {
        blocks.insert(0, text_block(text));
        result["content"] = blocks.into();
    }
    result
}

fn parts(shown: &[ShownFile], files: &LoadedFiles) -> Vec<Value> {
    let parts = files
        .of(shown)
        .filter_map(|(shown, loaded)| Some([text_block(&caption(shown)), part(shown, loaded)?]));
    parts.flatten().collect()
}

fn part(shown: &ShownFile, loaded: &LoadedFile) -> Option<Value> {
    let source = || json!({"type": "base64", "media_type": loaded.mime, "data": loaded.base64()});
    match loaded.mime.as_str() {
        mime if PICTURE_TYPES.contains(&mime) => Some(json!({"type": "image", "source": source()})),
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
