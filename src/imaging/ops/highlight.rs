//! Points at parts of a picture: an outline or a spotlight, and a label. Everything scales with the picture and
//! stays inside the frame; what lies between is left bit for bit.

use image::{ImageBuffer, Pixel};
use serde::{Deserialize, Serialize};

use crate::imaging::paint::{self, Form, HALO_OPACITY, Outline};
use crate::imaging::picture::{Sample, paint_buffer};
use crate::imaging::text::Line;
use crate::imaging::{Color, ImagingError, Picture, PixelRect, Region};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Highlight {
    #[serde(flatten)]
    pub region: Region,
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub color: Color,
    #[serde(default)]
    pub shape: Shape,
    /// Of the outline, in thousandths of the picture's shorter side.
    #[serde(default)]
    pub thickness: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    #[default]
    Rectangle,
    Ellipse,
    /// Everything else is darkened.
    Spotlight,
}

const DEFAULT_THICKNESS: f64 = 7.0;
/// Line height of labels, as a part of the shorter side, and the least that is still legible.
const LABEL_HEIGHT: f32 = 0.046;
const LEGIBLE: f32 = 7.0;
const COMFORTABLE: f32 = 15.0;
/// How bright the surroundings of a spotlight stay.
const SHADE: f32 = 0.32;

impl Highlight {
    pub fn new(region: Region) -> Self {
        Self { region, label: None, color: Color::default(), shape: Shape::default(), thickness: None }
    }
}

pub fn highlight(picture: Picture, highlights: &[Highlight]) -> Result<Picture, ImagingError> {
    if highlights.is_empty() {
        return Err(ImagingError::BadArgument("Name at least one region to highlight.".to_owned()));
    }
    let frame = (picture.width(), picture.height());
    let marks = highlights.iter().map(|h| Mark::new(h, frame)).collect::<Result<Vec<_>, _>>()?;
    let plates = place_plates(&marks, frame);
    let mut picture = picture.into_color();
    paint_buffer!(&mut picture.pixels, |canvas| {
        shade(canvas, &marks);
        for mark in &marks {
            mark.outline.draw(canvas, mark.outer);
        }
        for plate in &plates {
            plate.draw(canvas);
        }
    })?;
    Ok(picture)
}

/// A highlight laid out on a frame of known size.
struct Mark {
    shape: Shape,
    outline: Outline,
    /// What the outline surrounds.
    inner: PixelRect,
    /// The outline's outermost pixels.
    outer: PixelRect,
    label: Option<Line>,
}

impl Mark {
    fn new(highlight: &Highlight, (width, height): (u32, u32)) -> Result<Self, ImagingError> {
        let thousandths = highlight.thickness.unwrap_or(DEFAULT_THICKNESS);
        if !(1.0..=100.0).contains(&thousandths) {
            return Err(ImagingError::BadArgument(format!(
                "thickness is {thousandths}, but must be from 1 to 100 (thousandths of the shorter side; 7 is usual)."
            )));
        }
        let shorter = width.min(height);
        let least = if shorter < 100 { 1 } else { 2 };
        let mut thickness = ((thousandths * f64::from(shorter) / 1000.0).round() as u32).max(least);
        if highlight.shape == Shape::Spotlight {
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
            Shape::Ellipse => Form::Ellipse { bounds: inner.into() },
            Shape::Rectangle | Shape::Spotlight => Form::Rectangle { bounds: inner.into(), radius: 0.0 },
        };
        let outline = Outline { inner: form, halo, thickness, color: highlight.color };
        let label = highlight.label.as_deref().and_then(|text| set_label(text, halo, (width, height)));
        Ok(Self { shape: highlight.shape, outline, inner, outer, label })
    }
}

/// The outline goes around the region; where the frame leaves no room for it, the inside gives way.
fn inside_frame(start: u32, end: u32, reach: u32, side: u32) -> (u32, u32) {
    let (start, end) = (start.max(reach), end.min(side.saturating_sub(reach)));
    if start <= end {
        return (start, end);
    }
    let middle = start.midpoint(end).min(side);
    (middle, middle)
}

fn set_label(text: &str, halo: u32, (width, height): (u32, u32)) -> Option<Line> {
    let size = (width.min(height) as f32 * LABEL_HEIGHT).max(COMFORTABLE).min(height as f32 * 0.4).round();
    let room = width as f32 - 2.0 * (halo as f32 + Plate::padding(size).0);
    (size >= LEGIBLE).then(|| Line::new(text, size, room)).flatten()
}

