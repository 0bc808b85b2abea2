//! Tools that the agent can call. A tool gets a `Scope` and can touch nothing outside it. Its outputs become part of the
//! conversation when the agent stores its result.

mod arguments;
mod combine;
mod edit_history;
mod edits;
mod files;
mod generate_image;
mod image_info;
pub mod look_at_image;
mod missing_glyphs;
mod on_device;
mod outcome;
mod plain_text;
mod progress;
mod read_text;
mod registry;
mod schema;
mod sources;
#[cfg(test)]
mod tests;
mod text_search;
mod usage_log;
mod vision;
mod wording;

pub use edits::read_recipe;
pub use generate_image::{GENERATIVE_TOOLS, Generated};
pub use registry::{Called, Registry};
pub use usage_log::UsageLog;

use crate::{
    access::Scope,
    attachments::{AttachmentError, ObjectError, markers},
    domain::{Attachment, AttachmentId},
    providers::ToolSpec,
    rendering::{RenderError, RenderPool, Renderer, TurnPixels},
};
use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// Everything a tool may use.
#[derive(Clone)]
pub struct ToolContext {
    pub scope: Scope,
    pub renderer: Renderer,
    pub pixels: Arc<TurnPixels>,
    /// What services charged during this call.
    pub usage: UsageLog,
}

impl ToolContext {
    pub fn new(scope: Scope, renderer: &Renderer) -> Self {
        let pixels = renderer.turn_pixels();
        Self { scope, renderer: renderer.clone(), pixels, usage: UsageLog::default() }
    }

    /// The full bytes of a file of this conversation.
    pub async fn bytes(&self, file: &Attachment) -> Result<Bytes, ToolError> {
        Ok(self.renderer.bytes(file).await?)
    }

    /// The attachment with its file stored, so that it can be sent.
    pub async fn ensure_stored(&self, file: &Attachment) -> Result<Attachment, ToolError> {
        Ok(self.renderer.ensure_stored(file).await?)
    }

    pub(crate) fn pool(&self) -> &RenderPool {
        &self.renderer.pool
    }
}

// A call has at most twenty outputs: boxing them saves nothing.
#[allow(clippy::large_enum_variant)]
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// New; its row is added together with the tool's result.
    Made(Attachment),
    /// Already in the conversation; shown again.
    Known(AttachmentId),
}

impl Output {
    pub fn id(&self) -> AttachmentId {
        match self {
            Self::Made(attachment) => attachment.attachment_id,
            Self::Known(id) => *id,
        }
    }
}

/// What the model reads and what the tool made. After a partial success the text names what worked and what did not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    pub text: String,
    pub outputs: Vec<Output>,
}

impl ToolResult {
    pub fn text_only(text: impl Into<String>) -> Self {
        Self { text: text.into(), outputs: Vec::new() }
    }

    /// The text followed by one marker line per output.
    pub fn rendered(&self) -> String {
        let ids: Vec<_> = self.outputs.iter().map(Output::id).collect();
        markers::with_markers(&self.text, &ids)
    }
}

/// Why a tool failed. Each variant becomes a result that the model can act on.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Names the argument, what is wrong with it and what is allowed.
    #[error("{0}")]
    BadArgument(String),
    #[error(transparent)]
    Attachment(#[from] AttachmentError),
    #[error(transparent)]
    Imaging(#[from] imaging::ImagingError),
    /// The call was right, but did not work. The text tells the model what to do instead.
    #[error("{0}")]
    Failed(String),
}

impl From<imaging::TooLarge> for ToolError {
    fn from(error: imaging::TooLarge) -> Self {
        Self::Imaging(error.into())
    }
}

impl From<RenderError> for ToolError {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Attachment(error) => Self::Attachment(error),
            RenderError::Imaging(error) => Self::Imaging(error),
            other => Self::Failed(other.to_string()),
        }
    }
}

impl ToolError {
    /// True if the same call may succeed in a moment.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Attachment(error) if error.is_transient())
    }

    /// The error for the log, which holds no file names and no words of people.
    pub fn log_text(&self) -> String {
        match self {
            Self::Attachment(error) => error.log_text(),
            Self::BadArgument(_) | Self::Imaging(imaging::ImagingError::BadArgument(_)) => {
                "bad arguments".to_owned()
            }
            Self::Imaging(error) => error.to_string(),
            Self::Failed(_) => "the tool failed".to_owned(),
        }
    }

    /// What the model reads. Internal details go to the log instead.
    pub fn describe(&self) -> String {
        match self {
            Self::Attachment(AttachmentError::Unknown(id)) => format!(
                "There is no attachment {id} in this conversation. Use an id exactly as a marker shows it, or ask \
                 list_attachments."
            ),
            Self::Attachment(AttachmentError::Objects(ObjectError::Missing)) => {
                "The file is gone from the attachment store.".to_owned()
            }
            Self::Attachment(error) if error.is_transient() => {
                tracing::warn!(%error, op = "run_tool", "attachments unavailable");
                "Files cannot be reached just now. Try again in a moment.".to_owned()
            }
            other => with_full_stop(&other.to_string()),
        }
    }
}

/// Some errors are phrased to be quoted inside a sentence and have no full stop.
fn with_full_stop(text: &str) -> String {
    if text.ends_with(['.', '?', '!']) { text.to_owned() } else { format!("{text}.") }
}

/// Pictures that a call asks a service to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PaidRequest<'a> {
    pub model: &'a str,
    pub pictures: u64,
}

pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;
    /// The time-out of a call, for a tool that takes longer than most.
    fn timeout(&self) -> Option<Duration> {
        None
    }
    /// What a call asks of a service that costs money. None for a tool that runs here.
    fn paid_request(&self, _arguments: &Value) -> Option<PaidRequest<'_>> {
        None
    }
    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>>;
}
