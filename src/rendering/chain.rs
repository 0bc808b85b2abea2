//! A chain of edits: the nearest pixels or file of a picture, and the edits that lead from there to the picture.

use bytes::Bytes;
use imaging::{EditContext, Encoded, ImagingError, Picture};
use std::sync::Arc;

/// One edit of pixels.
pub type PixelEdit = dyn Fn(Picture, &EditContext) -> Result<Picture, ImagingError> + Send + Sync;
/// The same edit straight from the file, where that is faster than decoding all of it.
pub type FileEdit = dyn Fn(&[u8], &EditContext) -> Result<Picture, ImagingError> + Send + Sync;

/// Where a picture comes from, and what was done to it since. Made by `Renderer::load_chain`.
pub struct EditChain {
    pub(super) source: ChainSource,
    /// Oldest first.
    pub(super) edits: Vec<Arc<PixelEdit>>,
    pub(super) max_pixels: u64,
}

pub(super) enum ChainSource {
    Pixels(Picture),
    File(Bytes),
}

/// The edit that is asked for now, after those of the chain.
pub struct LastEdit {
    pub edit: Arc<PixelEdit>,
    pub from_file: Option<Arc<FileEdit>>,
}

/// What a chain gives.
pub enum Rendered {
    Picture(Picture),
    /// More than one picture can hold, such as an animation.
    File(Encoded),
}

impl EditChain {
    /// Pixel count of the largest picture of the chain.
    pub fn max_pixels(&self) -> u64 {
        self.max_pixels
    }

    /// Applies the edits of the chain, then `last`. An animation is edited frame by frame. Runs on the pool.
    pub fn apply(self, last: Option<LastEdit>, work: &EditContext) -> Result<Rendered, ImagingError> {
        let last_edit = last.as_ref().map(|last| &last.edit);
        let apply_all = |picture: Picture, work: &EditContext| {
            self.edits.iter().chain(last_edit).try_fold(picture, |picture, edit| {
                work.check_stopped()?;
                edit(picture, work)
            })
        };
        let picture = match self.source {
            ChainSource::Pixels(picture) => apply_all(picture, work)?,
            ChainSource::File(bytes) if imaging::is_animated(&bytes) => {
                return imaging::edit_frames(&bytes, work, &apply_all).map(Rendered::File);
            }
            ChainSource::File(bytes) => match last.as_ref().and_then(|last| last.from_file.as_ref()) {
                Some(from_file) if self.edits.is_empty() => from_file(&bytes, work)?,
                _ => apply_all(imaging::decode(&bytes, work)?, work)?,
            },
        };
        Ok(Rendered::Picture(picture))
    }
}
