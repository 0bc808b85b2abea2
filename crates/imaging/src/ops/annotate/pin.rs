//! Numbered pins: a drop shape with its tip at the given point. The body goes where the frame has space for it.

use super::{Layers, RelativePoint, text::PlacedText};
use crate::paint::{Coverage, Point};
use crate::text::{Align, Lines, TextBlock, TextStyle};
use crate::{Color, EditContext, ImagingError};

#[derive(Debug, Clone, PartialEq)]
pub struct PinAnnotation {
    pub at: RelativePoint,
    pub number: u32,
    pub color: Color,
    /// Diameter of the body, in thousandths of the picture's shorter side.
    pub size: f64,
}

/// Distance from the tip to the centre of the body, in radii of the body.
const STEM_LENGTH: f32 = 1.7;

impl PinAnnotation {
    pub const DEFAULT_SIZE: u32 = 60;

    pub(super) fn build_layers(
        &self,
        frame: (u32, u32),
        context: &EditContext,
    ) -> Result<(Layers, PlacedText), ImagingError> {
        let shorter = frame.0.min(frame.1) as f32;
        let radius = (self.size as f32 * shorter / 2000.0).max(8.0).min(shorter / 4.0).max(1.0);
        let halo = if shorter < 24.0 { 0.0 } else { (radius * 0.12).max(1.0) };
        let tip = self.at.on(frame);
        let body = place_body(tip, radius, halo, frame);
        let drop = outline_of(tip, body, radius);
        let layer = |beyond: f32| -> Result<Coverage, ImagingError> {
            let mut layer = Coverage::around(&[tip, body], radius + beyond, frame);
            layer.add_line(body, body, radius + beyond);
            layer.add_area(&drop, context)?;
            layer.add_path(&drop, true, beyond.max(0.3), context)?;
            Ok(layer)
        };
        let halo = if halo > 0.0 { Some(layer(halo)?) } else { None };
        let layers = Layers { frame, area: None, halo, body: layer(0.0)?, color: self.color };
        let style = TextStyle {
            size: radius * 1.3,
            area: (radius * 1.7, radius * 1.7),
            lines: Lines::One,
            align: Align::Center,
            edge: 0.0,
        };
        let text = self.number.to_string();
        let block = TextBlock::fitted(&context.fonts, &text, &style, radius * 0.5);
        let ink = self.color.readable_on_top();
        Ok((layers, PlacedText::centred(block, body, ink, frame)))
    }
}

/// Above the tip if there is space, else below, beside it or towards the centre.
fn place_body(tip: Point, radius: f32, halo: f32, frame: (u32, u32)) -> Point {
    let reach = radius + halo;
    let (width, height) = (frame.0 as f32, frame.1 as f32);
    let fits = |body: &Point| {
        body.x >= reach && body.y >= reach && body.x <= width - reach && body.y <= height - reach
    };
    let slant = std::f32::consts::FRAC_1_SQRT_2;
    let ways = [
        (0.0, -1.0),
        (0.0, 1.0),
        (slant, -slant),
        (-slant, -slant),
        (slant, slant),
        (-slant, slant),
        (1.0, 0.0),
        (-1.0, 0.0),
    ];
    let bodies =
        ways.map(|(x, y)| Point { x: tip.x + x * radius * STEM_LENGTH, y: tip.y + y * radius * STEM_LENGTH });
    let inside = |value: f32, side: f32| value.min(side - reach).max(reach.min(side / 2.0));
    let pushed = Point { x: inside(tip.x, width), y: inside(tip.y - radius * STEM_LENGTH, height) };
    bodies.into_iter().find(fits).unwrap_or(pushed)
}

/// The tip and the two points where its tangents touch the body.
fn outline_of(tip: Point, body: Point, radius: f32) -> Vec<Point> {
    let distance = tip.distance(body);
    if distance <= radius {
        return vec![tip];
    }
    let opening = (radius / distance).acos();
    let toward = (tip.y - body.y).atan2(tip.x - body.x);
    let touch = |angle: f32| Point { x: body.x + radius * angle.cos(), y: body.y + radius * angle.sin() };
    vec![tip, touch(toward + opening), touch(toward - opening)]
}
