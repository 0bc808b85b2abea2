//! Lines, arrows and polygons.

use super::{Layers, RelativePoint, stroke_width};
use crate::paint::{Coverage, Point};
use crate::{Color, EditContext, ImagingError};

#[derive(Debug, Clone, PartialEq)]
pub struct LineAnnotation {
    pub kind: LineKind,
    /// At least two.
    pub points: Vec<RelativePoint>,
    pub color: Color,
    /// In thousandths of the picture's shorter side.
    pub thickness: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LineKind {
    Open,
    /// With a head at the last point.
    Arrow,
    /// Closes from the last point to the first; `fill` is the opacity of the area, 0 to 1.
    Closed {
        fill: f32,
    },
}

impl LineAnnotation {
    pub const DEFAULT_THICKNESS: u32 = 8;

    pub(super) fn build_layers(
        &self,
        frame: (u32, u32),
        context: &EditContext,
    ) -> Result<Layers, ImagingError> {
        let (mut thickness, mut halo) = stroke_width(frame, self.thickness);
        let mut points: Vec<_> = self.points.iter().map(|spot| spot.on(frame)).collect();
        let mut head = None;
        if self.kind == LineKind::Arrow
            && let [.., before, tip] = points[..]
        {
            let length = before.distance(tip);
            // A short arrow gets a thinner line, or it would be all head.
            let scale = (length / (thickness * 6.0)).clamp(0.3, 1.0);
            (thickness, halo) = (thickness * scale, halo * scale);
            let whole = ArrowHead::new(before, tip, thickness);
            points.pop();
            points.push(whole.neck);
            head = Some(whole.corners);
        }
        let radius = thickness / 2.0;
        let closed = matches!(self.kind, LineKind::Closed { .. });
        let mut reached = points.clone();
        reached.extend(head.iter().flatten());
        let layer = |beyond: f32| -> Result<Coverage, ImagingError> {
            let mut layer = Coverage::around(&reached, radius + beyond, frame);
            layer.add_path(&points, closed, radius + beyond, context)?;
            if let Some(corners) = &head {
                // Slightly round corners look less like an artefact.
                layer.add_area(corners, context)?;
                layer.add_path(corners, true, radius * HEAD_ROUNDING + beyond, context)?;
            }
            Ok(layer)
        };
        let area = match self.kind {
            LineKind::Closed { fill } if fill > 0.0 => {
                let mut area = Coverage::around(&points, 0.0, frame);
                area.add_area(&points, context)?;
                Some((area, fill))
            }
            _ => None,
        };
        let halo = if halo > 0.0 { Some(layer(halo)?) } else { None };
        Ok(Layers { frame, area, halo, body: layer(0.0)?, color: self.color })
    }
}

const HEAD_ROUNDING: f32 = 0.35;

struct ArrowHead {
    /// Where the shaft ends, inside the head.
    neck: Point,
    corners: [Point; 3],
}

impl ArrowHead {
    fn new(from: Point, tip: Point, thickness: f32) -> Self {
        let rounding = thickness / 2.0 * HEAD_ROUNDING;
        let length = (thickness * 4.4).min(from.distance(tip).max(thickness));
        let half = length * 0.48;
        // The outline of the head is drawn around its corners, so they lie a little inside.
        let point = tip.toward(from, rounding * 2.0);
        let back = tip.toward(from, length);
        let unit = Point { x: (tip.x - back.x) / length, y: (tip.y - back.y) / length };
        let side = |sign: f32| Point { x: back.x - unit.y * half * sign, y: back.y + unit.x * half * sign };
        Self { neck: tip.toward(from, length * 0.75), corners: [point, side(1.0), side(-1.0)] }
    }
}
