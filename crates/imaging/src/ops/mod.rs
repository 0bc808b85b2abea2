//! The edits. Each takes a [`Picture`](super::Picture), or several as [`Sources`](super::Sources), and returns a new
//! one.

mod adjust;
mod annotate;
mod backdrop;
mod collage;
mod compare;
mod crop;
mod filter;
mod flip;
mod highlight;
mod redact;
mod resize;
mod rotate;
mod service_canvas;
mod watermark;

pub use adjust::{Adjustment, adjust};
pub use annotate::{
    Annotation, LineAnnotation, LineKind, PinAnnotation, RelativePoint, TextAlign, TextAnnotation,
    TextBacking, TextPosition, annotate,
};
pub use backdrop::{Backdrop, replace_pixels, set_backdrop};
pub use collage::{Collage, CollageBackground, CollageLayout, collage};
pub use compare::{CompareMode, Comparison, compare};
pub use crop::{Aspect, Borders, CropCenter, CropTo, TrimTolerance, crop, crop_file, find_borders};
pub use filter::{Filter, FilterSettings, filter};
pub use flip::{FlipAxis, flip};
pub use highlight::{Highlight, HighlightShape, highlight};
pub use redact::{Redaction, RedactionStyle, redact};
pub use resize::{Fit, ResizeTo, resize};
pub(super) use resize::{resize_to_cell, resized};
pub use rotate::{RotateCorners, rotate};
pub use service_canvas::{CanvasLayout, draw_mask, draw_on_canvas, paste_region};
pub use watermark::{Watermark, WatermarkContent, WatermarkPosition, watermark};
