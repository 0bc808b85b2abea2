//! What a model is asked: the whole request in terms of this program, before a vendor's format is applied.

use crate::domain::{Attachment, ToolCall};
use imaging::Region;
use serde_json::Value;

/// A tool as the model sees it. `parameters` is a JSON schema.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    pub name: &'static str,
    pub description: &'static str,
    /// The progress line while the tool runs; `{photos}` becomes "the photo" or "3 photos".
    pub progress: &'static str,
    pub parameters: Value,
}

/// One message as the model sees it. The text is rendered: markers and fences are included.
#[derive(Debug, Clone, PartialEq)]
pub enum PromptMessage {
    /// `shown` is in order of importance. Files that do not fit are dropped from the end; their markers stay.
    User {
        text: String,
        shown: Vec<ShownFile>,
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
        shown: Vec<ShownFile>,
    },
}

/// A file that the model is shown if it can read the type: whole, or a region of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownFile {
    pub attachment: Attachment,
    /// None shows the whole picture.
    pub region: Option<Region>,
    /// Draws grid lines numbered in thousandths of the whole picture, so that the model can read coordinates off them.
    pub grid: bool,
}

impl ShownFile {
    pub fn whole(attachment: Attachment) -> Self {
        Self { attachment, region: None, grid: false }
    }

    /// True for a region or a grid view; false for the plain picture.
    pub fn is_close_up(&self) -> bool {
        self.region.is_some() || self.grid
    }
}

/// The request of this turn in structured form: the same facts as the rendered text. The offline provider reads it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Focus {
    /// The person's text without markers, quotes or fences.
    pub said: String,
    /// Files that came with the text, in order.
    pub sent: Vec<Attachment>,
    /// The replied-to files: one photo of an album, or all files of the message.
    pub replied: Vec<Attachment>,
    /// The album (or grouped answer) around `replied`, in order, including `replied`.
    pub album: Vec<Attachment>,
    /// Files before this turn, newest first: of the thread in a reply, else of the conversation.
    pub recent: Vec<Attachment>,
}

/// A whole request. The messages after the last `User` are the steps of the running turn.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Prompt {
    pub system: String,
    pub messages: Vec<PromptMessage>,
    /// Empty: the model must answer with text.
    pub tools: Vec<ToolSpec>,
    pub focus: Focus,
}
