//! Tools: what the agent can do. A tool gets a `Scope` and can touch nothing outside it; what it makes is
//! kept as bytes, and becomes part of the conversation when its result is stored.

mod arguments;
mod combine;
mod combining;
mod darkroom;
mod doing;
mod editing;
mod edits;
mod files;
mod generate;
mod history;
mod info;
pub mod look;
mod negatives;
mod outcome;
mod plain_text;
mod prints;
mod read_text;
mod registry;
mod tally;
#[cfg(test)]
mod tests;
mod views;
mod words;
mod writing;

pub use darkroom::Darkroom;
pub use doing::doing;
pub use generate::{GENERATIVE, Generated};
pub use negatives::Shelf;
pub use prints::Prints;
pub use registry::{Called, Registry};
pub use tally::Tally;
pub use views::Viewed;

use crate::{
    access::Scope,
    attachments::{AttachmentError, Attachments, ObjectError, markers},
    domain::{Attachment, AttachmentId},
    providers::ToolSpec,
    store::Store,
};
use bytes::Bytes;
use futures::future::BoxFuture;
use serde_json::Value;
use std::{sync::Arc, time::Duration};

/// Everything a tool may use.
#[derive(Clone)]
pub struct ToolContext {
    pub scope: Scope,
    pub attachments: Attachments,
    pub store: Store,
    pub darkroom: Darkroom,
    pub shelf: Arc<Shelf>,
    /// What services charge for this call.
    pub tally: Tally,
}

impl ToolContext {
    pub fn new(scope: Scope, prints: &Prints) -> Self {
        let Prints { store, attachments, darkroom } = prints.clone();
        let shelf = darkroom.shelf();
        Self { scope, attachments, store, darkroom, shelf, tally: Tally::default() }
    }

    /// The full bytes of a file of this conversation.
    pub async fn bytes(&self, file: &Attachment) -> Result<Bytes, ToolError> {
        self.prints().bytes(file).await
    }

    /// A file that can be sent: made now, if so far only its recipe is there.
    pub async fn printed(&self, file: &Attachment) -> Result<Attachment, ToolError> {
        self.prints().printed(file).await
    }

    fn prints(&self) -> Prints {
        Prints {
            store: self.store.clone(),
            attachments: self.attachments.clone(),
            darkroom: self.darkroom.clone(),
        }
    }
}

// There are at most twenty at a time, so a box would save nothing worth its noise.
#[allow(clippy::large_enum_variant)]
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
        Self { text: text.into(), outputs: Vec::new() }
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

impl ToolError {
    /// Trouble of ours that may be over in a moment.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Attachment(error) if error.is_passing())
    }

    /// What the model reads. Internals of ours go to the log instead.
    pub fn told(&self) -> String {
        match self {
            Self::Attachment(AttachmentError::Unknown(id)) => format!(
                "There is no attachment {id} in this conversation. Use an id exactly as a marker shows it, or ask \
                 list_attachments."
            ),
            Self::Attachment(AttachmentError::Objects(ObjectError::Missing)) => {
                "The file is gone from the attachment store.".to_owned()
            }
            Self::Attachment(error) if error.is_passing() => {
                tracing::warn!(%error, "a tool could not reach the files");
                "Files cannot be reached just now. Try again in a moment.".to_owned()
            }
            other => sentence(&other.to_string()),
        }
    }
}

/// Some errors are phrased to be quoted inside a sentence; here each stands on its own.
fn sentence(text: &str) -> String {
    if text.ends_with(['.', '?', '!']) { text.to_owned() } else { format!("{text}.") }
}

pub trait Tool: Send + Sync {
    fn spec(&self) -> ToolSpec;
    /// How long a call may take, for what takes longer than tools usually do.
    fn patience(&self) -> Option<Duration> {
        None
    }
    fn run<'a>(
        &'a self,
        context: &'a ToolContext,
        arguments: Value,
    ) -> BoxFuture<'a, Result<ToolResult, ToolError>>;
}
