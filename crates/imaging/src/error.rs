//! Errors, sorted by what the caller does next. The texts are for the person or model that reads them; details for
//! the log are only in `Debug`.

use crate::{Format, RegionError, TooLarge};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImagingError {
    #[error(
        "This file is not a picture. Pictures that can be edited are JPEG, PNG, WebP, GIF, BMP, TIFF and HEIC."
    )]
    NotAnImage,

    #[error("{}", describe_not_editable(*.format))]
    NotEditableYet { format: Format },

    #[error(transparent)]
    TooLarge(#[from] TooLarge),

    #[error(
        "This {format} file is damaged or incomplete and cannot be opened. Send it again, or export it anew."
    )]
    Damaged { format: Format, detail: String },

    #[error("{0}")]
    BadArgument(String),

    /// The stop flag was set.
    #[error("The edit was stopped before it was done.")]
    Stopped,

    #[error("The picture could not be processed. Try another edit, or another file.")]
    Failed { detail: String },
}

fn describe_not_editable(format: Format) -> String {
    let way_out = match format {
        Format::Heic => {
            "Send it as a photo instead of a file, or share it as JPEG (on an iPhone: Settings, Camera, Formats, \
             Most Compatible)."
        }
        Format::Avif => {
            "Send it as a photo instead of a file, or open it in an image viewer, save a copy as JPEG or PNG and \
             send that."
        }
        _ => {
            "It uses a rare variant of the format. Send it as a photo instead of a file, or export it as JPEG or PNG."
        }
    };
    format!("This {format} picture is kept as it is, but it cannot be edited yet. {way_out}")
}

impl ImagingError {
    pub(super) fn failed(detail: impl ToString) -> Self {
        Self::Failed { detail: detail.to_string() }
    }
}

impl From<RegionError> for ImagingError {
    fn from(error: RegionError) -> Self {
        Self::BadArgument(error.to_string())
    }
}
