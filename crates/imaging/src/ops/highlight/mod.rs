//! Highlights regions of a picture with an outline or a spotlight, and a label. Sizes scale with the picture,
//! everything stays inside the frame, and the highlighted pixels do not change.

mod labels;
mod spotlight;

use serde::{Deserialize, Serialize};

use crate::paint::{Outline, PaintShape};
use crate::picture::paint_buffer;
use crate::text::{Align, Lines, TextBlock, TextStyle};
use crate::{Color, EditContext, ImagingError, Picture, PixelRect, Region};
use labels::LabelPlate;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Highlight {
    #[serde(flatten)]
    pub region: Region,
    /// Shown before the label, or alone in a round plate.
    #[serde(default)]
    pub number: Option<u32>,
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub color: Color,
    #[serde(default)]
    pub shape: HighlightShape,
    /// Thickness of the outline, in thousandths of the picture's shorter side.
    #[serde(default)]
    pub thickness: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HighlightShape {
    #[default]
    Rectangle,
    Ellipse,
    /// Everything else is darkened.
    Spotlight,
}

/// Line height of labels as a share of the shorter side; smallest legible height; preferred minimum, in pixels.
const LABEL_HEIGHT: f32 = 0.046;
const MIN_LABEL_HEIGHT: f32 = 7.0;
const PREFERRED_LABEL_HEIGHT: f32 = 15.0;

impl Highlight {
    /// In thousandths of the picture's shorter side.
    pub const DEFAULT_THICKNESS: u32 = 7;

    pub fn new(region: Region) -> Self {
        Self {
            region,
            number: None,
            label: None,
            color: Color::default(),
            shape: HighlightShape::default(),
            thickness: None,
        }
    }

    fn text(&self) -> Option<String> {
        match (self.number, &self.label) {
            (Some(number), Some(label)) => Some(format!("{number} {label}")),
            (Some(number), None) => Some(number.to_string()),
            (None, label) => label.clone(),
        }
    }
}

pub fn highlight(
    picture: Picture,
    highlights: &[Highlight],
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    if highlights.is_empty() {
        return Err(ImagingError::BadArgument("Name at least one region to highlight.".to_owned()));
    }
    let frame = (picture.width(), picture.height());
    let placed =
        highlights.iter().map(|h| PlacedHighlight::new(h, frame, context)).collect::<Result<Vec<_>, _>>()?;
    let labels = labels::place_labels(&placed, frame);
    let mut picture = picture.into_color();
    paint_buffer!(&mut picture.pixels, |canvas| {
        spotlight::darken_surroundings(canvas, &placed, context)?;
        for highlight in &placed {
            context.check_stopped()?;
            highlight.outline.draw(canvas, highlight.outer);
        }
        for plate in &labels {
            plate.draw(canvas);
        }
    })?;
    Ok(picture)
}

/// A highlight laid out on a frame of known size.
struct PlacedHighlight {
    shape: HighlightShape,
    outline: Outline,
    /// The area that the outline surrounds.
    inner: PixelRect,
    /// The outermost pixels of the outline.
    outer: PixelRect,
    label: Option<TextBlock>,
    /// A number without a label.
    round: bool,
}

impl PlacedHighlight {
    fn new(
        highlight: &Highlight,
        (width, height): (u32, u32),
        context: &EditContext,
    ) -> Result<Self, ImagingError> {
        let usual = f64::from(Highlight::DEFAULT_THICKNESS);
        let thousandths = highlight.thickness.unwrap_or(usual);
        if !(1.0..=100.0).contains(&thousandths) {
            return Err(ImagingError::BadArgument(format!(
                "thickness is {thousandths}, but must be from 1 to 100 (thousandths of the shorter side; {usual} is usual)."
            )));
        }
        let shorter = width.min(height);
        let least = if shorter < 100 { 1 } else { 2 };
        let mut thickness = ((thousandths * f64::from(shorter) / 1000.0).round() as u32).max(least);
        if highlight.shape == HighlightShape::Spotlight {
            thickness = (thickness / 2).max(1);
        }
        thickness = thickness.min((shorter / 6).max(1));
        let halo = if shorter < 24 { 0 } else { (thickness / 4).max(1) };
        let reach = Outline::reach(halo, thickness);
        let region = highlight.region.to_pixels(width, height);
        let (left, right) = inside_frame(region.x, region.right(), reach, width);
        let (top, bottom) = inside_frame(region.y, region.bottom(), reach, height);
        let inner = PixelRect { x: left, y: top, width: right - left, height: bottom - top };
        let (outer_left, outer_top) = (left.saturating_sub(reach), top.saturating_sub(reach));
        let outer = PixelRect {
            x: outer_left,
            y: outer_top,
            width: (right + reach).min(width) - outer_left,
            height: (bottom + reach).min(height) - outer_top,
        };
        let form = match highlight.shape {
            HighlightShape::Ellipse => PaintShape::Ellipse { bounds: inner.into() },
            HighlightShape::Rectangle | HighlightShape::Spotlight => {
                PaintShape::Rectangle { bounds: inner.into(), radius: 0.0 }
            }
        };
        let outline = Outline { inner: form, halo, thickness, color: highlight.color };
        let label = highlight.text().and_then(|text| lay_out_label(&text, halo, (width, height), context));
        let round = highlight.number.is_some() && highlight.label.is_none();
        Ok(Self { shape: highlight.shape, outline, inner, outer, label, round })
    }
}

/// The outline goes around the region. At the edge of the frame it moves inwards.
fn inside_frame(start: u32, end: u32, reach: u32, side: u32) -> (u32, u32) {
    let (start, end) = (start.max(reach), end.min(side.saturating_sub(reach)));
    if start <= end {
        return (start, end);
    }
    let middle = start.midpoint(end).min(side);
    (middle, middle)
}

fn lay_out_label(
    text: &str,
    halo: u32,
    (width, height): (u32, u32),
    context: &EditContext,
) -> Option<TextBlock> {
    let size = (width.min(height) as f32 * LABEL_HEIGHT)
        .max(PREFERRED_LABEL_HEIGHT)
        .min(height as f32 * 0.4)
        .round();
    let area = width as f32 - 2.0 * (halo as f32 + LabelPlate::padding(size).0);
    let style =
        TextStyle { size, area: (area, height as f32), lines: Lines::One, align: Align::Center, edge: 0.0 };
    (size >= MIN_LABEL_HEIGHT).then(|| TextBlock::new(&context.fonts, text, &style)).flatten()
}
