//! Places and draws labels and numbers on plates: inside the frame, and without overlaps if possible.

use image::{ImageBuffer, Pixel};

use super::{HighlightShape, PlacedHighlight};
use crate::paint::{self, HALO_OPACITY, PaintShape};
use crate::picture::Sample;
use crate::text::TextBlock;
use crate::{Color, PixelRect};

/// The plate of a label and its position.
pub(super) struct LabelPlate<'a> {
    label: &'a TextBlock,
    bounds: PixelRect,
    halo: u32,
    color: Color,
    round: bool,
}

impl LabelPlate<'_> {
    /// Horizontal and vertical padding for a line of this height.
    pub fn padding(size: f32) -> (f32, f32) {
        ((size * 0.36).round().max(2.0), (size * 0.1).round().max(1.0))
    }

    fn size(highlight: &PlacedHighlight, label: &TextBlock) -> (u32, u32) {
        let (width, height) = (label.width(), label.height());
        let (beside, above) = Self::padding(height as f32);
        let halo = 2 * highlight.outline.halo;
        if highlight.round {
            let around = (width + beside as u32).max(height + 2 * above as u32) + halo;
            return (around, around);
        }
        (width + 2 * beside as u32 + halo, height + 2 * above as u32 + halo)
    }

    pub fn draw<P: Pixel>(&self, canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>)
    where
        P::Subpixel: Sample,
    {
        let ink = self.color.readable_on_top();
        let PixelRect { x, y, width, height } = self.bounds;
        let radius = if self.round {
            height as f32 / 2.0
        } else {
            self.label.height() as f32 * 0.16 + self.halo as f32
        };
        let edge = PaintShape::Rectangle { bounds: self.bounds.into(), radius };
        let face = edge.grow(-(self.halo as f32));
        paint::fill(canvas, edge, self.bounds, ink, HALO_OPACITY);
        paint::fill(canvas, face, self.bounds, self.color, 1.0);
        let middle = |side: u32, inner: u32| side.saturating_sub(inner) / 2;
        let at = (x + middle(width, self.label.width()), y + middle(height, self.label.height()));
        self.label.draw(canvas, at, self.bounds, ink);
    }
}

pub(super) fn place_labels<'a>(placed: &'a [PlacedHighlight], frame: (u32, u32)) -> Vec<LabelPlate<'a>> {
    let mut labels: Vec<LabelPlate<'a>> = Vec::new();
    for (index, highlight) in placed.iter().enumerate() {
        let Some(label) = &highlight.label else { continue };
        let clutter = |position: &PixelRect| {
            let on_plates = labels.iter().filter(|plate| plate.bounds.intersects(position)).count();
            let others = placed.iter().enumerate().filter(|(other, _)| *other != index);
            let on_highlights = others.filter(|(_, other)| other.outer.intersects(position)).count();
            10 * on_plates + on_highlights
        };
        let size = LabelPlate::size(highlight, label);
        let positions = if highlight.round {
            corner_positions(highlight, size, frame)
        } else {
            side_positions(highlight, size, frame)
        };
        if let Some(bounds) = positions.into_iter().min_by_key(clutter) {
            let PlacedHighlight { outline, round, .. } = highlight;
            labels.push(LabelPlate {
                label,
                bounds,
                halo: outline.halo,
                color: outline.color,
                round: *round,
            });
        }
    }
    labels
}

/// Positions for a number, the best first: the corners of the outline, clockwise from the top left.
fn corner_positions(highlight: &PlacedHighlight, size: (u32, u32), frame: (u32, u32)) -> Vec<PixelRect> {
    // Distance of the corner from the centre; smaller for an ellipse.
    let reach = match highlight.shape {
        HighlightShape::Ellipse => std::f32::consts::FRAC_1_SQRT_2,
        HighlightShape::Rectangle | HighlightShape::Spotlight => 1.0,
    };
    let middle = |start: u32, length: u32| start as f32 + length as f32 / 2.0;
    let (x, y) =
        (middle(highlight.inner.x, highlight.inner.width), middle(highlight.inner.y, highlight.inner.height));
    let (dx, dy) = (highlight.inner.width as f32 / 2.0 * reach, highlight.inner.height as f32 / 2.0 * reach);
    let corner = |(right, down): (f32, f32)| {
        let at = |middle: f32, length: u32| (middle - length as f32 / 2.0).round().max(0.0) as u32;
        move_inside((at(x + dx * right, size.0), at(y + dy * down, size.1)), size, frame)
    };
    [(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0), (-1.0, 1.0)].map(corner).into()
}

/// Positions for a plate, the best first: on top of the outline, below it, then inside, each aligned with the left
/// edge or else the right one. Centred for an ellipse, which has no corners.
fn side_positions(highlight: &PlacedHighlight, size: (u32, u32), frame: (u32, u32)) -> Vec<PixelRect> {
    let (width, height) = size;
    let lowest = frame.1.saturating_sub(height);
    let rows = [
        highlight.inner.y.checked_sub(height),
        Some(highlight.inner.bottom()),
        Some(highlight.outer.y),
        highlight.outer.bottom().checked_sub(height),
    ];
    let (left, right) = (highlight.outer.x, highlight.outer.right().saturating_sub(width));
    let columns = match highlight.shape {
        HighlightShape::Ellipse => {
            [(highlight.outer.x + highlight.outer.width / 2).saturating_sub(width / 2), left]
        }
        HighlightShape::Rectangle | HighlightShape::Spotlight => [left, right],
    };
    let mut positions: Vec<_> =
        rows.into_iter().flatten().filter(|y| *y <= lowest).flat_map(|y| columns.map(|x| (x, y))).collect();
    if positions.is_empty() {
        positions.push((highlight.outer.x, highlight.outer.y));
    }
    positions.into_iter().map(|position| move_inside(position, size, frame)).collect()
}

/// Moved into the frame; clipped only if it is larger than the frame.
fn move_inside((x, y): (u32, u32), (width, height): (u32, u32), frame: (u32, u32)) -> PixelRect {
    PixelRect {
        x: x.min(frame.0.saturating_sub(width)),
        y: y.min(frame.1.saturating_sub(height)),
        width: width.min(frame.0),
        height: height.min(frame.1),
    }
}
