//! Scales a picture with Lanczos, alpha premultiplied. The size is checked before anything is allocated.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{PixelType, ResizeOptions, Resizer};
use image::{ColorType, DynamicImage, ImageBuffer, Pixel};
use serde::{Deserialize, Serialize};

use crate::imaging::{ImagingError, Picture, Work};

/// How a picture meets a box of another shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fit {
    /// As large as fits inside, shape kept.
    #[default]
    Fit,
    /// Exactly the box, shape kept, overhang cut off on both sides.
    Fill,
    /// Exactly the box, shape distorted.
    Stretch,
}

/// A checked wish; make one with [`ResizeTo::new`] or [`ResizeTo::longest`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResizeTo(Wish);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Wish {
    Width(u32),
    Height(u32),
    Box { width: u32, height: u32, fit: Fit },
    Longest(u32),
    Percent(f64),
}

impl ResizeTo {
    /// From arguments as a tool gets them: width and height (one or both), or `longest`, or `percent`.
    pub fn new(
        width: Option<f64>,
        height: Option<f64>,
        longest: Option<f64>,
        percent: Option<f64>,
        fit: Option<Fit>,
    ) -> Result<Self, ImagingError> {
        let wish = match (width, height, longest, percent) {
            (Some(width), Some(height), None, None) => Wish::Box {
                width: side("width", width)?,
                height: side("height", height)?,
                fit: fit.unwrap_or_default(),
            },
            (Some(width), None, None, None) => Wish::Width(side("width", width)?),
            (None, Some(height), None, None) => Wish::Height(side("height", height)?),
            (None, None, Some(longest), None) => Wish::Longest(side("longest", longest)?),
            (None, None, None, Some(percent)) if (1.0..=1000.0).contains(&percent) => Wish::Percent(percent),
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
        Ok(Self(wish))
    }

    pub fn longest(longest: u32) -> Result<Self, ImagingError> {
        Ok(Self(Wish::Longest(side("longest", longest.into())?)))
    }

    /// The size a picture of `width` by `height` gets.
    fn apply(self, width: u32, height: u32) -> (u32, u32) {
        let (w, h) = (f64::from(width), f64::from(height));
        let scaled = |factor: f64| {
            let side = |length: f64| (length * factor).round().max(1.0) as u32;
            (side(w), side(h))
        };
        match self.0 {
            Wish::Width(to) => (to, scaled(f64::from(to) / w).1),
            Wish::Height(to) => (scaled(f64::from(to) / h).0, to),
            Wish::Box { width: to_w, height: to_h, fit: Fit::Fit } => {
                scaled((f64::from(to_w) / w).min(f64::from(to_h) / h))
            }
            Wish::Box { width, height, .. } => (width, height),
            Wish::Longest(to) => scaled(f64::from(to) / w.max(h)),
            Wish::Percent(percent) => scaled(percent / 100.0),
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

pub fn resize(picture: Picture, to: ResizeTo, work: &Work) -> Result<Picture, ImagingError> {
    if to.apply(picture.width(), picture.height()) == (picture.width(), picture.height()) {
        return Ok(picture);
    }
    resized(&picture, to, work)
}

/// The same, of a picture that is needed again.
pub(in crate::imaging) fn resized(
    picture: &Picture,
    to: ResizeTo,
    work: &Work,
) -> Result<Picture, ImagingError> {
    let (width, height) = to.apply(picture.width(), picture.height());
    work.limits.check(width, height)?;
    let options = match to.0 {
        Wish::Box { fit: Fit::Fill, .. } => ResizeOptions::new().fit_into_destination(Some((0.5, 0.5))),
        _ => ResizeOptions::new(),
    };
    Ok(picture.with_pixels(scale(&picture.pixels, width, height, &options)?))
}

fn scale(
    pixels: &DynamicImage,
    width: u32,
    height: u32,
    options: &ResizeOptions,
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
    Resizer::new().resize(&source, &mut scaled, options).map_err(ImagingError::failed)?;
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

#[cfg(test)]
mod tests {
    use image::{Rgba, RgbaImage};

    use super::*;
    use crate::imaging::Format;

    fn to(width: impl Into<Option<i32>>, height: impl Into<Option<i32>>, fit: Fit) -> ResizeTo {
        ResizeTo::new(width.into().map(f64::from), height.into().map(f64::from), None, None, Some(fit))
            .unwrap()
    }

    #[test]
    fn each_way_of_saying_a_size_gives_that_size() {
        assert_eq!(to(320, None, Fit::Fit).apply(640, 427), (320, 214));
        assert_eq!(to(None, 100, Fit::Fit).apply(640, 400), (160, 100));
        assert_eq!(to(100, 100, Fit::Fit).apply(640, 320), (100, 50));
        assert_eq!(to(100, 100, Fit::Fill).apply(640, 320), (100, 100));
        assert_eq!(to(100, 10, Fit::Stretch).apply(640, 320), (100, 10));
        assert_eq!(ResizeTo::longest(64).unwrap().apply(320, 640), (32, 64));
        assert_eq!(ResizeTo::new(None, None, None, Some(50.0), None).unwrap().apply(641, 1), (321, 1));
    }

    #[test]
    fn unclear_wishes_are_refused() {
        for (w, h, l, p) in [
            (None, None, None, None),
            (Some(5.0), None, Some(5.0), None),
            (Some(0.0), None, None, None),
            (Some(f64::NAN), None, None, None),
            (None, None, None, Some(0.5)),
            (None, None, Some(-3.0), None),
        ] {
            assert!(
                matches!(ResizeTo::new(w, h, l, p, None), Err(ImagingError::BadArgument(_))),
                "{w:?} {h:?}"
            );
        }
    }

    #[test]
    fn colours_hidden_by_alpha_do_not_bleed_into_edges() {
        let half =
            RgbaImage::from_fn(
                64,
                64,
                |x, _| {
                    if x < 32 { Rgba([0, 255, 0, 255]) } else { Rgba([255, 0, 0, 0]) }
                },
            );
        let small =
            resize(Picture::new(half.into(), Format::Png), to(9, 9, Fit::Stretch), &Work::default()).unwrap();
        for pixel in small.pixels().as_rgba8().unwrap().pixels() {
            assert!(pixel.0[3] < 8 || pixel.0[0] < 8, "red bled in: {pixel:?}");
        }
    }

    #[test]
    fn fill_cuts_both_sides_alike() {
        let stripes =
            RgbaImage::from_fn(90, 30, |x, _| Rgba([if (30..60).contains(&x) { 255 } else { 0 }, 0, 0, 255]));
        let square =
            resize(Picture::new(stripes.into(), Format::Png), to(30, 30, Fit::Fill), &Work::default())
                .unwrap();
        assert!(square.pixels().as_rgba8().unwrap().pixels().all(|p| p.0[0] > 200));
    }

    #[test]
    fn an_output_beyond_the_limits_is_refused_before_it_exists() {
        let dot = || Picture::new(RgbaImage::new(10, 10).into(), Format::Png);
        for wish in [to(50_000, 1, Fit::Stretch), to(20_000, 20_000, Fit::Stretch)] {
            assert!(matches!(resize(dot(), wish, &Work::default()), Err(ImagingError::TooLarge { .. })));
        }
    }
}
