//! Decodes bytes to an upright [`Picture`]. The header is checked against the limits before a decoder allocates
//! memory. A decoder that panics on hostile input fails only this picture.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, ImageResult};

use super::jpeg;
use crate::file::{Compression, decoder_error, read_header, read_tiff_profile};
use crate::{EditContext, Format, ImagingError, Limits, Picture, TooLarge, color_profile, geometry};

/// Decodes a file; of an animation, the first frame. Gamma and primaries of a PNG are ignored, only its profile
/// counts: most are written by accident, and browsers disagree on them.
pub fn decode(bytes: &[u8], context: &EditContext) -> Result<Picture, ImagingError> {
    decode_rows(bytes, None, context)
}

/// Decodes at least `rows` rows from the top of a picture that is stored upright; all rows if that is no slower.
pub(crate) fn decode_top(bytes: &[u8], rows: u32, context: &EditContext) -> Result<Picture, ImagingError> {
    decode_rows(bytes, Some(rows), context)
}

fn decode_rows(bytes: &[u8], rows: Option<u32>, context: &EditContext) -> Result<Picture, ImagingError> {
    context.check_stopped()?;
    let (format, stored) = read_header(bytes)?;
    if !format.is_editable() {
        return Err(ImagingError::NotEditableYet { format });
    }
    let limits = &context.limits;
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
                    TooLarge { width: stored.width, height: stored.height, limits: *limits }.into()
                }
                other => decoder_error(format, other),
            })?;
            let icc = match format {
                Format::Tiff => icc.or_else(|| read_tiff_profile(bytes)),
                _ => icc,
            };
            (geometry::orient(pixels, stored.orientation)?, icc)
        }
        None => read_heic(bytes, context)?,
    };
    // A CMYK profile no longer applies: the pixels are RGB by now.
    let icc = icc.filter(|icc| color_profile::is_plausible(icc) && !color_profile::is_cmyk(icc));
    Ok(Picture::new(pixels, format).with_icc(icc).with_compression(Compression::detect(format, bytes)))
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
use super::heic::read as read_heic;

#[cfg(not(feature = "heic"))]
fn read_heic(_: &[u8], _: &EditContext) -> Result<(DynamicImage, Option<Vec<u8>>), ImagingError> {
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
    // The decoder may read another size than our own header parser; its size is what gets allocated.
    let (width, height) = decoder.dimensions();
    if limits.check(width, height).is_err() {
        let kind = image::error::LimitErrorKind::DimensionError;
        return Err(ImageError::Limits(image::error::LimitError::from_kind(kind)));
    }
    let icc = decoder.icc_profile().ok().flatten();
    Ok((DynamicImage::from_decoder(decoder)?, icc))
}
