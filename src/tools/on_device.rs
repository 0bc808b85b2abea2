//! What all uses of the on-device models share: their memory, and their errors as the render pool knows them.

use super::{ToolContext, ToolError};
use imaging::ImagingError;
use std::sync::Arc;
use vision::{Models, VisionError};

/// Memory of the models that edit, in bytes, besides the picture and its copies: 250 MB for a portrait, and with its two
/// models most for erasing.
pub(super) const MODEL_MEMORY: u64 = 320 << 20;
/// The same for models that only look: 40 MB for codes, 200 MB for faces.
pub(super) const LOOKING_MEMORY: u64 = 220 << 20;

/// The models, or why there are none.
pub(super) fn models(context: &ToolContext) -> Result<Arc<Models>, ToolError> {
    let models = context.renderer.vision.models().cloned();
    models.ok_or_else(|| ToolError::Failed("The on-device models are turned off here.".to_owned()))
}

/// The pool knows the errors of imaging alone.
pub(super) fn as_imaging_error(error: VisionError) -> ImagingError {
    match error {
        VisionError::Stopped => ImagingError::Stopped,
        VisionError::Failed { detail } => ImagingError::Failed { detail },
        VisionError::NotInstalled { .. } => ImagingError::BadArgument(error.to_string()),
    }
}
