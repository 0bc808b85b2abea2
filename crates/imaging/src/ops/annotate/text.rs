//! Text annotations: position, size and background of the text.

use image::{ImageBuffer, Pixel};
use serde::Deserialize;

use super::RelativePoint;
use crate::paint::{self, PaintShape, Point};
use crate::picture::Sample;
use crate::text::{Align, Lines, TextBlock, TextStyle};
use crate::{Color, EditContext, PixelRect, Region};

#[derive(Debug, Clone, PartialEq)]
pub struct TextAnnotation {
    pub text: String,
    pub position: TextPosition,
    /// Line height in thousandths of the picture's shorter side; smaller if the text would not fit.
    pub size: f64,
    pub color: Color,
    pub backing: TextBacking,
    pub align: TextAlign,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TextPosition {
    /// The text starts, is centred or ends at this point, depending on its alignment, and is centred vertically.
    At(RelativePoint),
    /// Centred in a region and wrapped to its width.
    In(Region),
}

/// What makes the text readable on any background.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextBacking {
    #[default]
    Outline,
    Plate,
    None,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TextAlign {
    Left,
    #[default]
    Center,
    Right,
}

const MIN_TEXT_HEIGHT: f32 = 9.0;
const PLATE_OPACITY: f32 = 0.72;

impl TextAnnotation {
    pub const DEFAULT_SIZE: u32 = 50;

    pub(super) fn lay_out(&self, frame: (u32, u32), context: &EditContext) -> Option<PlacedText> {
        let (width, height) = (frame.0 as f32, frame.1 as f32);
        let size = (self.size as f32 * width.min(height) / 1000.0).max(MIN_TEXT_HEIGHT).min(height);
        let padding = match self.backing {
            TextBacking::Plate => ((size * 0.4).round(), (size * 0.2).round()),
            TextBacking::Outline | TextBacking::None => ((size * 0.15).round(), 0.0),
        };
        let bounds = match self.position {
            TextPosition::At(_) => PixelRect { x: 0, y: 0, width: frame.0, height: frame.1 },
            TextPosition::In(region) => region.to_pixels(frame.0, frame.1),
        };
        // A region too narrow for a few letters gets them anyway.
        let least = (MIN_TEXT_HEIGHT * 3.0).min(width);
        let area = (
            (bounds.width as f32 - 2.0 * padding.0).max(least),
            (bounds.height as f32 - 2.0 * padding.1).max(MIN_TEXT_HEIGHT.min(height)),
        );
        let align = match self.align {
            TextAlign::Left => Align::Left,
            TextAlign::Center => Align::Center,
            TextAlign::Right => Align::Right,
        };
        let edge = if self.backing == TextBacking::Outline { 0.07 } else { 0.0 };
        let style = TextStyle { size, area, lines: Lines::Wrapped, align, edge };
        let block = TextBlock::fitted(&context.fonts, &self.text, &style, MIN_TEXT_HEIGHT)?;
        let padding = (padding.0.max(0.0) as u32, padding.1.max(0.0) as u32);
        let outer = (block.width() + 2 * padding.0, block.height() + 2 * padding.1);
        let (x, y) = self.corner(outer, bounds, frame);
        let bounds = PixelRect { x, y, width: outer.0.min(frame.0 - x), height: outer.1.min(frame.1 - y) };
        let plate = (self.backing == TextBacking::Plate).then(|| (self.color.readable_on_top(), size * 0.22));
        Some(PlacedText {
            block: Some(block),
            at: (x + padding.0, y + padding.1),
            bounds,
            color: self.color,
            plate,
        })
    }

    /// The top left corner, as near to the requested position as the frame allows.
    fn corner(&self, (width, height): (u32, u32), bounds: PixelRect, frame: (u32, u32)) -> (u32, u32) {
        let (x, y) = match self.position {
            TextPosition::At(spot) => {
                let Point { x, y } = spot.on(frame);
                (x, y)
            }
            TextPosition::In(_) => {
                let x = match self.align {
                    TextAlign::Left => bounds.x as f32,
                    TextAlign::Center => bounds.x as f32 + bounds.width as f32 / 2.0,
                    TextAlign::Right => bounds.right() as f32,
                };
                (x, bounds.y as f32 + bounds.height as f32 / 2.0)
            }
        };
        let left = match self.align {
            TextAlign::Left => x,
            TextAlign::Center => x - width as f32 / 2.0,
            TextAlign::Right => x - width as f32,
        };
        let top = y - height as f32 / 2.0;
        let inside = |at: f32, length: u32, side: u32| (at.round() as u32).min(side.saturating_sub(length));
        (inside(left, width, frame.0), inside(top, height, frame.1))
    }
}

/// Laid-out text with its position.
pub(super) struct PlacedText {
    block: Option<TextBlock>,
    at: (u32, u32),
    bounds: PixelRect,
    color: Color,
    /// Colour and corner radius.
    plate: Option<(Color, f32)>,
}

impl PlacedText {
    pub fn centred(block: Option<TextBlock>, middle: Point, color: Color, frame: (u32, u32)) -> Self {
        let corner = |middle: f32, length: u32| (middle - length as f32 / 2.0).round() as u32;
        let size = block.as_ref().map_or((0, 0), |block| (block.width(), block.height()));
        let at = (corner(middle.x, size.0), corner(middle.y, size.1));
        let bounds = PixelRect { x: 0, y: 0, width: frame.0, height: frame.1 };
        Self { block, at, bounds, color, plate: None }
    }

    pub fn draw<P: Pixel>(&self, canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>)
    where
        P::Subpixel: Sample,
    {
        if let Some((color, radius)) = self.plate {
            let form = PaintShape::Rectangle { bounds: self.bounds.into(), radius };
            paint::fill(canvas, form, self.bounds, color, PLATE_OPACITY);
        }
        if let Some(block) = &self.block {
            block.draw(canvas, self.at, self.bounds, self.color);
        }
    }
}
