//! Compares two pictures: similarity, changed regions, and pictures that show them.

mod changes;
mod similarity;
#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use image::{RgbImage, imageops};
use serde::{Deserialize, Serialize};

use self::changes::Changes;
use super::{Collage, CollageBackground, CollageLayout, Fit, ResizeTo, collage, resize, resize_to_cell};
use crate::paint::{Outline, PaintShape};
use crate::{Color, EditContext, Format, ImagingError, Picture, PixelRect, Region, SourceError, Sources};

/// Both pictures are scaled down to this at most. Finer differences are noise.
const MAX_SIDE: u32 = 1600;
/// Background for transparent pixels of both pictures.
const BACKGROUND: Color = Color::WHITE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompareMode {
    SideBySide,
    Difference,
    #[default]
    Both,
}

#[derive(Debug, Clone)]
pub struct Comparison {
    /// Whether every sample of every pixel is the same.
    pub identical: bool,
    /// How similar they look, 0 to 1.
    pub similarity: f64,
    /// Share of pixels that visibly changed, 0 to 1.
    pub changed: f64,
    /// Changed regions, the largest first; at most five.
    pub regions: Vec<Region>,
    /// The size of the comparison, if it differs from that of either picture.
    pub scaled_to: Option<(u32, u32)>,
    /// Whether parts of the second picture were cut off, because its shape differs.
    pub cropped: bool,
    pub side_by_side: Option<Picture>,
    pub difference: Option<Picture>,
}

/// Compares the first two sources.
pub fn compare(
    sources: &Sources,
    mode: CompareMode,
    context: &EditContext,
) -> Result<Comparison, SourceError> {
    let (first, second) = (sources.size(0)?, sources.size(1)?);
    let factor = (f64::from(MAX_SIDE) / f64::from(first.0.max(first.1))).min(1.0);
    let side = |length: u32| (f64::from(length) * factor).round().max(1.0) as u32;
    let frame = (side(first.0), side(first.1));
    let open = |index: usize| -> Result<(RgbImage, u64), SourceError> {
        let picture = sources.open(index, context)?;
        let mark = hash_pixels(&picture);
        let picture =
            resize_to_cell(picture, frame.0, frame.1, Fit::Fill, context).map_err(SourceError::at(index))?;
        Ok((picture.flatten_onto(BACKGROUND), mark))
    };
    let (a, a_mark) = open(0)?;
    let (b, b_mark) = open(1)?;
    let identical = a_mark == b_mark;
    let changes = Changes::between(&a, &b, context)?;
    let shape = |(width, height): (u32, u32)| f64::from(width) / f64::from(height);
    let mut comparison = Comparison {
        identical,
        similarity: if identical { 1.0 } else { similarity::measure_similarity(&a, &b, context)? },
        changed: changes.share(),
        regions: changes.regions.iter().filter_map(|area| in_thousandths(*area, frame)).collect(),
        scaled_to: (first != frame || second != frame).then_some(frame),
        cropped: (shape(first) / shape(second)).ln().abs() >= 0.02,
        side_by_side: None,
        difference: None,
    };
    drop(b);
    if mode != CompareMode::SideBySide {
        comparison.difference = Some(draw_changes(a, &changes, context)?);
    }
    drop(changes);
    if mode != CompareMode::Difference {
        let side_by_side = Collage {
            layout: CollageLayout::BeforeAfter,
            columns: None,
            longest: None,
            gap: None,
            background: CollageBackground::Color(BACKGROUND),
            captions: vec!["A".to_owned(), "B".to_owned()],
        };
        comparison.side_by_side = Some(collage(sources, &side_by_side, context)?);
    }
    Ok(comparison)
}

/// Equal only for the same pixels of the same kind. Saves holding two pictures in memory together.
fn hash_pixels(picture: &Picture) -> u64 {
    let mut hasher = DefaultHasher::new();
    (picture.width(), picture.height(), picture.pixels().color()).hash(&mut hasher);
    hasher.write(picture.pixels().as_bytes());
    hasher.finish()
}

fn in_thousandths(area: PixelRect, (width, height): (u32, u32)) -> Option<Region> {
    let near = |start: u32, side: u32| (f64::from(start) * 1000.0 / f64::from(side)).floor();
    let far = |end: u32, side: u32| (f64::from(end) * 1000.0 / f64::from(side)).ceil().min(1000.0);
    let (left, top) = (near(area.x, width), near(area.y, height));
    Region::new(left, top, far(area.right(), width), far(area.bottom(), height)).ok()
}

/// The first picture in dark grays, with the changes as a heat map and outlined.
fn draw_changes(base: RgbImage, changes: &Changes, context: &EditContext) -> Result<Picture, ImagingError> {
    let mut shown = base;
    let (width, height) = shown.dimensions();
    for (y, row) in shown.rows_mut().enumerate() {
        context.check_stopped()?;
        for (x, pixel) in row.enumerate() {
            let [r, g, b] = pixel.0.map(f32::from);
            let gray = 14.0 + (0.299 * r + 0.587 * g + 0.114 * b) * 0.5;
            let heat = changes.heat(x as u32, y as u32);
            // Dark red, orange, light yellow.
            let glow = [
                150.0 + 105.0 * (heat * 2.0).min(1.0),
                10.0 + 235.0 * heat.powf(1.6),
                20.0 + 130.0 * (heat * 2.0 - 1.0).max(0.0),
            ];
            let cover = (heat * 3.0).min(1.0);
            pixel.0 = glow.map(|glow| (gray + (glow - gray) * cover).round() as u8);
        }
    }
    let unit = (width.max(height) / 500).max(1);
    for area in &changes.regions {
        let reach = Outline::reach(0, unit) + 2 * unit;
        let left = area.x.saturating_sub(reach);
        let top = area.y.saturating_sub(reach);
        let right = (area.right() + reach).min(width);
        let bottom = (area.bottom() + reach).min(height);
        let within = PixelRect { x: left, y: top, width: right - left, height: bottom - top };
        if within.width <= 2 * unit || within.height <= 2 * unit {
            continue;
        }
        let inner = PixelRect {
            x: left + unit,
            y: top + unit,
            width: within.width - 2 * unit,
            height: within.height - 2 * unit,
        };
        let inner = PaintShape::Rectangle { bounds: inner.into(), radius: 0.0 };
        let outline = Outline { inner, halo: 0, thickness: unit, color: Color::rgb(0, 220, 255) };
        outline.draw(&mut shown, within);
    }
    Ok(Picture::new(shown.into(), Format::Png))
}

fn luma(picture: &RgbImage, context: &EditContext) -> Result<image::GrayImage, ImagingError> {
    let gray = Picture::new(imageops::grayscale(picture).into(), Format::Png);
    let gray = if gray.width().max(gray.height()) > similarity::MAX_SIDE {
        resize(gray, ResizeTo::longest(similarity::MAX_SIDE)?, context)?
    } else {
        gray
    };
    Ok(gray.pixels.into_luma8())
}
