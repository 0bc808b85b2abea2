//! Pixels only: pure, synchronous code from bytes to bytes (probe, limits, codecs, ops).

mod animation;
mod blur;
mod buffer_pool;
mod codecs;
mod color;
mod color_profile;
mod context;
mod convert;
mod error;
mod file;
mod fonts;
mod format;
mod geometry;
mod grid;
pub mod info;
mod limits;
pub mod ops;
mod paint;
mod palette;
mod picture;
mod pixels;
mod region;
mod sources;
#[cfg(test)]
mod tests;
mod text;
mod view;

pub use animation::{Animation, AnimationFormat, animate, edit_frames, is_animated};
pub use codecs::{Encoded, decode, encode};
pub use color::Color;
pub use context::{EditContext, StopFlag};
pub use convert::{Conversion, ConversionFormat, MetadataPolicy, convert, convert_picture};
pub use error::ImagingError;
pub use file::{Probe, probe};
pub use fonts::{FontError, Fonts};
pub use format::Format;
pub use grid::grid_steps;
pub use limits::{Limits, TooLarge};
pub use picture::Picture;
pub use region::{PixelRect, Region, RegionError};
pub use sources::{SourceError, Sources};
pub use view::{View, view, view_file};
