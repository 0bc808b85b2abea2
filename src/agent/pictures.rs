//! Pictures as a model is shown them: downscaled, metadata-free, as a data URL.

use crate::{domain::Attachment, providers::PictureSource, tools::Prints};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures::{FutureExt as _, future::BoxFuture};
use tracing::warn;

/// Large enough to read a street sign, small enough to send ten.
const LONGEST_SIDE: u32 = 1280;

pub struct Pictures(pub Prints);

impl PictureSource for Pictures {
    fn data_url<'a>(&'a self, attachment: &'a Attachment) -> BoxFuture<'a, Option<String>> {
        async move {
            attachment.width.and(attachment.height)?;
            let shown = self
                .0
                .view(attachment, LONGEST_SIDE)
                .await
                .inspect_err(|error| warn!(attachment = %attachment.attachment_id, %error, "cannot be shown to a model"))
                .ok()?;
            Some(format!("data:{};base64,{}", shown.mime, BASE64_STANDARD.encode(&shown.bytes)))
        }
        .boxed()
    }
}
