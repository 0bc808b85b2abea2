//! Models. A `Provider` turns a `Prompt` into a `Completion`; it knows nothing of chats or stores.

pub mod fence;
pub mod formats;
pub mod offline;
pub mod openai;

use crate::domain::{Attachment, ToolCall};
use futures::future::BoxFuture;
use serde_json::Value;
use std::time::Duration;

/// A tool as the model is told about it. `parameters` is a JSON schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: &'static str,
    pub parameters: Value,
}

/// One message as the model sees it: text already rendered, markers and fences included.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptMessage {
    User { text: String, images: Vec<Attachment> },
    Assistant { text: String, tool_calls: Vec<ToolCall>, provider_metadata: Option<Value> },
    Tool { call_id: String, name: String, text: String },
}

/// What the person of this turn means, in structure: the same facts the rendered text tells.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Focus {
    /// Their words, without markers, quotes or fences.
    pub said: String,
    /// Files that came with the words, in order.
    pub sent: Vec<Attachment>,
    /// What they replied to: one photo of an album, or all files of the message.
    pub replied: Vec<Attachment>,
    /// The album (or grouped answer) around `replied`, in order, `replied` included.
    pub album: Vec<Attachment>,
    /// Files before this turn, newest first: of the thread in a reply, else of the conversation.
    pub recent: Vec<Attachment>,
}

/// A whole request. The messages after the last `User` are this turn's own steps so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    pub system: String,
    pub messages: Vec<PromptMessage>,
    /// Empty means: answer now, in words.
    pub tools: Vec<ToolSpec>,
    pub focus: Focus,
}

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Completion {
    pub text: String,
    pub tool_calls: Vec<ToolCall>,
    /// Model and tokens, for `reasoning_info`.
    pub usage: Option<Value>,
    /// What this provider wants back unchanged with the history, e.g. signed reasoning.
    pub provider_metadata: Option<Value>,
}

/// Why there is no completion, by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    #[error("rate limited or overloaded")]
    RetryAfter(Duration),
    #[error("the provider could not be reached: {0}")]
    Unreachable(String),
    #[error("the conversation is too long for the model")]
    TooLong,
    #[error("the model declined")]
    Refused,
    #[error("the provider rejected the key: {0}")]
    Auth(String),
    #[error("the provider answered nonsense: {0}")]
    BadAnswer(String),
}

pub trait Provider: Send + Sync {
    fn name(&self) -> &'static str;
    fn complete<'a>(&'a self, prompt: &'a Prompt) -> BoxFuture<'a, Result<Completion, ProviderError>>;
}

/// Pixels for models that can see.
pub trait PictureSource: Send + Sync {
    /// A downscaled, metadata-free `data:image/jpeg;base64,…`; `None` if the picture could not be loaded.
    fn data_url<'a>(&'a self, attachment: &'a Attachment) -> BoxFuture<'a, Option<String>>;
}
