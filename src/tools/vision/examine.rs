//! Runs the on-device models on a picture: within its scope, on the render pool, in the memory for edits.

use crate::{
    domain::Attachment,
    rendering::{RenderPool, Rendered},
    tools::{
        ToolContext, ToolError,
        on_device::{MODEL_MEMORY, as_imaging_error, models},
        sources::check_image,
    },
};
use imaging::{EditContext, StopFlag};
use vision::{Models, RgbImage, VisionError};

/// Decodes the picture and runs `work` on its pixels. Of an animation it is the first frame.
pub(super) async fn examine<T: Send + 'static>(
    context: &ToolContext,
    file: &Attachment,
    work: impl FnOnce(&Models, &RgbImage, &StopFlag) -> Result<T, VisionError> + Send + 'static,
) -> Result<T, ToolError> {
    let renderer = &context.renderer;
    let (width, height) = check_image(context.pool().limits(), file)?;
    let models = models(context)?;
    let chain = renderer.load_chain(file).await?;
    let pixels = (u64::from(width) * u64::from(height)).max(chain.max_pixels());
    let pixels = pixels + MODEL_MEMORY / RenderPool::BYTES_PER_PIXEL;
    let examine = move |edit: &EditContext| {
        let picture = match chain.apply(None, edit)? {
            Rendered::Picture(picture) => picture,
            Rendered::File(encoded) => imaging::decode(&encoded.bytes, edit)?,
        };
        let pixels = picture.into_rgb8();
        work(&models, &pixels, edit.stop_flag()).map_err(as_imaging_error)
    };
    Ok(context.pool().run_edit(context.scope.conversation(), pixels, examine).await?)
}
