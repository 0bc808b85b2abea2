//! The one way to a picture's file, view or pixels.
//!
//! In a chain of edits only the last picture becomes a file. The pictures in between are rows with a recipe; they are
//! rendered from it when they are asked for.

use super::{
    PixelEdit, RenderError, RenderPool, TurnPixels, ViewImage, Vision,
    chain::{ChainSource, EditChain, Rendered},
    pixel_cache::PixelCache,
    view_cache::ViewCache,
};
use crate::{
    attachments::{Attachments, VIEW_SIZES},
    domain::{Attachment, Recipe},
    store::Store,
};
use bytes::Bytes;
use imaging::{EditContext, Encoded, View};
use std::sync::Arc;

/// A longer chain of recipes is a loop.
const MAX_RECIPE_DEPTH: usize = 500;

/// Turns a recipe into its edit. The tools know the edits, and rendering must not know the tools: `app` passes it in.
pub type ReadRecipe = fn(&Recipe, &Vision) -> Result<Arc<PixelEdit>, RenderError>;

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
        let chain = self.load_chain(file).await?;
        let render = |chain: EditChain, work: &EditContext| match chain.apply(None, work)? {
            Rendered::Picture(picture) => imaging::encode(&picture),
            Rendered::File(encoded) => Ok(encoded),
        };
        let encoded = self
            .pool
            .run_edit(&file.conversation, chain.max_pixels(), move |work| render(chain, work))
            .await?;
        let stored = self.attachments.store_rendered(file, Bytes::from(encoded.bytes)).await?;
        self.store.store_rendered_attachment(&stored).await?;
        Ok(stored)
    }

    /// Deletes the blobs of deleted files, and their cached views.
    pub async fn sweep(&self) -> Result<(), RenderError> {
        let deleted = self.attachments.sweep().await?;
        self.views.remove(&deleted);
        Ok(())
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
        if let Some(picture) = self.pixels.get(file.attachment_id) {
            let render = move |work: &EditContext| imaging::view(&picture, &view, work);
            return self.pool.run_edit(&file.conversation, pixel_count(file), render).await;
        }
        let bytes = self.bytes(file).await?;
        let render = move |work: &EditContext| imaging::view_file(&bytes, &view, work);
        self.pool.run_edit(&file.conversation, pixel_count(file), render).await
    }

    /// Follows recipes back to the nearest cached pixels or stored file. Cached pixels are taken out of the cache, because
    /// the caller edits them in place.
    pub async fn load_chain(&self, file: &Attachment) -> Result<EditChain, RenderError> {
        let mut current = file.clone();
        let mut edits = Vec::new();
        let mut max_pixels = 0;
        let source = loop {
            max_pixels = max_pixels.max(pixel_count(&current));
            if let Some(picture) = self.pixels.take(current.attachment_id) {
                break ChainSource::Pixels(picture);
            }
            if current.is_stored() {
                break ChainSource::File(self.attachments.bytes(&current).await?);
            }
            let deleted = || RenderError::SourceDeleted { filename: file.filename.clone() };
            let (Some(recipe), Some(parent)) = (current.recipe(), current.parents.first()) else {
                return Err(deleted());
            };
            edits.push((self.read_recipe)(recipe, &self.vision)?);
            let parent = self.store.attachment(&file.conversation, *parent).await?;
            current = parent.ok_or_else(deleted)?;
            if edits.len() > MAX_RECIPE_DEPTH {
                return Err(deleted());
            }
        };
        edits.reverse();
        Ok(EditChain { source, edits, max_pixels })
    }
}

fn pixel_count(file: &Attachment) -> u64 {
    let side = |side: Option<i64>| side.unwrap_or_default().unsigned_abs();
    side(file.width).saturating_mul(side(file.height))
}
