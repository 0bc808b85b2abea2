//! Pixels only: pure, synchronous code from bytes to bytes (probe, limits, codecs, ops).
//! Nothing here knows of chats, stores, tools or async; callers put it on a blocking thread.

mod blur;
mod codecs;
mod color;
mod error;
mod film;
mod geometry;
mod grid;
pub mod info;
pub mod ops;
mod paint;
mod palette;
mod picture;
mod pixelwise;
mod region;
mod sources;
mod spare;
#[cfg(test)]
mod tests;
mod text;
mod view;
mod work;

#[cfg(feature = "heic")]
use codecs::heic;
use codecs::{
    convert, decode, encode, format, header, jpeg, metadata, probe, profile, quality, segments, shortcut,
    strip,
};
pub use color::Color;
pub use convert::{Conversion, Metadata, Target, convert, convert_picture};
pub use decode::{Limits, decode};
pub use encode::{Encoded, encode};
pub use error::ImagingError;
pub use film::{Animation, FilmFormat, animate, edit_frames, is_animated};
pub use format::Format;
pub use grid::grid_steps;
pub use picture::Picture;
pub use probe::{Probe, probe};
pub use region::{PixelRect, Region, RegionError};
pub use shortcut::crop_file;
pub use sources::{Sources, Unusable};
pub use spare::reuse;
pub use text::{FontError, Fonts};
pub use view::{View, view, view_file};
pub use work::{Stop, Work};
