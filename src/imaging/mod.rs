//! Pixels only: pure, synchronous code from bytes to bytes (probe, limits, codecs, ops).
//! Nothing here knows of chats, stores, tools or async; callers put it on a blocking thread.

mod color;
mod decode;
mod encode;
mod error;
mod format;
mod geometry;
mod header;
pub mod ops;
mod paint;
mod picture;
mod probe;
mod region;
#[cfg(test)]
mod tests;
mod text;
mod view;
mod work;

pub use color::Color;
pub use decode::{Limits, decode};
pub use encode::{Encoded, encode};
pub use error::ImagingError;
pub use format::Format;
pub use picture::Picture;
pub use probe::{Probe, probe};
pub use region::{PixelRect, Region, RegionError};
pub use text::{FontError, Fonts};
pub use view::{downscale_for_view, view};
pub use work::{Stop, Work};
