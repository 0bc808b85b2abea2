//! `RenderError`: why there is no picture, sorted by what the caller does next.

use crate::{
    attachments::{AttachmentError, ObjectError, format_size},
    store::StoreError,
};
use imaging::ImagingError;

#[derive(Debug, thiserror::Error)]
pub enum RenderError {
    /// The store or the files. May pass: see `AttachmentError::is_transient`.
    #[error(transparent)]
    Attachment(#[from] AttachmentError),
    /// The picture cannot be decoded, edited or encoded. Another attempt gives the same result.
    #[error(transparent)]
    Imaging(#[from] ImagingError),
    /// A picture of the chain is gone, so the recipe has nothing to start from.
    #[error("What {filename} was made from has been deleted.")]
    SourceDeleted { filename: String },
    /// The recipe names an edit that cannot be repeated.
    #[error("{0}")]
    BadRecipe(String),
    /// The work panicked. The log has the details.
    #[error("This could not be processed: something broke on our side. Try another way, or another file.")]
    Crashed,
    /// The wait for a worker or for memory was too long.
    #[error("Many {kind} are waiting right now. Please try again in a minute.")]
    Busy { kind: &'static str },
    /// The work can never run within the memory that is set aside.
    #[error(
        "This takes about {} of memory, and at most {} are set aside here. Use a smaller version, or one with 8 bits per \
         channel; who runs this bot can raise limits.edit_memory_bytes.",
        format_size(*.needed),
        format_size(*.limit)
    )]
    TooMuchMemory { needed: u64, limit: u64 },
    #[error("Pictures cannot be edited any more: shutting down.")]
    ShuttingDown,
}

impl From<StoreError> for RenderError {
    fn from(error: StoreError) -> Self {
        Self::Attachment(error.into())
    }
}

impl RenderError {
    /// True if the same request may succeed in a moment.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Attachment(error) => error.is_transient(),
            other => matches!(other, Self::Busy { .. }),
        }
    }

    /// The error for the log, which holds neither file names nor words of a recipe.
    pub fn log_text(&self) -> String {
        match self {
            Self::Attachment(error) => error.log_text(),
            Self::SourceDeleted { .. } => "its source was deleted".to_owned(),
            Self::BadRecipe(_) | Self::Imaging(ImagingError::BadArgument(_)) => {
                "the recipe cannot be repeated".to_owned()
            }
            other => other.to_string(),
        }
    }

    /// A sentence for a person, without internal details.
    pub fn describe(&self) -> String {
        let text = match self {
            Self::Attachment(AttachmentError::Objects(ObjectError::Missing)) => {
                "The file is gone from the attachment store".to_owned()
            }
            other => other.to_string(),
        };
        if text.ends_with(['.', '?', '!']) { text } else { format!("{text}.") }
    }
}
