//! The one way to a picture's file, view or pixels.
//!
//! In a chain of edits only the last picture becomes a file. The pictures in between are rows with a recipe; they are
//! rendered from it when they are asked for.

use super::{
    RenderError, RenderPool, TurnPixels, ViewImage, Vision,
    chain::{ChainPlan, EditChain, PlannedSource, RecipeEdit, Rendered},
    pixel_cache::PixelCache,
    view_cache::ViewCache,
};
use crate::{
    attachments::{Attachments, VIEW_SIZES},
    domain::{Attachment, Recipe},
    store::Store,
};
use bytes::Bytes;
use imaging::{EditContext, EditCost, Encoded, Footprint, Format, HEAD_BYTES, ImagingError, View};
use std::sync::Arc;

/// A longer chain of recipes is a loop.
const MAX_RECIPE_DEPTH: usize = 500;

/// An estimate below this is not worth a look into the file.
const LARGE_ESTIMATE: u64 = 64 << 20;

/// Turns a recipe into its edit. The tools know the edits, and rendering must not know the tools: `app` passes it in.
pub type ReadRecipe = fn(&Recipe, &Vision) -> Result<RecipeEdit, RenderError>;

/// Cheap to clone; all clones share pool and caches.
#[derive(Clone)]
pub struct Renderer {
    pub store: Store,
    pub attachments: Attachments,
    pub pool: RenderPool,
    pixels: PixelCache,
    views: ViewCache,
    read_recipe: ReadRecipe,
    pub vision: Vision,
}

impl Renderer {
    pub fn new(store: Store, attachments: Attachments, pool: RenderPool, read_recipe: ReadRecipe) -> Self {
        let pixels = PixelCache::new(pool.pixel_cache_bytes());
        let (views, vision) = (ViewCache::default(), Vision::off());
        Self { store, attachments, pool, pixels, views, read_recipe, vision }
    }

    /// The same renderer with on-device models.
    pub fn with_vision(self, vision: Vision) -> Self {
        Self { vision, ..self }
    }

    /// A pixel cache for the pictures of one turn.
    pub fn turn_pixels(&self) -> Arc<TurnPixels> {
        Arc::new(TurnPixels::new(self.pixels.clone()))
    }

    /// The full bytes of a file, rendered and stored first if needed.
    pub async fn bytes(&self, file: &Attachment) -> Result<Bytes, RenderError> {
        let stored = self.ensure_stored(file).await?;
        Ok(self.attachments.bytes(&stored).await?)
    }

    /// Renders the recipe and stores the file if that has not happened yet.
    pub async fn ensure_stored(&self, file: &Attachment) -> Result<Attachment, RenderError> {
        if file.is_stored() {
            return Ok(file.clone());
        }
        let plan = self.plan_chain(file).await?;
        let render = |chain: EditChain, work: &EditContext| match chain.apply(None, work)? {
            Rendered::Picture(picture) => imaging::encode(&picture),
            Rendered::File(encoded) => Ok(encoded),
        };
        let place = self.pool.reserve_edit(&file.conversation, plan.memory()).await?;
        let chain = plan.load(&self.attachments).await?;
        let encoded = self.pool.run_edit(&place, move |work| render(chain, work)).await?;
        drop(place);
        let stored = self.attachments.store_rendered(file, Bytes::from(encoded.bytes)).await?;
        self.store.store_rendered_attachment(&stored).await?;
        Ok(stored)
    }

    /// Deletes the blobs of deleted files, and their cached views. What cannot be deleted now stays listed.
    pub async fn sweep(&self) -> Result<(), RenderError> {
        let swept = self.attachments.sweep().await;
        self.views.remove(&swept.deleted);
        swept.error.map_or(Ok(()), |error| Err(error.into()))
    }

    /// A small copy for a model, rendered once and cached in memory.
    pub async fn view(&self, file: &Attachment, view: &View) -> Result<ViewImage, RenderError> {
        let render = async { Ok(self.render_view(file, *view).await?.into()) };
        self.views.get_or_render(file, view, render).await
    }

    /// A small copy for the page, rendered once, stored beside the file and cached in memory. `size` is rounded up to one
    /// of `VIEW_SIZES`.
    pub async fn thumbnail(&self, file: &Attachment, size: u32) -> Result<ViewImage, RenderError> {
        let largest = VIEW_SIZES[VIEW_SIZES.len() - 1];
        let size = VIEW_SIZES.into_iter().find(|stored| *stored >= size).unwrap_or(largest);
        let file = self.ensure_stored(file).await?;
        let view = View::whole(size);
        let render = async {
            if let Some(bytes) = self.attachments.load_view(&file, size).await?
                && let Some(mime) = imaging::Format::sniff(&bytes).map(|format| format.mime())
            {
                return Ok(ViewImage { bytes, mime });
            }
            let rendered: ViewImage = self.render_view(&file, view).await?.into();
            self.attachments.store_view(&file, size, rendered.bytes.clone()).await?;
            Ok(rendered)
        };
        self.views.get_or_render(&file, &view, render).await
    }

