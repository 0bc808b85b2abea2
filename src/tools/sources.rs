//! Finds the images that a call names within the scope, checks them against the limits, and loads them.

use super::{ToolContext, ToolError, outcome::Failure, wording};
use crate::{
    attachments::AttachmentError,
    domain::{Attachment, AttachmentId},
};
use imaging::Limits;

/// The files of these ids, in order. Only this conversation is searched.
pub(super) async fn find_all(
    context: &ToolContext,
    ids: &[AttachmentId],
) -> Result<Vec<Result<Attachment, Failure>>, ToolError> {
    let conversation = context.scope.conversation();
    let known = context.renderer.store.attachments(conversation, ids).await;
    let known = known.map_err(AttachmentError::from)?;
    let find = |id: &AttachmentId| {
        let file = known.iter().find(|file| file.attachment_id == *id);
        file.cloned().ok_or(Failure::unknown(*id))
    };
    Ok(ids.iter().map(find).collect())
}

/// The width and height of a picture that may be edited. Refuses other files, and pictures over the limits.
pub(super) fn check_image(limits: &Limits, file: &Attachment) -> Result<(u32, u32), ToolError> {
    if !file.is_image() {
        return Err(ToolError::BadArgument(format!(
            "{} is {} file, not a picture.",
            file.filename,
            wording::with_article(&file.mime_type)
        )));
    }
    let (width, height) = (side(file.width), side(file.height));
    limits.check(width, height)?;
    Ok((width, height))
}

/// A width or height of an attachment row, as pixels.
pub(super) fn side(side: Option<i64>) -> u32 {
    u32::try_from(side.unwrap_or_default()).unwrap_or(u32::MAX)
}
