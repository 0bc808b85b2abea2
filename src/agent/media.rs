//! Files as a model is shown them: pictures downscaled and free of metadata, anything else as it was sent.

use crate::{
    domain::Attachment,
    providers::{Loaded, MediaSource, Shown},
    tools::Prints,
};
use futures::{FutureExt as _, future::BoxFuture};
use tracing::warn;

pub struct Media(pub Prints);

impl MediaSource for Media {
    fn picture<'a>(&'a self, shown: &'a Shown, longest: u32) -> BoxFuture<'a, Option<Loaded>> {
        async move {
            let file = &shown.attachment;
            file.width.and(file.height)?;
            let seen = self
                .0
                .view(file, longest)
                .await
                .inspect_err(
                    |error| warn!(attachment = %file.attachment_id, %error, "cannot be shown to a model"),
                )
                .ok()?;
            Some(Loaded { mime: seen.mime.to_owned(), bytes: seen.bytes.into() })
        }
        .boxed()
    }

    fn file<'a>(&'a self, file: &'a Attachment) -> BoxFuture<'a, Option<Loaded>> {
        async move {
            let bytes = self
                .0
                .bytes(file)
                .await
                .inspect_err(
                    |error| warn!(attachment = %file.attachment_id, %error, "cannot be given to a model"),
                )
                .ok()?;
            Some(Loaded { mime: file.mime_type.clone(), bytes })
        }
        .boxed()
    }
}
