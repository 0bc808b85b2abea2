//! Bytes to an upright [`Picture`]. The header is held against the limits before a decoder may allocate, and a
//! decoder that panics on hostile input costs only this picture.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use image::{DynamicImage, ImageDecoder, ImageError, ImageFormat, ImageReader, ImageResult};

use super::probe::{read_header, refused};
use super::{Format, ImagingError, Picture, Work, geometry};

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

    pub(super) fn for_decoder(&self) -> image::Limits {
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(self.max_side);
        limits.max_image_height = Some(self.max_side);
        // Four 16-bit channels, and room for the decoder's own tables.
        limits.max_alloc = Some(self.max_pixels.saturating_mul(8).saturating_add(64 << 20));
        limits
    }
}

/// Animations give their first frame.
pub fn decode(bytes: &[u8], work: &Work) -> Result<Picture, ImagingError> {
    work.go_on()?;
    let limits = &work.limits;
    let (format, stored) = read_header(bytes)?;
    let codec = match format {
        Format::Jpeg => ImageFormat::Jpeg,
        Format::Png => ImageFormat::Png,
        Format::WebP => ImageFormat::WebP,
        Format::Gif => ImageFormat::Gif,
        Format::Bmp => ImageFormat::Bmp,
        Format::Tiff => ImageFormat::Tiff,
        Format::Heic | Format::Avif => return Err(ImagingError::NotEditableYet { format }),
    };
    limits.check(stored.extent.0, stored.extent.1)?;
    let (pixels, icc) = catch_unwind(AssertUnwindSafe(|| read_pixels(bytes, codec, limits)))
        .map_err(|_| ImagingError::Damaged { format, detail: "the decoder panicked".to_owned() })?
        .map_err(|error| match error {
            ImageError::Limits(_) => {
                ImagingError::TooLarge { width: stored.width, height: stored.height, limits: *limits }
            }
            other => refused(format, other),
        })?;
    let icc = icc.filter(|profile| is_plausible_profile(profile));
    Picture::new(pixels, format).with_icc(icc).try_map(|pixels| geometry::orient(pixels, stored.orientation))
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

/// A profile is copied into what we write, so it must at least look like one: a header with its signature, and
/// no more bytes than a colour profile has use for.
fn is_plausible_profile(profile: &[u8]) -> bool {
    (128..=4 << 20).contains(&profile.len()) && profile[36..40] == *b"acsp"
}
