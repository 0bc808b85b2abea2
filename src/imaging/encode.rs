//! A [`Picture`] to bytes, in the format its purpose asks for and without any metadata: no Exif, no position, no
//! XMP. Only the colour profile goes along, because without it the colours would change.

use std::panic::{AssertUnwindSafe, catch_unwind};

use image::codecs::png::PngEncoder;
use image::{ColorType, DynamicImage, ImageEncoder};
use libjpeg_turbo_rs::{Encoder, PixelFormat};

use super::{Format, ImagingError, Picture};

/// Visually lossless for a photo that was a JPEG already.
const EDIT_QUALITY: u8 = 90;
/// The largest side a JPEG file can state.
const JPEG_MAX_SIDE: u32 = 65_500;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub bytes: Vec<u8>,
    pub mime: &'static str,
    /// Without the dot.
    pub extension: &'static str,
}

pub fn encode(picture: &Picture) -> Result<Encoded, ImagingError> {
    match picture.target() {
        Format::Jpeg if picture.width().max(picture.height()) <= JPEG_MAX_SIDE => jpeg(picture, EDIT_QUALITY),
        _ => png(picture),
    }
}

/// Alpha, if any, is dropped: callers that care choose PNG.
pub(super) fn jpeg(picture: &Picture, quality: u8) -> Result<Encoded, ImagingError> {
    let converted;
    let (pixels, layout) = match &picture.pixels {
        DynamicImage::ImageRgb8(_) => (&picture.pixels, PixelFormat::Rgb),
        DynamicImage::ImageLuma8(_) => (&picture.pixels, PixelFormat::Grayscale),
        // The fourth byte is skipped, which spares a copy.
        DynamicImage::ImageRgba8(_) => (&picture.pixels, PixelFormat::Rgbx),
        other if other.color().has_color() => {
            converted = DynamicImage::ImageRgb8(other.to_rgb8());
            (&converted, PixelFormat::Rgb)
        }
        other => {
            converted = DynamicImage::ImageLuma8(other.to_luma8());
            (&converted, PixelFormat::Grayscale)
        }
    };
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let mut encoder = Encoder::new(pixels.as_bytes(), width, height, layout).quality(quality);
    if let Some(profile) = profile_for(picture, pixels.color()) {
        encoder = encoder.icc_profile(profile);
    }
    let bytes = catch_unwind(AssertUnwindSafe(|| encoder.encode()))
        .map_err(|_| ImagingError::failed("the JPEG encoder panicked"))?
        .map_err(ImagingError::failed)?;
    Ok(Encoded { bytes, mime: Format::Jpeg.mime(), extension: Format::Jpeg.extension() })
}

pub(super) fn png(picture: &Picture) -> Result<Encoded, ImagingError> {
    let mut bytes = Vec::new();
    let mut encoder = PngEncoder::new(&mut bytes);
    if let Some(profile) = profile_for(picture, picture.pixels.color()) {
        encoder.set_icc_profile(profile.to_vec()).map_err(ImagingError::failed)?;
    }
    picture.pixels.write_with_encoder(encoder).map_err(ImagingError::failed)?;
    Ok(Encoded { bytes, mime: Format::Png.mime(), extension: Format::Png.extension() })
}

/// A profile describes pixels of one kind: a CMYK profile on the RGB we decoded to, or a gray one on a picture
/// that gained colour, would be wrong.
fn profile_for(picture: &Picture, color: ColorType) -> Option<&[u8]> {
    let wanted: &[u8] = if color.has_color() { b"RGB " } else { b"GRAY" };
    picture.icc.as_deref().filter(|profile| profile.get(16..20) == Some(wanted))
}
