//! Errors, sorted by what the caller does next. The texts are for the person or model that reads them; details for the
//! log are only in `Debug`.

use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VisionError {
    /// Built without weights, or a file is missing from the folder of the operator.
    #[error("The on-device model for this is not installed here.")]
    NotInstalled { file: PathBuf },

    /// The stop flag was set.
    #[error("The work was stopped before it was done.")]
    Stopped,

    #[error("The picture could not be examined. Try another one.")]
    Failed { detail: String },
}

impl VisionError {
    pub(crate) fn failed(detail: impl ToString) -> Self {
        Self::Failed { detail: detail.to_string() }
    }
}
