//! Places a picture on a canvas of a size that an image service supports, and pastes one region of the returned canvas
//! back. No pixel outside of the region changes.

use image::{Rgba, RgbaImage};

use super::{Fit, ResizeTo, resize, resized};
use crate::codecs::encode_png;
use crate::picture::{Sample, map_buffer};
use crate::pixels::{each_pixel, mix, smooth_step};
use crate::{
    EditContext, Encoded, Format, ImagingError, Picture, PixelRect, Region, color_profile, geometry,
};

/// Width of the soft edge inside the region: as a share of its shorter side, and at most in pixels.
const FEATHER_SHARE: f32 = 0.06;
const MAX_FEATHER: f32 = 24.0;

/// Where a picture lies on a canvas of another shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CanvasLayout {
    canvas: (u32, u32),
    place: PixelRect,
}

impl CanvasLayout {
    /// As large as fits, centred.
    pub fn new(picture: (u32, u32), canvas: (u32, u32)) -> Self {
        let (width, height) = (f64::from(picture.0.max(1)), f64::from(picture.1.max(1)));
        let scale = (f64::from(canvas.0) / width).min(f64::from(canvas.1) / height);
        let side = |side: f64, most: u32| ((side * scale).round() as u32).clamp(1, most.max(1));
        let (width, height) = (side(width, canvas.0), side(height, canvas.1));
        let place = PixelRect { x: (canvas.0 - width) / 2, y: (canvas.1 - height) / 2, width, height };
        Self { canvas, place }
    }

    /// Converts a region of the picture to a region of the canvas.
    pub fn on_canvas(&self, part: Region) -> Region {
        let along = |at: f64, start: u32, length: u32, side: u32| {
            (f64::from(start) + at / 1000.0 * f64::from(length)) * 1000.0 / f64::from(side.max(1))
        };
        let across = |at| along(at, self.place.x, self.place.width, self.canvas.0).clamp(0.0, 1000.0);
        let down = |at| along(at, self.place.y, self.place.height, self.canvas.1).clamp(0.0, 1000.0);
        Region::new(across(part.left()), down(part.top()), across(part.right()), down(part.bottom()))
            .unwrap_or(Region::FULL)
    }

    /// The pixels of the picture on a returned canvas of about this shape and any size.
    fn find_picture(&self, width: u32, height: u32) -> PixelRect {
        let scaled =
            |at: u32, of: u32, to: u32| (f64::from(at) * f64::from(to) / f64::from(of.max(1))).round() as u32;
        let x = scaled(self.place.x, self.canvas.0, width).min(width.saturating_sub(1));
        let y = scaled(self.place.y, self.canvas.1, height).min(height.saturating_sub(1));
        let right = scaled(self.place.right(), self.canvas.0, width).clamp(x + 1, width);
        let bottom = scaled(self.place.bottom(), self.canvas.1, height).clamp(y + 1, height);
        PixelRect { x, y, width: right - x, height: bottom - y }
    }
}

/// The picture on its canvas as a PNG. Its edge pixels are repeated over the free area: a service would paint over a
/// visible frame and move everything else with it.
pub fn draw_on_canvas(
    picture: &Picture,
    layout: &CanvasLayout,
    context: &EditContext,
) -> Result<Encoded, ImagingError> {
    let CanvasLayout { canvas, place } = *layout;
    let fitted = resized(picture, stretch_to(place.width, place.height)?, context)?.into_srgb_rgba8();
    let inside = |at: u32, start: u32, length: u32| at.saturating_sub(start).min(length - 1);
    let laid_out = RgbaImage::from_fn(canvas.0, canvas.1, |x, y| {
        *fitted.get_pixel(inside(x, place.x, place.width), inside(y, place.y, place.height))
    });
    encode_png(&Picture::new(laid_out.into(), Format::Png))
}

/// A PNG of the size of the canvas, transparent where the service may change pixels.
pub fn draw_mask(layout: &CanvasLayout, part: Region) -> Result<Encoded, ImagingError> {
    let (width, height) = layout.canvas;
    let open = layout.on_canvas(part).to_pixels(width, height);
    let shade = |x, y| if open.contains(x, y) { Rgba([0, 0, 0, 0]) } else { Rgba([0, 0, 0, u8::MAX]) };
    encode_png(&Picture::new(RgbaImage::from_fn(width, height, shade).into(), Format::Png))
}

/// Replaces `part` of the original by the same part of a returned canvas. Pixels outside stay as they are; inside, a
/// soft edge blends both.
pub fn paste_region(
    original: Picture,
    canvas: Picture,
    layout: &CanvasLayout,
    part: Region,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    let original = original.into_color();
    let frame = (original.width(), original.height());
    let place = layout.find_picture(canvas.width(), canvas.height());
    let shown = geometry::crop(canvas.into_srgb_rgba8().into(), place)?;
    let shown = resize(Picture::new(shown, Format::Png), stretch_to(frame.0, frame.1)?, context)?;
    // The new pixels are converted to the original's colours; the other way round, every old pixel would change.
    let converted = original.icc.as_deref().and_then(|icc| color_profile::from_srgb(&shown.pixels, icc));
    let new = converted.unwrap_or(shown.pixels).into_rgba8();
    let rect = part.to_pixels(frame.0, frame.1);
    original.try_map(|pixels| {
        map_buffer!(pixels, |buffer, N| {
            let mut buffer = buffer;
            each_pixel::<_, N>(&mut buffer, frame.0, rect, context, |pixel, x, y| {
                blend_pixel(pixel, new.get_pixel(x, y), blend_share(x, y, rect, frame));
            })?;
            Some(buffer)
        })
    })
}

fn stretch_to(width: u32, height: u32) -> Result<ResizeTo, ImagingError> {
    ResizeTo::new(Some(width.into()), Some(height.into()), None, None, Some(Fit::Stretch))
}

/// The share of the new picture in a pixel of the part. There is no blending where the part ends at the edge of the
/// picture.
fn blend_share(x: u32, y: u32, part: PixelRect, frame: (u32, u32)) -> f32 {
    let feather = (part.width.min(part.height) as f32 * FEATHER_SHARE).min(MAX_FEATHER);
    let edges = [
        (part.x > 0, x - part.x),
        (part.y > 0, y - part.y),
        (part.right() < frame.0, part.right() - 1 - x),
        (part.bottom() < frame.1, part.bottom() - 1 - y),
    ];
    let nearest = edges.into_iter().filter(|(blends, _)| *blends).map(|(_, away)| away).min();
    match nearest {
        Some(away) if feather >= 1.0 => smooth_step(0.0, feather + 1.0, away as f32 + 1.0),
        _ => 1.0,
    }
}

/// Colours are weighted by alpha. Opaque pixels stay opaque.
fn blend_pixel<S: Sample, const N: usize>(pixel: &mut [S; N], new: &Rgba<u8>, share: f32) {
    let new = new.0.map(Sample::to_unit);
    let has_alpha = N.is_multiple_of(2);
    let old_alpha = if has_alpha { pixel[N - 1].to_unit() } else { 1.0 };
    let (alpha, weight) = match has_alpha {
        true => {
            let alpha = mix(old_alpha, new[3], share);
            (alpha, if alpha > 0.0 { new[3] * share / alpha } else { 0.0 })
        }
        false => (1.0, new[3] * share),
    };
    for (sample, new) in pixel.iter_mut().zip(new).take(3) {
        *sample = S::from_unit(mix(sample.to_unit(), new, weight));
    }
    if has_alpha {
        pixel[N - 1] = S::from_unit(alpha);
    }
}
