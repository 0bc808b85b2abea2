//! Image processing for Photothread: probe, decode, edit and encode pictures. Bytes in, bytes out.
//!
//! # Guarantees
//!
//! - **Pure and synchronous.** No I/O, no async, no clock, no randomness: the same input gives the same output. Calls
//!   block; run them on a worker thread.
//! - **Bounded.** Every size is checked against [`Limits`] before memory is allocated for its pixels, on decoding and on
//!   every edit. A decoder or encoder that panics on a hostile file fails that call only.
//! - **Stoppable.** Operations take an [`EditContext`]. Once its [`StopFlag`] is set, they return
//!   [`ImagingError::Stopped`] after at most a few rows of pixels or one call of a codec.
//! - **Colours stay.** Pictures keep their depth, alpha and colour profile. Where a profile no longer fits, pixels are
//!   converted to sRGB.
//! - **Private.** Encoded pictures carry no Exif, XMP or position. Only [`convert()`] keeps Exif, if
//!   [`MetadataPolicy::Keep`] asks for it, and notes a position that it keeps.
//! - **Lossless where possible.** Flips, right-angle rotations and crops only move pixels. Edits of a region leave all
//!   other pixels bit for bit.
//!
//! # Modules
//!
//! Each layer imports only from those above it.
//!
//! | Layer | Modules |
//! | --- | --- |
//! | Plain types | `format`, `limits`, `region`, `error`, `color`, `fonts`, `context` (limits, fonts and stop flag of a call) |
//! | Files without pixels | `file` (headers, Exif, compression, removal of metadata), `color_profile` |
//! | Pixels | `picture`, `buffer_pool`, `pixels`, `geometry`, `blur`, `palette`, `paint`, `text` |
//! | Codecs | `codecs` (decode, encode), `sources` (several encoded pictures) |
//! | Edits | [`ops`] |
//! | Whole files | `convert`, `memory` (how much a picture takes), `animation`, `grid` and `view` (small copies to look at), [`info`] (facts about a picture) |
//!
//! # Example
//!
//! ```
//! use imaging::ops::{self, FlipAxis};
//! use imaging::{EditContext, Format, Picture, decode, encode, probe};
//!
//! # fn main() -> Result<(), imaging::ImagingError> {
//! let file = encode(&Picture::new(image::DynamicImage::new_rgb8(40, 30), Format::Png))?;
//! assert_eq!(probe(&file.bytes)?.width, 40);
//!
//! let picture = decode(&file.bytes, &EditContext::default())?;
//! let flipped = encode(&ops::flip(picture, FlipAxis::Horizontal)?)?;
//! assert_eq!(flipped.mime, "image/png");
//! # Ok(())
//! # }
//! ```

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
mod memory;
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

pub use animation::{Animation, AnimationFormat, MAX_ANIMATION_BYTES, animate, edit_frames, is_animated};
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
pub use memory::{EditCost, Footprint, HEAD_BYTES};
pub use picture::Picture;
pub use region::{PixelRect, Region, RegionError};
pub use sources::{SourceError, Sources};
pub use view::{View, view, view_file};
