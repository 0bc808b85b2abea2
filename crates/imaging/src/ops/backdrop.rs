//! Puts a cut-out on another background: a colour, or the blurred original.

use image::{DynamicImage, Rgb, RgbImage, RgbaImage};

use super::filter::{Filter, FilterSettings, filter};
use crate::{Color, EditContext, Format, ImagingError, Picture};

/// What stands behind a cut-out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Backdrop {
    /// Nothing: the result is a PNG with alpha.
    Transparent,
    Color(Color),
    /// The original, blurred with this strength in percent.
    Blurred(f64),
}

/// `front` is the cut-out of `original`, of the same size, in sRGB.
pub fn set_backdrop(
    original: Picture,
    front: RgbaImage,
    backdrop: Backdrop,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    if (original.width(), original.height()) != front.dimensions() {
        return Err(ImagingError::failed("the cut-out has another size than its picture"));
    }
    match backdrop {
        Backdrop::Transparent => Ok(Picture::new(DynamicImage::ImageRgba8(front), Format::Png)),
        Backdrop::Color(color) => {
            let behind =
                RgbImage::from_pixel(front.width(), front.height(), Rgb([color.r, color.g, color.b]));
            lay_over(&original, front, behind, context)
        }
        Backdrop::Blurred(strength) => {
            let settings = FilterSettings { strength: Some(strength), ..FilterSettings::new(Filter::Blur) };
            let behind = filter(original.clone(), settings, context)?.flatten_onto(Color::WHITE);
            lay_over(&original, front, behind, context)
        }
    }
}

fn lay_over(
    original: &Picture,
    front: RgbaImage,
    mut behind: RgbImage,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    for (below, above) in behind.rows_mut().zip(front.rows()) {
        context.check_stopped()?;
        for (below, above) in below.zip(above) {
            let alpha = u32::from(above.0[3]);
            for channel in 0..3 {
                let mixed = u32::from(above.0[channel]) * alpha + u32::from(below.0[channel]) * (255 - alpha);
                below.0[channel] = ((mixed + 127) / 255) as u8;
            }
        }
    }
    // The pixels are sRGB now, whatever profile the original had.
    Ok(original.with_pixels(DynamicImage::ImageRgb8(behind)).with_icc(None))
}

/// Replaces the pixels of a picture by 8-bit ones in sRGB, and keeps its format.
pub fn replace_pixels(original: Picture, pixels: RgbImage) -> Picture {
    original.with_pixels(DynamicImage::ImageRgb8(pixels)).with_icc(None)
}
