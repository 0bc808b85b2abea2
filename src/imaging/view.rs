//! Small copies to look at, for models and pages; never the source of an edit.

use image::DynamicImage;

use super::encode::{jpeg, png};
use super::ops::{ResizeTo, resized};
use super::{Encoded, ImagingError, Picture, Work, decode, reuse};

/// Artefacts at this quality are below what a model or a thumbnail shows.
const VIEW_QUALITY: u8 = 85;

/// A JPEG, or a PNG where something shines through, no side longer than `longest`. Never enlarged.
pub fn downscale_for_view(bytes: &[u8], work: &Work, longest: u32) -> Result<Encoded, ImagingError> {
    let picture = decode(bytes, work)?;
    let seen = view(&picture, longest, work);
    reuse(picture);
    seen
}

/// The same for a picture already decoded.
pub fn view(picture: &Picture, longest: u32, work: &Work) -> Result<Encoded, ImagingError> {
    let small;
    let picture = if picture.width().max(picture.height()) > longest {
        small = resized(picture, ResizeTo::longest(longest)?, work)?;
        &small
    } else {
        picture
    };
    if is_opaque(&picture.pixels) { jpeg(picture, VIEW_QUALITY) } else { png(picture) }
}

/// Many files carry an alpha channel that hides nothing.
pub(super) fn is_opaque(pixels: &DynamicImage) -> bool {
    match pixels {
        DynamicImage::ImageRgba8(buffer) => buffer.pixels().all(|p| p.0[3] == u8::MAX),
        DynamicImage::ImageLumaA8(buffer) => buffer.pixels().all(|p| p.0[1] == u8::MAX),
        DynamicImage::ImageRgba16(buffer) => buffer.pixels().all(|p| p.0[3] == u16::MAX),
        DynamicImage::ImageLumaA16(buffer) => buffer.pixels().all(|p| p.0[1] == u16::MAX),
        _ => true,
    }
}
