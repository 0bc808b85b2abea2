//! Pixels only: pure, synchronous code from bytes to bytes (probe, limits, codecs, ops).
//! Nothing here knows of chats, stores, tools or async; callers put it on a blocking thread.

mod blur;
mod color;
mod convert;
mod decode;
mod encode;
mod error;
mod film;
mod format;
mod geometry;
mod header;
#[cfg(feature = "heic")]
mod heic;
pub mod info;
mod jpeg;
mod metadata;
pub mod ops;
mod paint;
mod palette;
mod picture;
mod pixelwise;
mod probe;
mod profile;
mod quality;
mod region;
mod segments;
mod shortcut;
mod sources;
mod spare;
mod strip;
#[cfg(test)]
mod tests;
mod text;
mod view;
mod work;

pub use color::Color;
pub use convert::{Conversion, Metadata, Target, convert};
pub use decode::{Limits, decode};
pub use encode::{Encoded, encode};
pub use error::ImagingError;
pub use film::{Animation, FilmFormat, animate, edit_frames, is_animated};
pub use format::Format;
pub use picture::Picture;
pub use probe::{Probe, probe};
pub use region::{PixelRect, Region, RegionError};
pub use shortcut::crop_file;
pub use sources::{Sources, Unusable};
pub use spare::reuse;
pub use text::{FontError, Fonts};
pub use view::{downscale_for_view, view};
pub use work::{Stop, Work};
