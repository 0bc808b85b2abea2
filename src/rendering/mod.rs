//! Rendering: from an attachment and its recipe to pixels, a stored file or a view.
//!
//! `RenderPool` bounds CPU-bound work (`Workers` is how), `PixelCache` keeps decoded pictures between the edits of a turn, `EditChain` is the
//! edits between the nearest pixels and the picture asked for, `Renderer` is the one way to a picture's file or view, and
//! `ViewCache` keeps small copies, `Vision` the on-device models. Losing a cache loses nothing: recipes rebuild what it held.

mod chain;
mod error;
mod pixel_cache;
mod pool;
mod renderer;
#[cfg(test)]
mod tests;
mod view_cache;
mod vision;
mod workers;

pub use chain::{ChainPlan, EditChain, FileEdit, LastEdit, PixelEdit, RecipeEdit, Rendered, ResultArea};
pub use error::RenderError;
pub use pixel_cache::TurnPixels;
pub use pool::{PoolLimits, RenderPool};
pub use renderer::{ReadRecipe, Renderer};
pub use view_cache::ViewImage;
pub use vision::Vision;
pub use workers::Reservation;
