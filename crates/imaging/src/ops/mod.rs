//! The edits, one per file: each takes a [`Picture`](super::Picture) and gives one back.

mod adjust;
mod annotate;
mod collage;
mod compare;
mod crop;
mod filter;
mod flip;
mod highlight;
mod inlay;
mod redact;
mod resize;
mod rotate;
mod watermark;

pub use adjust::{Adjustment, adjust};
pub use annotate::{Annotation, Backing, Path, PathKind, Pin, Place, Spot, TextAlign, Words, annotate};
pub use collage::{Background, Collage, CollageLayout, collage};
pub use compare::{CompareMode, Comparison, compare};
pub use crop::{Around, Aspect, Borders, CropTo, Tolerance, borders, crop};
pub use filter::{Filter, Filtering, filter};
pub use flip::{Axis, flip};
pub use highlight::{Highlight, Shape, highlight};
pub use inlay::{Layout, inlay, lay_out, mask};
pub use redact::{Redaction, RedactionStyle, redact};
pub(super) use resize::resized;
pub use resize::{Fit, ResizeTo, resize};
pub use rotate::{Corners, rotate};
pub use watermark::{Mark, Position, Watermark, watermark};
