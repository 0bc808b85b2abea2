//! Signs pictures: a text or another picture, faint, in a corner, in the middle or all over.

use std::sync::Arc;

use image::{ImageBuffer, Pixel, RgbaImage};
use serde::Deserialize;

use super::{ResizeTo, RotateCorners, resize, rotate};
use crate::paint;
use crate::picture::{Sample, paint_buffer};
use crate::text::{Align, Lines, TextBlock, TextStyle};
use crate::{Color, EditContext, Format, ImagingError, Picture, PixelRect};

#[derive(Debug, Clone)]
pub struct Watermark {
    pub content: WatermarkContent,
    pub position: WatermarkPosition,
    /// From 0 to 1.
    pub opacity: f32,
    /// Of the mark's width to the picture's, from 0 to 1.
    pub size: f32,
}

#[derive(Debug, Clone)]
pub enum WatermarkContent {
    Text { text: String, color: Color },
    Picture(Arc<RgbaImage>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatermarkPosition {
    TopLeft,
    TopRight,
    BottomLeft,
    #[default]
    BottomRight,
    Center,
    /// Again and again, slanted, over the whole picture.
    Tile,
}

/// A mark is never shown larger than this, so there is no need to keep more of it.
const LARGEST_MARK: u32 = 2048;
/// From the edge of the picture, as a part of its shorter side.
const MARGIN: f32 = 0.025;
const LEGIBLE: f32 = 9.0;
const SLANT: f64 = -30.0;
/// Between tiles, as parts of the mark's width and height.
const GAPS: (f32, f32) = (0.25, 0.35);

impl WatermarkContent {
    /// A picture as a mark, made ready once for all pictures it goes on.
    pub fn picture(picture: Picture, context: &EditContext) -> Result<Self, ImagingError> {
        let large = picture.width().max(picture.height()) > LARGEST_MARK;
        let picture =
            if large { resize(picture, ResizeTo::longest(LARGEST_MARK)?, context)? } else { picture };
        Ok(Self::Picture(Arc::new(picture.pixels.into_rgba8())))
    }

    /// The mark at its size on a picture of this size; `None` if it would show nothing.
    fn stamp(
        &self,
        share: f32,
        frame: (u32, u32),
        context: &EditContext,
    ) -> Result<Option<RgbaImage>, ImagingError> {
        let margin = 2.0 * margin(frame) as f32;
        let most = ((frame.0 as f32 - margin).max(1.0), (frame.1 as f32 - margin).max(1.0));
        let width = (frame.0 as f32 * share).clamp(1.0, most.0);
        match self {
            Self::Text { text, color } => Ok(write(text, *color, width, most, context)),
            Self::Picture(content) => {
                let scale = (width / content.width() as f32).min(most.1 / content.height() as f32);
                let side = |side: u32| f64::from((side as f32 * scale).round().max(1.0));
                let to = ResizeTo::new(
                    Some(side(content.width())),
                    Some(side(content.height())),
                    None,
                    None,
                    Some(super::Fit::Stretch),
                )?;
                let content = Picture::new((**content).clone().into(), Format::Png);
                Ok(Some(resize(content, to, context)?.pixels.into_rgba8()))
            }
        }
    }
}

/// One line as wide as asked for; more of the picture, and more lines, if that would be too small to read.
fn write(text: &str, color: Color, width: f32, most: (f32, f32), context: &EditContext) -> Option<RgbaImage> {
    let setting = TextStyle {
        size: most.1 / 3.0,
        room: (width, most.1 / 3.0),
        lines: Lines::One,
        align: Align::Center,
        edge: 0.07,
    };
    let least = (most.0.min(most.1) * 0.018).max(LEGIBLE);
    let block = TextBlock::largest(&context.fonts, text, &setting, least).or_else(|| {
        let wrapped = TextStyle { size: least, room: most, lines: Lines::Wrapped, ..setting };
        TextBlock::new(&context.fonts, text, &wrapped)
    })?;
    let mut stamp = RgbaImage::new(block.width(), block.height());
    let whole = PixelRect { x: 0, y: 0, width: block.width(), height: block.height() };
    block.draw(&mut stamp, (0, 0), whole, color);
    Some(stamp)
}

pub fn watermark(
    picture: Picture,
    watermark: &Watermark,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    let frame = (picture.width(), picture.height());
    let Some(mut stamp) = watermark.content.stamp(watermark.size, frame, context)? else {
        return Ok(picture);
    };
    if watermark.position == WatermarkPosition::Tile {
        let slanted = rotate(Picture::new(stamp.into(), Format::Png), SLANT, RotateCorners::Kept, context)?;
        stamp = slanted.pixels.into_rgba8();
    }
    let mut picture = picture.into_color();
    paint_buffer!(&mut picture.pixels, |canvas| {
        for at in positions(watermark.position, stamp.dimensions(), frame) {
            stamp_at(canvas, &stamp, at, watermark.opacity, context)?;
        }
    })?;
    Ok(picture)
}

fn margin(frame: (u32, u32)) -> u32 {
    (frame.0.min(frame.1) as f32 * MARGIN).round() as u32
}

/// The top left of every copy of the mark; some copies of a tiling reach out of the frame.
fn positions(position: WatermarkPosition, size: (u32, u32), frame: (u32, u32)) -> Vec<(i64, i64)> {
    let margin = i64::from(margin(frame));
    let spare = |side: u32, length: u32| i64::from(side) - i64::from(length);
    let (right, bottom) = (spare(frame.0, size.0), spare(frame.1, size.1));
    let (far_x, far_y) = (right - margin, bottom - margin);
    match position {
        WatermarkPosition::TopLeft => vec![(margin, margin)],
        WatermarkPosition::TopRight => vec![(far_x, margin)],
        WatermarkPosition::BottomLeft => vec![(margin, far_y)],
        WatermarkPosition::BottomRight => vec![(far_x, far_y)],
        WatermarkPosition::Center => vec![(right / 2, bottom / 2)],
        WatermarkPosition::Tile => {
            let step = |length: u32, gap: f32| (length as f32 * (1.0 + gap)).ceil().max(1.0) as i64;
            let (across, down) = (step(size.0, GAPS.0), step(size.1, GAPS.1));
            let rows = i64::from(frame.1) / down + 2;
            let columns = i64::from(frame.0) / across + 2;
            (0..rows)
                .flat_map(|row| {
                    let shift = if row % 2 == 0 { 0 } else { across / 2 };
                    (0..columns).map(move |column| (column * across - shift, row * down - down / 3))
                })
                .collect()
        }
    }
}

fn stamp_at<P: Pixel>(
    canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>,
    stamp: &RgbaImage,
    (left, top): (i64, i64),
    opacity: f32,
    context: &EditContext,
) -> Result<(), ImagingError>
where
    P::Subpixel: Sample,
{
    let inside = |at: i64, side: u32| u32::try_from(at).ok().filter(|at| *at < side);
    for (row, pixels) in stamp.rows().enumerate() {
        context.check_stopped()?;
        let Some(y) = inside(top + row as i64, canvas.height()) else { continue };
        for (column, pixel) in pixels.enumerate() {
            let [r, g, b, a] = pixel.0;
            if a > 0
                && let Some(x) = inside(left + column as i64, canvas.width())
            {
                paint::lay(canvas.get_pixel_mut(x, y), Color::rgb(r, g, b), f32::from(a) / 255.0 * opacity);
            }
        }
    }
    Ok(())
}
