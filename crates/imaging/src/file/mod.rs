//! The structure of image files, read without decoding pixels: headers, Exif, compression, metadata removal.

mod compression;
mod exif;
mod header;
#[cfg(feature = "heic")]
mod heic;
mod jpeg_segments;
mod probe;
mod strip;

pub(crate) use self::exif::{
    has_position, read_exif, read_exif_block, read_portable_exif, read_tiff_profile,
};
pub(crate) use compression::{Chroma, Compression};
#[cfg(feature = "heic")]
pub(crate) use heic::read_heic_depth;
pub use probe::{Probe, probe};
pub(crate) use probe::{decoder_error, read_header};
pub(crate) use strip::strip_metadata;
