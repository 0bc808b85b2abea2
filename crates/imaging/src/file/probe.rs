//! Format, size and features of a file from its header alone: cheap enough for every upload, and safe against
//! decompression bombs.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use image::codecs::{bmp::BmpDecoder, tiff::TiffDecoder, webp::WebPDecoder};
use image::metadata::Orientation;
use image::{ImageDecoder, ImageResult};

use super::header::{self, StoredImage};
use crate::{Format, ImagingError};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    pub format: Format,
    /// Upright: the orientation of the file is applied.
    pub width: u32,
    pub height: u32,
    pub animated: bool,
    pub alpha: bool,
}

/// Reads the header only. Whether the pixels decode is known after [`decode`](crate::decode).
pub fn probe(bytes: &[u8]) -> Result<Probe, ImagingError> {
    let (format, stored) = read_header(bytes)?;
    let (width, height) = match stored.orientation {
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => (stored.height, stored.width),
        _ => (stored.width, stored.height),
    };
    Ok(Probe { format, width, height, animated: stored.animated, alpha: stored.alpha })
}

pub(crate) fn read_header(bytes: &[u8]) -> Result<(Format, StoredImage), ImagingError> {
    let format = Format::sniff(bytes).ok_or(ImagingError::NotAnImage)?;
    let damaged = |detail: &str| ImagingError::Damaged { format, detail: detail.to_owned() };
    let stored = match format {
        Format::Jpeg => header::read_jpeg_header(bytes),
        Format::Png => header::read_png_header(bytes),
        Format::Gif => header::read_gif_header(bytes),
        Format::Heic | Format::Avif => header::read_iso_media_header(bytes),
        Format::WebP | Format::Bmp | Format::Tiff => {
            catch_unwind(AssertUnwindSafe(|| read_header_with_decoder(format, bytes)))
                .map_err(|_| damaged("the header reader panicked"))?
                .map_err(|error| decoder_error(format, error))?
        }
    };
    match stored {
        None => Err(damaged("no readable header")),
        Some(stored) if stored.width == 0 || stored.height == 0 => Err(damaged("a side of zero pixels")),
        Some(stored) => Ok((format, stored)),
    }
}

/// For formats not parsed in `header`. Constructing these decoders reads the header only.
fn read_header_with_decoder(format: Format, bytes: &[u8]) -> ImageResult<Option<StoredImage>> {
    let reader = Cursor::new(bytes);
    Ok(Some(match format {
        Format::WebP => {
            let mut decoder = WebPDecoder::new(reader)?;
            // A broken Exif block must not cost the picture.
            let exif = decoder.exif_metadata().ok().flatten();
            let orientation =
                exif.as_deref().map_or(Orientation::NoTransforms, header::read_exif_orientation);
            StoredImage { animated: decoder.has_animation(), ..describe(&decoder, orientation) }
        }
        Format::Tiff => {
            let mut decoder = TiffDecoder::new(reader)?;
            let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
            describe(&decoder, orientation)
        }
        Format::Bmp => describe(&BmpDecoder::new(reader)?, Orientation::NoTransforms),
        _ => return Ok(None),
    }))
}

fn describe(decoder: &impl ImageDecoder, orientation: Orientation) -> StoredImage {
    let (width, height) = decoder.dimensions();
    StoredImage { orientation, alpha: decoder.color_type().has_alpha(), ..StoredImage::still(width, height) }
}

/// Maps a decoder's error to what the owner of the file can do about it.
pub(crate) fn decoder_error(format: Format, error: image::ImageError) -> ImagingError {
    match error {
        image::ImageError::Unsupported(_) => ImagingError::NotEditableYet { format },
        other => ImagingError::Damaged { format, detail: other.to_string() },
    }
}
