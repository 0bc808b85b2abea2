//! The edits, one per file: each takes a [`Picture`](super::Picture) and gives one back.

mod collage;
mod compare;
mod crop;
mod filter;
mod flip;
mod highlight;
mod resize;
mod rotate;

pub use collage::{Background, Collage, CollageLayout, collage};
pub use compare::{CompareMode, Comparison, compare};
pub use crop::{Aspect, CropTo, crop};
pub use filter::{Filter, filter};
pub use flip::{Axis, flip};
pub use highlight::{Highlight, Shape, highlight};
pub(super) use resize::resized;
pub use resize::{Fit, ResizeTo, resize};
pub use rotate::rotate;
