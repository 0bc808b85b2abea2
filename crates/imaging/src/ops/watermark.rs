//! Watermarks: a text or a picture, semi-transparent, in a corner, in the centre or tiled.

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
    /// Width of the watermark as a share of the picture's width, from 0 to 1.
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
    /// Repeated and slanted over the whole picture.
    Tile,
}

/// A watermark picture is never shown larger, so more need not be kept in memory.
const MAX_CONTENT_SIDE: u32 = 2048;
/// Distance from the edge of the picture, as a share of its shorter side.
const MARGIN_SHARE: f32 = 0.025;
const MIN_TEXT_HEIGHT: f32 = 9.0;
const TILE_DEGREES: f64 = -30.0;
/// Gaps between tiles, as shares of the watermark's width and height.
const TILE_GAP_SHARES: (f32, f32) = (0.25, 0.35);

impl WatermarkContent {
    /// Prepares a picture once for all pictures that it goes on.
    pub fn picture(picture: Picture, context: &EditContext) -> Result<Self, ImagingError> {
        let large = picture.width().max(picture.height()) > MAX_CONTENT_SIDE;
        let picture =
            if large { resize(picture, ResizeTo::longest(MAX_CONTENT_SIDE)?, context)? } else { picture };
        Ok(Self::Picture(Arc::new(picture.pixels.into_rgba8())))
    }

    /// The watermark scaled for a picture of this size; `None` if it would show nothing.
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
            Self::Text { text, color } => Ok(draw_text(text, *color, width, most, context)),
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

/// One line of the requested width. If that would be too small to read: larger, with line breaks.
fn draw_text(
    text: &str,
    color: Color,
    width: f32,
    most: (f32, f32),
    context: &EditContext,
) -> Option<RgbaImage> {
    let style = TextStyle {
        size: most.1 / 3.0,
        area: (width, most.1 / 3.0),
        lines: Lines::One,
        align: Align::Center,
        edge: 0.07,
    };
    let least = (most.0.min(most.1) * 0.018).max(MIN_TEXT_HEIGHT);
    let block = TextBlock::largest(&context.fonts, text, &style, least).or_else(|| {
        let wrapped = TextStyle { size: least, area: most, lines: Lines::Wrapped, ..style };
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
        let slanted =
            rotate(Picture::new(stamp.into(), Format::Png), TILE_DEGREES, RotateCorners::Kept, context)?;
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
    (frame.0.min(frame.1) as f32 * MARGIN_SHARE).round() as u32
}

/// The top left of every copy; some copies of a tiling reach beyond the frame.
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
            let (across, down) = (step(size.0, TILE_GAP_SHARES.0), step(size.1, TILE_GAP_SHARES.1));
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
                paint::blend(canvas.get_pixel_mut(x, y), Color::rgb(r, g, b), f32::from(a) / 255.0 * opacity);
            }
        }
    }
    Ok(())
}
