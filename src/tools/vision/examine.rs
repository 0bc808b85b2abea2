//! Runs the on-device models on a picture: within its scope, on the render pool, in the memory for edits.

use crate::{
    domain::Attachment,
    rendering::Rendered,
    tools::{
        ToolContext, ToolError,
        on_device::{LOOKING_MEMORY, as_imaging_error, models},
        sources::check_image,
    },
};
use imaging::{EditContext, EditCost, StopFlag};
use vision::{Models, RgbImage, VisionError};

/// Decodes the picture and runs `work` on its pixels. Of an animation it is the first frame.
pub(super) async fn examine<T: Send + 'static>(
    context: &ToolContext,
    file: &Attachment,
    work: impl FnOnce(&Models, &RgbImage, &StopFlag) -> Result<T, VisionError> + Send + 'static,
) -> Result<T, ToolError> {
    let renderer = &context.renderer;
    check_image(context.pool().limits(), file)?;
    let models = models(context)?;
    let plan = renderer.plan_chain(file).await?;
    let memory = plan.memory_with(EditCost::Model { bytes: LOOKING_MEMORY }, 0);
    let place = context.pool().reserve_edit(context.scope.conversation(), memory).await?;
    let chain = plan.load(&renderer.attachments).await?;
    let examine = move |edit: &EditContext| {
        let picture = match chain.apply(None, edit)? {
            Rendered::Picture(picture) => picture,
            Rendered::File(encoded) => imaging::decode(&encoded.bytes, edit)?,
        };
        let pixels = picture.into_rgb8();
        work(&models, &pixels, edit.stop_flag()).map_err(as_imaging_error)
    };
    Ok(context.pool().run_edit(&place, examine).await?)
}
