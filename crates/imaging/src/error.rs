//! What can go wrong with a picture, by what the caller does next. The texts are written for the
//! person or model who reads them; details for the log stay in `Debug`.

use crate::{Format, RegionError, TooLarge};

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ImagingError {
    #[error(
        "This file is not a picture. Pictures that can be edited are JPEG, PNG, WebP, GIF, BMP, TIFF and HEIC."
    )]
    NotAnImage,

    #[error("{}", kept_as_it_is(*.format))]
    NotEditableYet { format: Format },

    #[error(transparent)]
    TooLarge(#[from] TooLarge),

    #[error(
        "This {format} file is damaged or incomplete and cannot be opened. Send it again, or export it anew."
    )]
    Damaged { format: Format, detail: String },

    #[error("{0}")]
    BadArgument(String),

    /// Nobody waited for it any more.
    #[error("The edit was stopped before it was done.")]
    Stopped,

    #[error("The picture could not be processed. Try another edit, or another file.")]
    Failed { detail: String },
}

fn kept_as_it_is(format: Format) -> String {
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
