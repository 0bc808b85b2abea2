//! Scales a picture with a Lanczos filter on premultiplied alpha. The new size is checked before memory is allocated.

mod halving;
#[cfg(test)]
mod tests;

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{PixelType, ResizeOptions, Resizer};
use image::{ColorType, DynamicImage, ImageBuffer, Pixel};
use serde::{Deserialize, Serialize};

use crate::{EditContext, ImagingError, Picture};

/// How a picture is fitted into a box of another shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// As large as fits inside; keeps the shape.
    #[default]
    Fit,
    /// Exactly the box; keeps the shape and cuts off the overhang on both sides.
    Fill,
    /// Exactly the box; distorts the shape.
    Stretch,
}

/// A validated target size. Made by [`ResizeTo::new`] or [`ResizeTo::longest`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResizeTo(TargetSize);

#[derive(Debug, Clone, Copy, PartialEq)]
enum TargetSize {
    Width(u32),
    Height(u32),
    Box { width: u32, height: u32, fit: Fit },
    Longest(u32),
    Percent(f64),
}

impl ResizeTo {
    /// From tool arguments: width and height (one or both), or `longest`, or `percent`.
    pub fn new(
        width: Option<f64>,
        height: Option<f64>,
        longest: Option<f64>,
        percent: Option<f64>,
        fit: Option<Fit>,
    ) -> Result<Self, ImagingError> {
        let target_size = match (width, height, longest, percent) {
            (Some(width), Some(height), None, None) => TargetSize::Box {
                width: side("width", width)?,
                height: side("height", height)?,
                fit: fit.unwrap_or_default(),
            },
            (Some(width), None, None, None) => TargetSize::Width(side("width", width)?),
            (None, Some(height), None, None) => TargetSize::Height(side("height", height)?),
            (None, None, Some(longest), None) => TargetSize::Longest(side("longest", longest)?),
            (None, None, None, Some(percent)) if (1.0..=1000.0).contains(&percent) => {
                TargetSize::Percent(percent)
            }
            (None, None, None, Some(percent)) => {
                return Err(ImagingError::BadArgument(format!(
                    "percent is {percent}, but must be from 1 to 1000 (100 keeps the size)."
                )));
            }
            _ => {
                return Err(ImagingError::BadArgument(
                    "Say the new size in one way: width and height (one of them or both), or longest, or percent."
                        .to_owned(),
                ));
            }
        };
        Ok(Self(target_size))
    }

    pub fn longest(longest: u32) -> Result<Self, ImagingError> {
        Ok(Self(TargetSize::Longest(side("longest", longest.into())?)))
    }

    /// The new size of a picture of `width` by `height`.
    fn apply(self, width: u32, height: u32) -> (u32, u32) {
        let (w, h) = (f64::from(width), f64::from(height));
        let scaled = |factor: f64| {
            let side = |length: f64| (length * factor).round().max(1.0) as u32;
            (side(w), side(h))
        };
        match self.0 {
            TargetSize::Width(to) => (to, scaled(f64::from(to) / w).1),
            TargetSize::Height(to) => (scaled(f64::from(to) / h).0, to),
            TargetSize::Box { width: to_w, height: to_h, fit: Fit::Fit } => {
                scaled((f64::from(to_w) / w).min(f64::from(to_h) / h))
            }
            TargetSize::Box { width, height, .. } => (width, height),
            TargetSize::Longest(to) => scaled(f64::from(to) / w.max(h)),
            TargetSize::Percent(percent) => scaled(percent / 100.0),
        }
    }
}

fn side(field: &str, value: f64) -> Result<u32, ImagingError> {
    let rounded = value.round();
    if (1.0..=100_000.0).contains(&rounded) {
        return Ok(rounded as u32);
    }
    Err(ImagingError::BadArgument(format!("{field} is {value}, but must be a number of pixels, 1 or more.")))
}

pub fn resize(picture: Picture, to: ResizeTo, context: &EditContext) -> Result<Picture, ImagingError> {
    if to.apply(picture.width(), picture.height()) == (picture.width(), picture.height()) {
        return Ok(picture);
    }
    let scaled = resized(&picture, to, context);
    picture.recycle();
    scaled
}

/// Resizes to a cell of a layout. A picture of nearly the same shape is stretched by a few pixels rather than
/// cropped; `fit` applies to other shapes.
pub(crate) fn resize_to_cell(
    picture: Picture,
    width: u32,
    height: u32,
    fit: Fit,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    let (w, h) = (f64::from(picture.width()), f64::from(picture.height()));
    let off = (w * f64::from(height) / (h * f64::from(width))).ln().abs();
    let fit = if off < 0.02 { Fit::Stretch } else { fit };
    let to = ResizeTo::new(Some(width.into()), Some(height.into()), None, None, Some(fit))?;
    resize(picture, to, context)
}