/// Darkens what no spotlight shines on; does nothing without spotlights.
fn shade<P: Pixel>(canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>, marks: &[Mark])
where
    P::Subpixel: Sample,
{
    let lit: Vec<_> = marks.iter().filter(|mark| mark.shape == Shape::Spotlight).collect();
    if lit.is_empty() {
        return;
    }
    for (y, row) in canvas.enumerate_rows_mut() {
        let near: Vec<_> =
            lit.iter().filter(|mark| (mark.outer.y..mark.outer.bottom()).contains(&y)).collect();
        if near.is_empty() {
            row.for_each(|(_, _, pixel)| paint::dim(pixel, SHADE));
            continue;
        }
        for (x, _, pixel) in row {
            let here = near.iter().filter(|mark| (mark.outer.x..mark.outer.right()).contains(&x));
            let light = here.map(|mark| mark.outline.inner.coverage(x, y)).fold(0.0, f32::max);
            if light < 1.0 {
                paint::dim(pixel, SHADE + (1.0 - SHADE) * light);
            }
        }
    }
}

/// A label's plate, at its place.
struct Plate<'a> {
    line: &'a Line,
    bounds: PixelRect,
    halo: u32,
    color: Color,
}

impl Plate<'_> {
    /// Beside and above the text of a line of this height.
    fn padding(size: f32) -> (f32, f32) {
        ((size * 0.36).round().max(2.0), (size * 0.1).round().max(1.0))
    }

    fn size(line: &Line, halo: u32) -> (u32, u32) {
        let (beside, above) = Self::padding(line.size());
        let width = (line.width() + 2.0 * beside).ceil() as u32 + 2 * halo;
        let height = (line.size() + 2.0 * above).ceil() as u32 + 2 * halo;
        (width, height)
    }

    fn draw<P: Pixel>(&self, canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>)
    where
        P::Subpixel: Sample,
    {
        let ink = self.color.readable_on_top();
        let radius = self.line.size() * 0.16;
        let edge = Form::Rectangle { bounds: self.bounds.into(), radius: radius + self.halo as f32 };
        let face = edge.grow(-(self.halo as f32));
        paint::fill(canvas, edge, self.bounds, ink, HALO_OPACITY);
        paint::fill(canvas, face, self.bounds, self.color, 1.0);
        let (beside, above) = Self::padding(self.line.size());
        let (x, y) = (self.bounds.x as f32 + self.halo as f32, self.bounds.y as f32 + self.halo as f32);
        self.line.draw(canvas, x + beside, y + above, self.bounds, ink);
    }
}

fn place_plates<'a>(marks: &'a [Mark], frame: (u32, u32)) -> Vec<Plate<'a>> {
    let mut plates: Vec<Plate<'a>> = Vec::new();
    for (index, mark) in marks.iter().enumerate() {
        let Some(line) = &mark.label else { continue };
        let halo = mark.outline.halo;
        let clutter = |spot: &PixelRect| {
            let on_plates = plates.iter().filter(|plate| plate.bounds.intersects(spot)).count();
            let others = marks.iter().enumerate().filter(|(other, _)| *other != index);
            let on_marks = others.filter(|(_, other)| other.outer.intersects(spot)).count();
            10 * on_plates + on_marks
        };
        let spots = spots_for(mark, Plate::size(line, halo), frame);
        if let Some(bounds) = spots.into_iter().min_by_key(clutter) {
            plates.push(Plate { line, bounds, halo, color: mark.outline.color });
        }
    }
    plates
}

/// Places for a plate inside the frame, the best first: on top of the outline, below it, then within, each
/// flush with the left edge or else the right one; in the middle of an ellipse, which has no edge there.
fn spots_for(mark: &Mark, (width, height): (u32, u32), frame: (u32, u32)) -> Vec<PixelRect> {
    let lowest = frame.1.saturating_sub(height);
    let rows = [
        mark.inner.y.checked_sub(height),
        Some(mark.inner.bottom()),
        Some(mark.outer.y),
        mark.outer.bottom().checked_sub(height),
    ];
    let (left, right) = (mark.outer.x, mark.outer.right().saturating_sub(width));
    let columns = match mark.shape {
        Shape::Ellipse => [(mark.outer.x + mark.outer.width / 2).saturating_sub(width / 2), left],
        Shape::Rectangle | Shape::Spotlight => [left, right],
    };
    let mut spots: Vec<_> =
        rows.into_iter().flatten().filter(|y| *y <= lowest).flat_map(|y| columns.map(|x| (x, y))).collect();
    if spots.is_empty() {
        spots.push((mark.outer.x, mark.outer.y.min(lowest)));
    }
    let leftmost = frame.0.saturating_sub(width);
    spots
        .into_iter()
        .map(|(x, y)| PixelRect {
            x: x.min(leftmost),
            y,
            width: width.min(frame.0),
            height: height.min(frame.1),
        })
        .collect()
}
