//! Decodes HEIC photos with a decoder in safe Rust. Behind the feature `heic`.

use std::panic::{AssertUnwindSafe, catch_unwind};

use heic_decoder::{ColorInfo, DecodedImage, HeifError};
use image::{DynamicImage, ImageBuffer};

use crate::{EditContext, Format, ImagingError, Limits, TooLarge, color_profile};

/// Upright pixels and their colour profile. Crop, rotation and mirroring of the container are applied. The Exif
/// orientation only repeats them and is ignored, as the standard says.
pub(super) fn read(
    bytes: &[u8],
    context: &EditContext,
) -> Result<(DynamicImage, Option<Vec<u8>>), ImagingError> {
    catch_unwind(AssertUnwindSafe(|| read_unguarded(bytes, context)))
        .map_err(|_| damaged("the decoder panicked"))?
}

fn read_unguarded(
    bytes: &[u8],
    context: &EditContext,
) -> Result<(DynamicImage, Option<Vec<u8>>), ImagingError> {
    let refuse = |error| map_heif_error(error, &context.limits);
    let info = heic_decoder::probe(bytes).map_err(refuse)?;
    let side = |pixels: usize| u32::try_from(pixels).unwrap_or(u32::MAX);
    context.limits.check(side(info.coded_width), side(info.coded_height))?;
    let mut decoded = heic_decoder::decode(bytes).map_err(refuse)?;
    context.check_stopped()?;
    let icc = decoded.metadata.icc_profile.take().or_else(|| profile_from_codes(decoded.color_info));
    Ok((to_pixels(&decoded).map_err(refuse)?, icc))
}

fn to_pixels(decoded: &DecodedImage) -> Result<DynamicImage, HeifError> {
    let (width, height) = (decoded.width as u32, decoded.height as u32);
    let deep = decoded.bit_depth_luma > 8;
    let pixels = match (deep, decoded.alpha.is_some()) {
        (false, false) => {
            ImageBuffer::from_raw(width, height, decoded.to_rgb8()?.data).map(DynamicImage::ImageRgb8)
        }
        (true, false) => {
            ImageBuffer::from_raw(width, height, decoded.to_rgb16()?.data).map(DynamicImage::ImageRgb16)
        }
        (false, true) => {
            let mut made = decoded.to_rgba8()?;
            if made.premultiplied {
                divide_by_alpha(&mut made.data, 255);
            }
            ImageBuffer::from_raw(width, height, made.data).map(DynamicImage::ImageRgba8)
        }
        (true, true) => {
            let mut made = decoded.to_rgba16()?;
            if made.premultiplied {
                divide_by_alpha(&mut made.data, 65535);
            }
            ImageBuffer::from_raw(width, height, made.data).map(DynamicImage::ImageRgba16)
        }
    };
    pixels.ok_or(HeifError::MalformedHevc("pixels of another size than stated"))
}

fn divide_by_alpha<S: Copy + Into<u32> + TryFrom<u32>>(samples: &mut [S], full: u32) {
    for [color @ .., alpha] in samples.as_chunks_mut::<4>().0 {
        let alpha: u32 = (*alpha).into();
        if alpha == 0 {
            continue;
        }
        for sample in color {
            let whole = ((*sample).into() * full + alpha / 2) / alpha;
            *sample = S::try_from(whole.min(full)).unwrap_or(*sample);
        }
    }
}

/// Files without a profile may name their colour space by code.
fn profile_from_codes(color: Option<ColorInfo>) -> Option<Vec<u8>> {
    let color = color?;
    color_profile::from_codes(color.color_primaries, color.transfer_characteristics)
}

fn map_heif_error(error: HeifError, limits: &Limits) -> ImagingError {
    match error {
        HeifError::Unsupported(_) => ImagingError::NotEditableYet { format: Format::Heic },
        HeifError::LimitExceeded { .. } => {
            TooLarge { width: u32::MAX, height: u32::MAX, limits: *limits }.into()
        }
        other => damaged(&other.to_string()),
    }
}

fn damaged(detail: &str) -> ImagingError {
    ImagingError::Damaged { format: Format::Heic, detail: detail.to_owned() }
}
