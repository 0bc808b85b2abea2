//! The one way to a picture's file or pixels. In a chain of edits only the last picture becomes a file; the ones in
//! between are rows with a recipe, and are made again from it when somebody asks for them.

use super::{
    Darkroom, ToolError,
    editing::{Each, FromFile},
    edits,
    views::Viewed,
};
use crate::{
    attachments::{AttachmentError, Attachments, VIEW_SIZES},
    domain::Attachment,
    store::Store,
};
use bytes::Bytes;
use imaging::{self, Encoded, ImagingError, Picture, View, Work};
use std::sync::Arc;

/// No chain of edits is this long; a longer one is a loop.
const LONGEST_CHAIN: usize = 500;

/// Cheap to clone.
#[derive(Clone)]
pub struct Prints {
    pub store: Store,
    pub attachments: Attachments,
    pub darkroom: Darkroom,
}

/// What the next edit of a picture begins with: the nearest pixels or file, and the edits made since.
pub(super) struct Start {
    from: Origin,
    since: Vec<Arc<Each>>,
    /// Of the largest picture on the way.
    pub(super) pixels: u64,
}

enum Origin {
    Pixels(Picture),
    File(Bytes),
}

/// What came out of the darkroom.
pub(super) enum Developed {
    Picture(Picture),
    /// Something that pixels alone cannot say, such as an animation.
    File(Encoded),
}

/// The edit that is asked for now.
pub(super) struct Last {
    pub edit: Arc<Each>,
    pub from_file: Option<Arc<FromFile>>,
}

impl Start {
    pub(super) fn develop(self, last: Option<Last>, work: &Work) -> Result<Developed, ImagingError> {
        let last_edit = last.as_ref().map(|last| &last.edit);
        let edit = |picture: Picture, work: &Work| {
            self.since.iter().chain(last_edit).try_fold(picture, |picture, edit| {
                work.go_on()?;
                edit(picture, work)
            })
        };
        let picture = match self.from {
            Origin::Pixels(picture) => edit(picture, work)?,
            Origin::File(bytes) if imaging::is_animated(&bytes) => {
                return imaging::edit_frames(&bytes, work, &edit).map(Developed::File);
            }
            Origin::File(bytes) => match last.as_ref().and_then(|last| last.from_file.as_ref()) {
                Some(shortcut) if self.since.is_empty() => shortcut(&bytes, work)?,
                _ => edit(imaging::decode(&bytes, work)?, work)?,
            },
        };
        Ok(Developed::Picture(picture))
    }
}

impl Prints {
    /// The full bytes of a file, printed first if need be.
    pub async fn bytes(&self, file: &Attachment) -> Result<Bytes, ToolError> {
        let printed = self.printed(file).await?;
        Ok(self.attachments.bytes(&printed).await?)
    }

    /// The same attachment with a file behind it.
    pub async fn printed(&self, file: &Attachment) -> Result<Attachment, ToolError> {
        if file.is_printed() {
            return Ok(file.clone());
        }
        let start = self.start(file).await?;
        let pixels = start.pixels;
        let print = move |work: &Work| match start.develop(None, work)? {
            Developed::Picture(picture) => imaging::encode(&picture),
            Developed::File(encoded) => Ok(encoded),
        };
        let encoded = self.darkroom.develop(pixels, print).await?;
        let printed = self.attachments.fulfil(file, Bytes::from(encoded.bytes)).await?;
        self.store.print_attachment(&printed).await.map_err(AttachmentError::from)?;
        Ok(printed)
    }

    /// Removes the bytes of deleted files, and what is remembered of how they looked.
    pub async fn sweep(&self) -> Result<(), ToolError> {
        let gone = self.attachments.sweep().await?;
        self.darkroom.views().forget(&gone);
        Ok(())
    }

    /// A small copy to look at, made once for all who ask.
    pub async fn view(&self, file: &Attachment, view: &View) -> Result<Viewed, ToolError> {
        let make = async { Ok(self.make_view(file, *view).await?.into()) };
        self.darkroom.views().get(file, view, make).await
    }

    /// A small copy for the page: made once, and kept beside the file. Sizes are rounded up to a few.
    pub async fn thumbnail(&self, file: &Attachment, size: u32) -> Result<Viewed, ToolError> {
        let largest = VIEW_SIZES[VIEW_SIZES.len() - 1];
        let size = VIEW_SIZES.into_iter().find(|kept| *kept >= size).unwrap_or(largest);
        let file = self.printed(file).await?;
        let view = View::whole(size);
        let make = async {
            if let Some(bytes) = self.attachments.kept_view(&file.sha256, size).await?
                && let Some(mime) = imaging::Format::sniff(&bytes).map(|format| format.mime())
            {
                return Ok(Viewed { bytes, mime });
            }
            let made: Viewed = self.make_view(&file, view).await?.into();
            self.attachments.keep_view(&file, size, made.bytes.clone()).await?;
            Ok(made)
        };
        self.darkroom.views().get(&file, &view, make).await
    }

    async fn make_view(&self, file: &Attachment, view: View) -> Result<Encoded, ToolError> {
        if let Some(picture) = self.darkroom.negatives().look(file.attachment_id) {
            let look = move |work: &Work| imaging::view(&picture, &view, work);
            return self.darkroom.develop(pixels(file), look).await;
        }
        let bytes = self.bytes(file).await?;
        let look = move |work: &Work| imaging::view_file(&bytes, &view, work);
        self.darkroom.develop(pixels(file), look).await
    }

    /// Takes the pixels if they are held: whoever asks is about to change them.
    pub(super) async fn start(&self, file: &Attachment) -> Result<Start, ToolError> {
        let mut at = file.clone();
        let mut since = Vec::new();
        let mut largest = 0;
        let from = loop {
            largest = largest.max(pixels(&at));
            if let Some(picture) = self.darkroom.negatives().take(at.attachment_id) {
                break Origin::Pixels(picture);
            }
            if at.is_printed() {
                break Origin::File(self.attachments.bytes(&at).await?);
            }
            let lost =
                || ToolError::Trouble(format!("What {} was made from has been deleted.", file.filename));
            let (Some(recipe), Some(parent)) = (&at.recipe, at.parents.first()) else { return Err(lost()) };
            since.push(edits::again(recipe)?);
            let parent = self.store.attachment(&file.conversation, *parent).await;
            at = parent.map_err(AttachmentError::from)?.ok_or_else(lost)?;
            if since.len() > LONGEST_CHAIN {
                return Err(lost());
            }
        };
        since.reverse();
        Ok(Start { from, since, pixels: largest })
    }
}

fn pixels(file: &Attachment) -> u64 {
    let side = |side: Option<i64>| side.unwrap_or_default().unsigned_abs();
    side(file.width).saturating_mul(side(file.height))
}
