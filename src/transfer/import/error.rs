//! Why an import was refused, by what the caller does next.

use crate::{
    attachments::AttachmentError, domain::annotation::FieldError, rendering::RenderError, store::StoreError,
};
use std::fmt;

/// Errors beyond this many are not listed.
const MAX_ERRORS: usize = 100;

#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The sender must correct these fields. Never empty.
    #[error("{}", first_of(.0))]
    Invalid(Vec<EntryError>),
    /// Not an export at all, or a damaged one.
    #[error("{0}")]
    Unreadable(String),
    /// It takes more memory than an import may take.
    #[error(
        "This history is too large to be imported: up to about 50 MB of text, less with many entries, files and fields."
    )]
    TooLarge,
    #[error("There is no such session.")]
    Missing,
    /// In a group, a member may only change their own messages.
    #[error("the history of a group can only be replaced by an admin")]
    NotTheirs,
    /// The session changed since it was read: read it again.
    #[error("the session was changed meanwhile")]
    Stale,
    /// A turn is pending or running: cancel it or wait.
    #[error("a turn of the session is pending or running")]
    Busy,
    /// Others are importing: try again later.
    #[error("Others are importing right now. Please try again in a minute.")]
    TooMany,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Attachment(#[from] AttachmentError),
    #[error(transparent)]
    Render(#[from] RenderError),
}

fn first_of(errors: &[EntryError]) -> String {
    errors.first().map(EntryError::to_string).unwrap_or_default()
}

/// One field that is wrong, in one entry or in the document itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryError {
    /// The entry, counted from 0; none for a field of the document.
    pub index: Option<usize>,
    pub field: String,
    pub detail: String,
}

impl From<FieldError> for EntryError {
    fn from(error: FieldError) -> Self {
        Self { index: None, field: error.field, detail: error.detail }
    }
}

impl fmt::Display for EntryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.index {
            Some(index) => write!(f, "Item {index}, {}: {}", self.field, self.detail),
            None => write!(f, "{}: {}", self.field, self.detail),
        }
    }
}

/// Collects errors, so that one reply names all of them.
#[derive(Default)]
pub struct EntryErrors(Vec<EntryError>);

impl EntryErrors {
    pub fn add(&mut self, index: usize, field: impl Into<String>, detail: impl Into<String>) {
        if self.0.len() < MAX_ERRORS {
            self.0.push(EntryError { index: Some(index), field: field.into(), detail: detail.into() });
        }
    }

    pub fn add_all(&mut self, index: usize, errors: Vec<FieldError>) {
        for error in errors {
            self.add(index, error.field, error.detail);
        }
    }

    pub fn into_result(self) -> Result<(), ImportError> {
        if self.0.is_empty() { Ok(()) } else { Err(ImportError::Invalid(self.0)) }
    }
}
