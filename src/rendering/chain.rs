//! A chain of edits: the nearest pixels or file of a picture, and the edits that lead from there to the picture.

use super::{RenderError, pixel_cache::CachedPicture};
use crate::{attachments::Attachments, domain::Attachment};
use bytes::Bytes;
use imaging::{EditContext, EditCost, Encoded, Footprint, ImagingError, Picture};
use std::sync::Arc;

/// One edit of pixels.
pub type PixelEdit = dyn Fn(Picture, &EditContext) -> Result<Picture, ImagingError> + Send + Sync;
/// The same edit straight from the file, where that is faster than decoding all of it.
pub type FileEdit = dyn Fn(&[u8], &EditContext) -> Result<Picture, ImagingError> + Send + Sync;
/// The pixel count of an edit's result, from the width and height of its source.
pub type ResultArea = dyn Fn(f64, f64) -> f64 + Send + Sync;

/// The edit that a recipe names.
pub struct RecipeEdit {
    pub edit: Arc<PixelEdit>,
    pub cost: EditCost,
    pub area: Box<ResultArea>,
}

/// Where a picture comes from, and what was done to it since. Made by `Renderer::plan_chain`; holds no file yet.
pub struct ChainPlan {
    pub(super) source: PlannedSource,
    /// Oldest first.
    pub(super) edits: Vec<Arc<PixelEdit>>,
    /// The peak of making the picture, in bytes.
    pub(super) memory: u64,
    /// The picture that it makes.
    pub(super) footprint: Footprint,
}

pub(super) enum PlannedSource {
    Pixels(CachedPicture),
    File(Box<Attachment>),
}

/// The same with the file or the pixels at hand. Load it within the memory that was reserved for it.
pub struct EditChain {
    source: ChainSource,
    edits: Vec<Arc<PixelEdit>>,
}

enum ChainSource {
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

impl ChainPlan {
    /// The peak of making the picture, in bytes.
    pub fn memory(&self) -> u64 {
        self.memory
    }

    /// The same with one more edit, whose result has so many pixels.
    pub fn memory_with(&self, cost: EditCost, result_pixels: u64) -> u64 {
        self.memory.max(self.footprint.editing(cost, result_pixels))
    }

    pub async fn load(self, attachments: &Attachments) -> Result<EditChain, RenderError> {
        let source = match self.source {
            PlannedSource::Pixels(cached) => ChainSource::Pixels(cached.into_picture()),
            PlannedSource::File(file) => ChainSource::File(attachments.bytes(&file).await?),
        };
        Ok(EditChain { source, edits: self.edits })
    }
}

impl EditChain {
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
