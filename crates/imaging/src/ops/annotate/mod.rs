//! Draws text, arrows, lines, polygons and numbered pins. Sizes scale with the picture. Everything has a contrasting
//! edge, so that it shows on any background, and stays inside the frame.

mod line;
mod pin;
mod text;

pub use line::{LineAnnotation, LineKind};
pub use pin::PinAnnotation;
pub use text::{TextAlign, TextAnnotation, TextBacking, TextPosition};

use image::{ImageBuffer, Pixel};

use crate::paint::{Coverage, HALO_OPACITY, Point};
use crate::picture::{Sample, paint_buffer};
use crate::{Color, EditContext, ImagingError, Picture, PixelRect};

#[derive(Debug, Clone, PartialEq)]
pub enum Annotation {
    Text(TextAnnotation),
    Line(LineAnnotation),
    Pin(PinAnnotation),
}

/// A point of a picture, in thousandths of its upright width and height.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RelativePoint {
    x: f64,
    y: f64,
}

impl RelativePoint {
    /// `None` unless both are from 0 to 1000.
    pub fn new(x: f64, y: f64) -> Option<Self> {
        let inside = |value: f64| (0.0..=1000.0).contains(&value);
        (inside(x) && inside(y)).then_some(Self { x, y })
    }

    fn on(self, (width, height): (u32, u32)) -> Point {
        let scaled = |thousandths: f64, side: u32| (thousandths * f64::from(side) / 1000.0) as f32;
        Point { x: scaled(self.x, width), y: scaled(self.y, height) }
    }
}

/// Draws the annotations in order: later ones lie on top.
pub fn annotate(
    picture: Picture,
    annotations: &[Annotation],
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    if annotations.is_empty() {
        return Err(ImagingError::BadArgument("Name at least one thing to draw.".to_owned()));
    }
    let frame = (picture.width(), picture.height());
    let mut picture = picture.into_color();
    for (index, annotation) in annotations.iter().enumerate() {
        context.check_stopped()?;
        match annotation {
            Annotation::Text(text) => {
                let placed = text.lay_out(frame, context).ok_or_else(|| {
                    ImagingError::BadArgument(format!(
                        "items[{index}].text: this picture of {}×{} pixels has no room for a readable letter. Enlarge \
                         it with resize_image first.",
                        frame.0, frame.1
                    ))
                })?;
                paint_buffer!(&mut picture.pixels, |canvas| placed.draw(canvas))?;
            }
            Annotation::Line(line) => {
                let layers = line.build_layers(frame, context)?;
                paint_buffer!(&mut picture.pixels, |canvas| layers.draw(canvas))?;
            }
            Annotation::Pin(pin) => {
                let (layers, number) = pin.build_layers(frame, context)?;
                paint_buffer!(&mut picture.pixels, |canvas| {
                    layers.draw(canvas);
                    number.draw(canvas);
                })?;
            }
        }
    }
    Ok(picture)
}

/// Painted from the bottom up: area, halo, body.
struct Layers {
    frame: (u32, u32),
    area: Option<(Coverage, f32)>,
    halo: Option<Coverage>,
    body: Coverage,
    color: Color,
}

impl Layers {
    fn draw<P: Pixel>(&self, canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>)
    where
        P::Subpixel: Sample,
    {
        let all = PixelRect { x: 0, y: 0, width: self.frame.0, height: self.frame.1 };
        if let Some((area, opacity)) = &self.area {
            area.blend(canvas, (0, 0), all, (self.color, *opacity));
        }
        if let Some(halo) = &self.halo {
            halo.blend(canvas, (0, 0), all, (self.color.readable_on_top(), HALO_OPACITY));
        }
        self.body.blend(canvas, (0, 0), all, (self.color, 1.0));
    }
}

/// Line thickness for this many thousandths of the shorter side, and the width of its halo, in pixels.
fn stroke_width((width, height): (u32, u32), thousandths: f64) -> (f32, f32) {
    let shorter = width.min(height) as f32;
    let least = if shorter < 100.0 { 1.0 } else { 2.0 };
    let thickness = (thousandths as f32 * shorter / 1000.0).max(least);
    let halo = if shorter < 24.0 { 0.0 } else { (thickness / 4.0).max(1.0) };
    (thickness, halo)
}