    async fn render_view(&self, file: &Attachment, view: View) -> Result<Encoded, RenderError> {
        let cost = EditCost::Resample;
        let result_pixels = u64::from(view.longest).pow(2);
        if let Some(picture) = self.pixels.get(file.attachment_id) {
            let memory = Footprint::of_picture(&picture).editing(cost, result_pixels);
            let place = self.pool.reserve_edit(&file.conversation, memory).await?;
            return self.pool.run_edit(&place, move |work| imaging::view(&picture, &view, work)).await;
        }
        let render = move |bytes: Bytes, work: &EditContext| imaging::view_file(&bytes, &view, work);
        self.run_on_file(file, cost, result_pixels, render).await
    }

    /// Runs work on the file of a picture, within the memory that it takes at its peak. The result has at most
    /// `result_pixels`.
    pub async fn run_on_file<T: Send + 'static>(
        &self,
        file: &Attachment,
        cost: EditCost,
        result_pixels: u64,
        work: impl FnOnce(Bytes, &EditContext) -> Result<T, ImagingError> + Send + 'static,
    ) -> Result<T, RenderError> {
        let file = self.ensure_stored(file).await?;
        let footprint = self.footprint(&file).await?;
        let memory = footprint.decoding().max(footprint.editing(cost, result_pixels));
        let place = self.pool.reserve_edit(&file.conversation, memory).await?;
        let bytes = self.attachments.bytes(&file).await?;
        self.pool.run_edit(&place, move |context| work(bytes, context)).await
    }

    /// What decides how much memory a stored picture takes. Looks into the file only if that may matter.
    pub async fn footprint(&self, file: &Attachment) -> Result<Footprint, RenderError> {
        let format = Format::from_mime(&file.mime_type).ok_or(ImagingError::NotAnImage)?;
        let (size, file_bytes) = (size_of(file), file.size.unsigned_abs());
        let assumed = Footprint::assume(format, size, file_bytes);
        let estimate = assumed.decoding().max(assumed.editing(EditCost::Resample, assumed.pixels()));
        if estimate < LARGE_ESTIMATE.min(self.pool.memory() / 2) {
            return Ok(assumed);
        }
        let head = self.attachments.byte_range(file, 0..HEAD_BYTES.min(file_bytes)).await?;
        Ok(Footprint::read(format, size, file_bytes, &head))
    }

    /// Follows recipes back to the nearest cached pixels or stored file. Cached pixels are taken out of the cache, because
    /// the caller edits them in place.
    pub async fn plan_chain(&self, file: &Attachment) -> Result<ChainPlan, RenderError> {
        let mut current = file.clone();
        let mut steps = Vec::new();
        let source = loop {
            if let Some(picture) = self.pixels.take(current.attachment_id) {
                break PlannedSource::Pixels(picture);
            }
            if current.is_stored() {
                break PlannedSource::File(Box::new(current));
            }
            let deleted = || RenderError::SourceDeleted { filename: file.filename.clone() };
            let (Some(recipe), Some(parent)) = (current.recipe(), current.parents.first()) else {
                return Err(deleted());
            };
            steps.push(((self.read_recipe)(recipe, &self.vision)?, size_of(&current)));
            let parent = self.store.attachment(&file.conversation, *parent).await?;
            current = parent.ok_or_else(deleted)?;
            if steps.len() > MAX_RECIPE_DEPTH {
                return Err(deleted());
            }
        };
        let (mut footprint, mut memory) = match &source {
            PlannedSource::Pixels(cached) => (Footprint::of_picture(cached.picture()), 0),
            PlannedSource::File(stored) => {
                let footprint = self.footprint(stored).await?;
                (footprint, footprint.decoding())
            }
        };
        let mut edits = Vec::new();
        let mut before = match &source {
            PlannedSource::Pixels(cached) => (cached.picture().width(), cached.picture().height()),
            PlannedSource::File(stored) => size_of(stored),
        };
        for (step, size) in steps.into_iter().rev() {
            let area = (step.area)(before.0.into(), before.1.into()) as u64;
            memory = memory.max(footprint.editing(step.cost, area));
            (footprint, before) = (footprint.edited(step.cost, size), size);
            edits.push(step.edit);
        }
        Ok(ChainPlan { source, edits, memory, footprint })
    }
}

fn size_of(file: &Attachment) -> (u32, u32) {
    let side = |side: Option<i64>| u32::try_from(side.unwrap_or_default()).unwrap_or(u32::MAX);
    (side(file.width), side(file.height))
}
