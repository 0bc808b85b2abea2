//! Encodes a [`Picture`], as JPEG or PNG, without metadata: no Exif, no position, no XMP. Only the colour profile is
//! written, because colours would change without it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use image::codecs::png::{CompressionType, FilterType, PngEncoder};
use image::{DynamicImage, ImageEncoder};
use img_parts::{Bytes, DynImage, ImageEXIF as _, ImageICC as _};
use libjpeg_turbo_rs::{Encoder, PixelFormat, Subsampling};

use crate::file::Chroma;
use crate::{Format, ImagingError, Picture, color_profile};

/// Up to the size of a large screenshot, PNG compression is more thorough.
const THOROUGH_PIXELS: u64 = 2_100_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    pub bytes: Vec<u8>,
    pub mime: &'static str,
    /// Without the dot.
    pub extension: &'static str,
    /// For the person or model that asked: a choice that was made, or something that was lost.
    pub note: Option<String>,
}

impl Encoded {
    pub(crate) fn new(bytes: Vec<u8>, format: Format) -> Self {
        Self { bytes, mime: format.mime(), extension: format.extension(), note: None }
    }
}

pub fn encode(picture: &Picture) -> Result<Encoded, ImagingError> {
    match picture.output_format() {
        Format::Jpeg => encode_jpeg(picture, picture.compression.edit_quality()),
        _ => encode_png(picture),
    }
}

/// Drops alpha; for transparent pictures use PNG.
pub(crate) fn encode_jpeg(picture: &Picture, quality: u8) -> Result<Encoded, ImagingError> {
    let (fitted, profile) = profile_to_write(picture);
    let source = fitted.as_ref().unwrap_or(&picture.pixels);
    let converted;
    let (pixels, layout) = match source {
        DynamicImage::ImageRgb8(_) => (source, PixelFormat::Rgb),
        DynamicImage::ImageLuma8(_) => (source, PixelFormat::Grayscale),
        // The encoder skips the fourth byte, which saves a copy.
        DynamicImage::ImageRgba8(_) => (source, PixelFormat::Rgbx),
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
    if layout != PixelFormat::Grayscale && picture.compression.chroma() == Chroma::Full {
        encoder = encoder.subsampling(Subsampling::S444);
    }
    if let Some(profile) = profile {
        encoder = encoder.icc_profile(profile);
    }
    let bytes = catch_unwind(AssertUnwindSafe(|| encoder.encode()))
        .map_err(|_| ImagingError::failed("the JPEG encoder panicked"))?
        .map_err(ImagingError::failed)?;
    Ok(Encoded::new(bytes, Format::Jpeg))
}

pub(crate) fn encode_png(picture: &Picture) -> Result<Encoded, ImagingError> {
    let (fitted, profile) = profile_to_write(picture);
    let mut bytes = Vec::new();
    // The crate's own fast setting makes screenshots four times larger than the lowest deflate level, and takes
    // longer. Small pictures get a higher level.
    let small = u64::from(picture.width()) * u64::from(picture.height()) <= THOROUGH_PIXELS;
    let (level, filter) = if small { (3, FilterType::Adaptive) } else { (1, FilterType::Paeth) };
    let mut encoder = PngEncoder::new_with_quality(&mut bytes, CompressionType::Level(level), filter);
    if let Some(profile) = profile {
        encoder.set_icc_profile(profile.to_vec()).map_err(ImagingError::failed)?;
    }
    let pixels = fitted.as_ref().unwrap_or(&picture.pixels);
    pixels.write_with_encoder(encoder).map_err(ImagingError::failed)?;
    Ok(Encoded::new(bytes, Format::Png))
}

/// The profile to write. If an edit made the picture's profile unfit: no profile, but pixels converted to sRGB.
pub(crate) fn profile_to_write(picture: &Picture) -> (Option<DynamicImage>, Option<&[u8]>) {
    match picture.icc.as_deref() {
        Some(fitting) if color_profile::fits(fitting, &picture.pixels) => (None, Some(fitting)),
        Some(other) => (color_profile::grays_to_srgb(&picture.pixels, other), None),
        None => (None, None),
    }
}

/// Writes an Exif block and a profile into an encoded file. Formats that cannot hold them stay as they are.
pub(crate) fn embed(
    encoded: Encoded,
    exif: Option<Vec<u8>>,
    icc: Option<&[u8]>,
) -> Result<Encoded, ImagingError> {
    if exif.is_none() && icc.is_none() {
        return Ok(encoded);
    }
    let Some(mut file) =
        DynImage::from_bytes(Bytes::from(encoded.bytes.clone())).map_err(ImagingError::failed)?
    else {
        return Ok(encoded);
    };
    if let Some(exif) = exif {
        file.set_exif(Some(Bytes::from(exif)));
    }
    if let Some(icc) = icc {
        file.set_icc_profile(Some(Bytes::copy_from_slice(icc)));
    }
    Ok(Encoded { bytes: file.encoder().bytes().to_vec(), ..encoded })
}
