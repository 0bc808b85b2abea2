//! Tools: what the agent can do. A tool gets a `Scope` and can touch nothing outside it; what it makes is
//! kept as bytes, and becomes part of the conversation when its result is stored.

use crate::{
    access::Scope,
    attachments::{AttachmentError, Attachments, markers},
    domain::{Attachment, AttachmentId},
    imaging,
    providers::ToolSpec,
    store::Store,
};
use futures::future::BoxFuture;
use serde_json::Value;

/// Everything a tool may use.
#[derive(Clone)]
pub struct ToolContext {
    pub scope: Scope,
    pub attachments: Attachments,
    pub store: Store,
    pub limits: imaging::Limits,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// New; its row is added together with the tool's result.
    Made(Attachment),
    /// Known before, shown again.
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

/// What the model reads and what the tool made. Partial success says both which worked and which did not.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolResult {
    pub text: String,
    pub outputs: Vec<Output>,
}

impl ToolResult {
    pub fn says(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            outputs: Vec::new(),
        }
    }

    /// The text followed by one marker line per output.
    pub fn rendered(&self) -> String {
        let ids: Vec<_> = self.outputs.iter().map(Output::id).collect();
        markers::with_markers(&self.text, &ids)
    }
}

/// Why a tool gave nothing. Each becomes a result the model can act on.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// Says which argument, what is wrong with it and what is allowed.
    #[error("{0}")]
    BadArgument(String),
    #[error(transparent)]
    Attachment(#[from] AttachmentError),
    #[error(transparent)]
    Imaging(#[from] imaging::ImagingError),
    #[error("{0}")]
    Trouble(String),
}

pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;
    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>>;
}
