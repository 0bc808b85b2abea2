//! Loads files for a model: pictures downscaled and without metadata, other files unchanged.

use crate::{
    domain::Attachment,
    providers::{LoadedFile, MediaSource, ShownFile},
    rendering::Renderer,
};
use futures::{FutureExt as _, future::BoxFuture};
use imaging::{Format, View};
use tracing::warn;

pub struct ModelMedia(pub Renderer);

impl MediaSource for ModelMedia {
    fn picture<'a>(&'a self, shown: &'a ShownFile, longest: u32) -> BoxFuture<'a, Option<LoadedFile>> {
        async move {
            let file = &shown.attachment;
            file.width.and(file.height)?;
            // A format that cannot be decoded is not fetched.
            Format::from_mime(&file.mime_type).filter(|format| format.is_editable())?;
            let view = View { longest, region: shown.region, grid: shown.grid };
            let view = self
                .0
                .view(file, &view)
                .await
                .inspect_err(
                    |error| warn!(error = error.log_text(), op = "load_picture", attachment_id = %file.attachment_id, "picture not shown to the model"),
                )
                .ok()?;
            Some(LoadedFile { mime: view.mime.to_owned(), bytes: view.bytes })
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
                    |error| warn!(error = error.log_text(), op = "load_file", attachment_id = %file.attachment_id, "file not sent to the model"),
                )
                .ok()?;
            Some(LoadedFile { mime: file.mime_type.clone(), bytes })
        }
        .boxed()
    }
}
