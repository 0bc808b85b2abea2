//! Models. A `Provider` turns a `Prompt` into a `Completion`; it knows nothing of chats or stores.
//! `formats` holds what each vendor's JSON looks like, `hosted` how it travels, `sight` what a model is shown.

pub mod fence;
pub mod formats;
pub mod hosted;
mod http;
mod meter;
pub mod offline;
pub mod painting;
mod sight;
mod sse;

pub use formats::Vendor;
pub use hosted::{Hosted, ModelSettings};
pub use http::http_client;
pub use meter::metered;
pub use painting::Painter;
pub use sight::LOOK_LONGEST;

use crate::domain::{Attachment, ToolCall};
use bytes::Bytes;
use futures::future::BoxFuture;
use imaging::Region;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

/// A tool as the model is told about it. `parameters` is a JSON schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: &'static str,
    /// What a person reads while the tool runs; `{photos}` becomes "the photo" or "3 photos".
    pub progress: &'static str,
    pub parameters: Value,
}

/// One message as the model sees it: text already rendered, markers and fences included.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptMessage {
    /// `shown` is in order of importance: what does not fit is left out from the end and stays a marker.
    User {
        text: String,
        shown: Vec<Shown>,
    },
    Assistant {
        text: String,
        tool_calls: Vec<ToolCall>,
        provider_metadata: Option<Value>,
    },
    Tool {
        call_id: String,
        name: String,
        text: String,
        shown: Vec<Shown>,
    },
}

/// A file the model is given to see, if it can: whole, or a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Shown {
    pub attachment: Attachment,
    /// None shows all of it.
    pub region: Option<Region>,
    /// With lines and numbers in thousandths of the whole, so that a place can be named exactly.
    pub grid: bool,
}

impl Shown {
    pub fn whole(attachment: Attachment) -> Self {
        Self { attachment, region: None, grid: false }
    }

    /// Whether this is not just the picture again, but a part of it or a grid over it.
    pub fn is_closer(&self) -> bool {
        self.region.is_some() || self.grid
    }
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
    pub usage: Usage,
    /// What this provider wants back unchanged with the history, e.g. signed reasoning.
    pub provider_metadata: Option<Value>,
}

/// What a request took, for `reasoning_info`. Tokens are `None` where the server does not count them.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Usage {
    pub provider: &'static str,
    pub model: String,
    /// All of the prompt, the cached part included.
    pub input_tokens: Option<u64>,
    /// Reasoning included.
    pub output_tokens: Option<u64>,
    /// The part of the prompt that the server had seen before and charges less for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
}

/// Why there is no completion, by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum ProviderError {
    /// Ask again after this long, or after a while of one's own choosing.
    #[error("rate limited or overloaded")]
    RetryAfter(Option<Duration>),
    /// Ask again soon.
    #[error("the provider could not be reached: {0}")]
    Unreachable(String),
    /// Ask again with less.
    #[error("the conversation is too long for the model")]
    TooLong,
    #[error("the model declined")]
    Refused,
    /// Only whoever runs the bot can help: a key, a model's name, an address. The text says what to set.
    #[error("the provider is not set up right: {0}")]
    Setup(String),
    #[error("the provider answered nonsense: {0}")]
    BadAnswer(String),
}

/// Told each piece of text as the model says it; the pieces add up to the completion's text.
pub type Listener<'a> = &'a (dyn Fn(&str) + Send + Sync);

pub trait Provider: Send + Sync {
    fn name(&self) -> &'static str;
    /// The model it asks.
    fn model(&self) -> &str;
    fn complete<'a>(
        &'a self,
        prompt: &'a Prompt,
        heard: Listener<'a>,
    ) -> BoxFuture<'a, Result<Completion, ProviderError>>;
}

/// Bytes and what they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    pub mime: String,
    pub bytes: Bytes,
}

/// Where a provider gets pixels and files from. `None` if it could not be loaded: the marker stays.
pub trait MediaSource: Send + Sync {
    /// Free of metadata, and no side longer than this.
    fn picture<'a>(&'a self, shown: &'a Shown, longest: u32) -> BoxFuture<'a, Option<Loaded>>;
    /// The file as it was sent, such as a PDF or sound.
    fn file<'a>(&'a self, attachment: &'a Attachment) -> BoxFuture<'a, Option<Loaded>>;
}
