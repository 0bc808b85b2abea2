//! The edits, one per file: each takes a [`Picture`](super::Picture) and gives one back.

mod annotate;
mod crop;
mod filter;
mod flip;
mod highlight;
mod resize;
mod rotate;
mod watermark;

pub use annotate::{Annotation, Backing, Path, PathKind, Pin, Place, Spot, TextAlign, Words, annotate};
pub use crop::{Aspect, CropTo, crop};
pub use filter::{Filter, filter};
pub use flip::{Axis, flip};
pub use highlight::{Highlight, Shape, highlight};
pub use resize::{Fit, ResizeTo, resize};
pub use rotate::rotate;
pub use watermark::{Mark, Position, Watermark, watermark};
