//! Files as a model is shown them: pictures downscaled and free of metadata, anything else as it was sent.

use crate::{
    domain::Attachment,
    providers::{LoadedFile, MediaSource, ShownFile},
    rendering::Renderer,
};
use futures::{FutureExt as _, future::BoxFuture};
use imaging::{Format, View};
use tracing::warn;

pub struct Media(pub Renderer);

impl MediaSource for Media {
    fn picture<'a>(&'a self, shown: &'a ShownFile, longest: u32) -> BoxFuture<'a, Option<LoadedFile>> {
        async move {
            let file = &shown.attachment;
            file.width.and(file.height)?;
            // What cannot be opened need not be fetched to find out.
            Format::from_mime(&file.mime_type).filter(|format| format.is_editable())?;
            let view = View { longest, region: shown.region, grid: shown.grid };
            let seen = self
                .0
                .view(file, &view)
                .await
                .inspect_err(
                    |error| warn!(attachment = %file.attachment_id, %error, "cannot be shown to a model"),
                )
                .ok()?;
            Some(LoadedFile { mime: seen.mime.to_owned(), bytes: seen.bytes })
        }
        .boxed()
    }

    fn file<'a>(&'a self, file: &'a Attachment) -> BoxFuture<'a, Option<LoadedFile>> {
        async move {
            let bytes = self
                .0
                .bytes(file)
                .await
                .inspect_err(
                    |error| warn!(attachment = %file.attachment_id, %error, "cannot be given to a model"),
                )
                .ok()?;
            Some(LoadedFile { mime: file.mime_type.clone(), bytes })
        }
        .boxed()
    }
}
