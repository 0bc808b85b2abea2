//! Pictures as a model is shown them: downscaled, metadata-free, as a data URL.

use crate::{
    attachments::Attachments, domain::Attachment, imaging, providers::PictureSource, tools::Darkroom,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures::{FutureExt as _, future::BoxFuture};
use tracing::warn;

/// Large enough to read a street sign, small enough to send ten.
const LONGEST_SIDE: u32 = 1280;

pub struct Pictures {
    pub attachments: Attachments,
    pub darkroom: Darkroom,
}

impl PictureSource for Pictures {
    fn data_url<'a>(&'a self, attachment: &'a Attachment) -> BoxFuture<'a, Option<String>> {
        async move {
            let bytes = self.attachments.bytes(attachment).await.ok()?;
            let pixels = attachment.width? as u64 * attachment.height? as u64;
            let shown = self
                .darkroom
                .develop(pixels, move |work| imaging::downscale_for_view(&bytes, work, LONGEST_SIDE))
                .await
                .inspect_err(|error| warn!(attachment = %attachment.attachment_id, %error, "cannot be shown to a model"))
                .ok()?;
            Some(format!("data:{};base64,{}", shown.mime, BASE64_STANDARD.encode(&shown.bytes)))
        }
        .boxed()
    }
}
