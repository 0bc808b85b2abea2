//! Bytes to an upright [`Picture`]. The header is held against the limits before a decoder may allocate, and a
//! decoder that panics on hostile input costs only this picture.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, ImageResult};

use crate::probe::{read_header, refused};
use crate::quality::Compression;
use crate::{Format, ImagingError, Picture, Work, geometry, jpeg, metadata, profile};

/// How large a picture may be, opened or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub max_pixels: u64,
    pub max_side: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_pixels: 100_000_000, max_side: 30_000 }
    }
}

impl Limits {
    pub fn check(&self, width: u32, height: u32) -> Result<(), ImagingError> {
        if width.max(height) > self.max_side || u64::from(width) * u64::from(height) > self.max_pixels {
            return Err(ImagingError::TooLarge { width, height, limits: *self });
        }
        Ok(())
    }

    pub(crate) fn for_decoder(&self) -> image::Limits {
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(self.max_side);
        limits.max_image_height = Some(self.max_side);
        // Four 16-bit channels, and room for the decoder's own tables.
        limits.max_alloc = Some(self.max_pixels.saturating_mul(8).saturating_add(64 << 20));
        limits
    }
}

/// Animations give their first frame. Of the ways in which a PNG can tell its colours only a profile is heeded:
/// gamma and primaries are mostly written by accident, and browsers disagree on them.
pub fn decode(bytes: &[u8], work: &Work) -> Result<Picture, ImagingError> {
    decode_rows(bytes, None, work)
}

/// At least so many rows from the top of a picture that is stored upright, and all of them where that is no faster.
pub(crate) fn decode_top(bytes: &[u8], rows: u32, work: &Work) -> Result<Picture, ImagingError> {
    decode_rows(bytes, Some(rows), work)
}

fn decode_rows(bytes: &[u8], rows: Option<u32>, work: &Work) -> Result<Picture, ImagingError> {
    work.go_on()?;
    let (format, stored) = read_header(bytes)?;
    if !format.editable() {
        return Err(ImagingError::NotEditableYet { format });
    }
    let limits = &work.limits;
    limits.check(stored.extent.0, stored.extent.1)?;
    let (pixels, icc) = match codec(format) {
        Some(codec) => {
            let (pixels, icc) = catch_unwind(AssertUnwindSafe(|| match codec {
                ImageFormat::Jpeg => jpeg::read(bytes, rows, limits),
                other => read_pixels(bytes, other, limits),
            }))
            .map_err(|_| ImagingError::Damaged { format, detail: "the decoder panicked".to_owned() })?
            .map_err(|error| match error {
                ImageError::Limits(_) => {
                    ImagingError::TooLarge { width: stored.width, height: stored.height, limits: *limits }
                }
                other => refused(format, other),
            })?;
            let icc = match format {
                Format::Tiff => icc.or_else(|| metadata::tiff_profile(bytes)),
                _ => icc,
            };
            (geometry::orient(pixels, stored.orientation)?, icc)
        }
        None => read_heic(bytes, work)?,
    };
    // One for inks describes nothing any more: the pixels are red, green and blue by now.
    let icc = icc.filter(|icc| profile::is_plausible(icc) && !profile::is_of_inks(icc));
    Ok(Picture::new(pixels, format).with_icc(icc).with_compression(Compression::of(format, bytes)))
}

fn codec(format: Format) -> Option<ImageFormat> {
    match format {
        Format::Jpeg => Some(ImageFormat::Jpeg),
        Format::Png => Some(ImageFormat::Png),
        Format::WebP => Some(ImageFormat::WebP),
        Format::Gif => Some(ImageFormat::Gif),
        Format::Bmp => Some(ImageFormat::Bmp),
        Format::Tiff => Some(ImageFormat::Tiff),
        Format::Heic | Format::Avif => None,
    }
}

#[cfg(feature = "heic")]
use crate::heic::read as read_heic;

#[cfg(not(feature = "heic"))]
fn read_heic(_: &[u8], _: &Work) -> Result<(DynamicImage, Option<Vec<u8>>), ImagingError> {
    Err(ImagingError::NotEditableYet { format: Format::Heic })
}

fn read_pixels(
    bytes: &[u8],
    codec: ImageFormat,
    limits: &Limits,
) -> ImageResult<(DynamicImage, Option<Vec<u8>>)> {
    let mut reader = ImageReader::with_format(Cursor::new(bytes), codec);
    reader.limits(limits.for_decoder());
    let mut decoder = reader.into_decoder()?;
    // A header may have lied to our own walk; the decoder's word is what gets allocated.
    let (width, height) = decoder.dimensions();
    if limits.check(width, height).is_err() {
        let kind = image::error::LimitErrorKind::DimensionError;
        return Err(ImageError::Limits(image::error::LimitError::from_kind(kind)));
    }
    let icc = decoder.icc_profile().ok().flatten();
    Ok((DynamicImage::from_decoder(decoder)?, icc))
}