/// The same for a picture that is still needed.
pub(crate) fn resized(
    picture: &Picture,
    to: ResizeTo,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    context.check_stopped()?;
    let (width, height) = to.apply(picture.width(), picture.height());
    context.limits.check(width, height)?;
    let part = match to.0 {
        TargetSize::Box { fit: Fit::Fill, .. } => SourcePart::filling(&picture.pixels, width, height),
        _ => SourcePart::all(&picture.pixels),
    };
    let halved = halving::halve(&picture.pixels, &part, width, height, context)?;
    context.check_stopped()?;
    let pixels = match &halved {
        Some((pixels, part)) => scale(pixels, part, width, height)?,
        None => scale(&picture.pixels, &part, width, height)?,
    };
    Ok(picture.with_pixels(pixels))
}

/// The part of the source to show, in fractional pixels.
#[derive(Debug, Clone, Copy)]
struct SourcePart {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

impl SourcePart {
    fn all(pixels: &DynamicImage) -> Self {
        Self { left: 0.0, top: 0.0, width: pixels.width().into(), height: pixels.height().into() }
    }

    /// The largest centred part of this shape.
    fn filling(pixels: &DynamicImage, width: u32, height: u32) -> Self {
        let (whole_width, whole_height) = (f64::from(pixels.width()), f64::from(pixels.height()));
        let (width, height) = (f64::from(width), f64::from(height));
        let scale = (whole_width / width).min(whole_height / height);
        let (width, height) = ((width * scale).min(whole_width), (height * scale).min(whole_height));
        Self { left: (whole_width - width) / 2.0, top: (whole_height - height) / 2.0, width, height }
    }

    fn halve(&self) -> Self {
        Self {
            left: self.left / 2.0,
            top: self.top / 2.0,
            width: self.width / 2.0,
            height: self.height / 2.0,
        }
    }
}

fn scale(
    pixels: &DynamicImage,
    part: &SourcePart,
    width: u32,
    height: u32,
) -> Result<DynamicImage, ImagingError> {
    let kind = match pixels.color() {
        ColorType::L8 => PixelType::U8,
        ColorType::La8 => PixelType::U8x2,
        ColorType::Rgb8 => PixelType::U8x3,
        ColorType::Rgba8 => PixelType::U8x4,
        ColorType::L16 => PixelType::U16,
        ColorType::La16 => PixelType::U16x2,
        ColorType::Rgb16 => PixelType::U16x3,
        ColorType::Rgba16 => PixelType::U16x4,
        other => return Err(ImagingError::failed(format!("no scaling for {other:?}"))),
    };
    let source = ImageRef::new(pixels.width(), pixels.height(), pixels.as_bytes(), kind)
        .map_err(ImagingError::failed)?;
    let mut scaled = Image::new(width, height, kind);
    let options = ResizeOptions::new().crop(part.left, part.top, part.width, part.height);
    Resizer::new().resize(&source, &mut scaled, &options).map_err(ImagingError::failed)?;
    let bytes = scaled.into_vec();
    match pixels.color() {
        ColorType::L8 => buffer(width, height, bytes).map(DynamicImage::ImageLuma8),
        ColorType::La8 => buffer(width, height, bytes).map(DynamicImage::ImageLumaA8),
        ColorType::Rgb8 => buffer(width, height, bytes).map(DynamicImage::ImageRgb8),
        ColorType::Rgba8 => buffer(width, height, bytes).map(DynamicImage::ImageRgba8),
        ColorType::L16 => buffer(width, height, wide(&bytes)).map(DynamicImage::ImageLuma16),
        ColorType::La16 => buffer(width, height, wide(&bytes)).map(DynamicImage::ImageLumaA16),
        ColorType::Rgb16 => buffer(width, height, wide(&bytes)).map(DynamicImage::ImageRgb16),
        _ => buffer(width, height, wide(&bytes)).map(DynamicImage::ImageRgba16),
    }
    .ok_or_else(|| ImagingError::failed("the scaled buffer has the wrong size"))
}

fn buffer<P: Pixel>(
    width: u32,
    height: u32,
    samples: Vec<P::Subpixel>,
) -> Option<ImageBuffer<P, Vec<P::Subpixel>>> {
    ImageBuffer::from_raw(width, height, samples)
}

fn wide(bytes: &[u8]) -> Vec<u16> {
    bytes.as_chunks::<2>().0.iter().map(|pair| u16::from_ne_bytes(*pair)).collect()
}
