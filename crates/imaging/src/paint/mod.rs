//! Antialiased drawing on colour pixels of any depth: blending colour into a pixel, filling and outlining shapes.

mod coverage;

use image::{ImageBuffer, Pixel};

pub(super) use coverage::{Coverage, Point};

use super::picture::Sample;
use super::{Color, PixelRect};

/// Blends `color` over a colour pixel; a coverage of 0 changes nothing.
pub(super) fn blend<P: Pixel>(pixel: &mut P, color: Color, coverage: f32)
where
    P::Subpixel: Sample,
{
    if coverage <= 0.0 {
        return;
    }
    let coverage = coverage.min(1.0);
    let ink = [color.r, color.g, color.b].map(Sample::to_unit);
    let channels = pixel.channels_mut();
    let below = if P::HAS_ALPHA { channels[3].to_unit() } else { 1.0 };
    let alpha = coverage + below * (1.0 - coverage);
    for (sample, ink) in channels.iter_mut().zip(ink) {
        let mixed = (ink * coverage + sample.to_unit() * below * (1.0 - coverage)) / alpha;
        *sample = P::Subpixel::from_unit(mixed);
    }
    if P::HAS_ALPHA {
        channels[3] = P::Subpixel::from_unit(alpha);
    }
}

/// A shape with smooth edges, in pixels from the top left corner of the picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PaintShape {
    Rectangle { bounds: Bounds, radius: f32 },
    Ellipse { bounds: Bounds },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Bounds {
    pub left: f32,
    pub top: f32,
    pub right: f32,
    pub bottom: f32,
}

impl From<PixelRect> for Bounds {
    fn from(rect: PixelRect) -> Self {
        Self {
            left: rect.x as f32,
            top: rect.y as f32,
            right: rect.right() as f32,
            bottom: rect.bottom() as f32,
        }
    }
}

impl Bounds {
    pub fn grow(self, by: f32) -> Self {
        Self { left: self.left - by, top: self.top - by, right: self.right + by, bottom: self.bottom + by }
    }
}

impl PaintShape {
    /// Grows the shape by the same distance on every side; corner radii grow as well.
    pub fn grow(self, by: f32) -> Self {
        match self {
            Self::Rectangle { bounds, radius } => {
                Self::Rectangle { bounds: bounds.grow(by), radius: (radius + by).max(0.0) }
            }
            Self::Ellipse { bounds } => Self::Ellipse { bounds: bounds.grow(by) },
        }
    }

    /// The share of the pixel that lies inside, 0 to 1.
    pub fn coverage(&self, x: u32, y: u32) -> f32 {
        (0.5 - self.distance(x as f32 + 0.5, y as f32 + 0.5)).clamp(0.0, 1.0)
    }

    /// Signed distance of a point from the edge, negative inside.
    pub fn distance(&self, x: f32, y: f32) -> f32 {
        let (Self::Rectangle { bounds, .. } | Self::Ellipse { bounds }) = *self;
        let half_width = (bounds.right - bounds.left) / 2.0;
        let half_height = (bounds.bottom - bounds.top) / 2.0;
        let from_middle_x = (x - (bounds.left + bounds.right) / 2.0).abs();
        let from_middle_y = (y - (bounds.top + bounds.bottom) / 2.0).abs();
        match *self {
            Self::Rectangle { radius, .. } => {
                let radius = radius.min(half_width).min(half_height);
                let (dx, dy) = (from_middle_x - half_width + radius, from_middle_y - half_height + radius);
                length(dx.max(0.0), dy.max(0.0)) + dx.max(dy).min(0.0) - radius
            }
            // A first-order estimate; exact on the edge, where it matters.
            Self::Ellipse { .. } => {
                let (rx, ry) = (half_width.max(0.5), half_height.max(0.5));
                let (nx, ny) = (from_middle_x / rx, from_middle_y / ry);
                let (near, steepness) = (length(nx, ny), length(nx / rx, ny / ry));
                if steepness == 0.0 { -rx.min(ry) } else { near * (near - 1.0) / steepness }
            }
        }
    }

    /// Columns of row `y` that lie well inside. Drawing an outline can skip them.
    pub fn inner_columns(&self, y: u32) -> Option<(u32, u32)> {
        let (Self::Rectangle { bounds, .. } | Self::Ellipse { bounds }) = *self;
        let (top, bottom) = (y as f32, y as f32 + 1.0);
        if top < bounds.top || bottom > bounds.bottom {
            return None;
        }
        let (left, right) = match self {
            Self::Rectangle { radius: 0.0, .. } => (bounds.left, bounds.right),
            Self::Rectangle { .. } => return None,
            Self::Ellipse { .. } => {
                let (middle_x, middle_y) =
                    ((bounds.left + bounds.right) / 2.0, (bounds.top + bounds.bottom) / 2.0);
                let (rx, ry) = ((bounds.right - bounds.left) / 2.0, (bounds.bottom - bounds.top) / 2.0);
                let off = (top - middle_y).abs().max((bottom - middle_y).abs()) / ry.max(0.5);
                let reach = rx * (1.0 - off * off).max(0.0).sqrt() - 2.0;
                (middle_x - reach, middle_x + reach)
            }
        };
        (left < right).then_some((left.ceil() as u32, right.floor() as u32))
    }
}

/// Much faster than `hypot`. It could overflow, but no picture is large enough.
fn length(x: f32, y: f32) -> f32 {
    (x * x + y * y).sqrt()
}

/// Fills a shape, only inside `within`.
pub(super) fn fill<P: Pixel>(
    canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>,
    form: PaintShape,
    within: PixelRect,
    color: Color,
    opacity: f32,
) where
    P::Subpixel: Sample,
{
    for y in within.y..within.bottom().min(canvas.height()) {
        for x in within.x..within.right().min(canvas.width()) {
            blend(canvas.get_pixel_mut(x, y), color, form.coverage(x, y) * opacity);
        }
    }
}

/// A band around a shape, with a thin contrasting halo on both sides so that it shows on any background.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Outline {
    /// The shape that the band surrounds. Pixels well inside of it stay as they are.
    pub inner: PaintShape,
    pub halo: u32,
    pub thickness: u32,
    pub color: Color,
}

pub(super) const HALO_OPACITY: f32 = 0.55;

impl Outline {
    /// The distance from the inner shape to the outermost pixel.
    pub fn reach(halo: u32, thickness: u32) -> u32 {
        2 * halo + thickness
    }

    /// Draws inside `within`, the pixels of the outermost shape.
    pub fn draw<P: Pixel>(&self, canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>, within: PixelRect)
    where
        P::Subpixel: Sample,
    {
        let (halo, thickness) = (self.halo as f32, self.thickness as f32);
        let outermost = self.inner.grow(2.0 * halo + thickness);
        let band = (self.inner.grow(halo), self.inner.grow(halo + thickness));
        let contrast = self.color.readable_on_top();
        for y in within.y..within.bottom().min(canvas.height()) {
            let (skip_from, skip_to) = self.inner.inner_columns(y).unwrap_or((0, 0));
            let right = within.right().min(canvas.width());
            for x in (within.x..right.min(skip_from.max(within.x))).chain(skip_to.max(within.x)..right) {
                let outside = outermost.coverage(x, y);
                if outside == 0.0 {
                    continue;
                }
                let pixel = canvas.get_pixel_mut(x, y);
                if self.halo > 0 {
                    blend(pixel, contrast, outside * (1.0 - self.inner.coverage(x, y)) * HALO_OPACITY);
                }
                blend(pixel, self.color, band.1.coverage(x, y) * (1.0 - band.0.coverage(x, y)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgb, RgbImage, Rgba, RgbaImage};

    use super::*;

    #[test]
    fn colour_blended_over_transparency_keeps_its_hue() {
        let mut pixel = Rgba([200u8, 0, 0, 0]);
        blend(&mut pixel, Color::rgb(0, 0, 255), 0.5);
        assert_eq!(pixel.0, [0, 0, 255, 128]);
        let mut pixel = Rgb([100u8, 100, 100]);
        blend(&mut pixel, Color::WHITE, 0.0);
        assert_eq!(pixel.0, [100, 100, 100]);
        blend(&mut pixel, Color::RED, 1.0);
        assert_eq!(pixel.0, [255, 0, 0]);
    }

    #[test]
    fn whole_pixel_rectangles_have_crisp_edges() {
        let mut canvas = RgbImage::new(10, 10);
        let rect = PixelRect { x: 2, y: 3, width: 4, height: 5 };
        let form = PaintShape::Rectangle { bounds: rect.into(), radius: 0.0 };
        fill(&mut canvas, form, PixelRect { x: 0, y: 0, width: 10, height: 10 }, Color::WHITE, 1.0);
        for (x, y, pixel) in canvas.enumerate_pixels() {
            assert_eq!(pixel.0[0], if rect.contains(x, y) { 255 } else { 0 }, "{x},{y}");
        }
    }

    #[test]
    fn an_ellipse_outline_leaves_no_gaps() {
        let mut canvas = RgbaImage::new(200, 120);
        let bounds = Bounds { left: 20.0, top: 20.0, right: 180.0, bottom: 100.0 };
        let outline =
            Outline { inner: PaintShape::Ellipse { bounds }, halo: 1, thickness: 4, color: Color::RED };
        outline.draw(&mut canvas, PixelRect { x: 0, y: 0, width: 200, height: 120 });
        for step in 0..720 {
            let (sin, cos) = (step as f32 / 2.0).to_radians().sin_cos();
            let (x, y) = (100.0 + 83.0 * cos, 60.0 + 43.0 * sin);
            let pixel = canvas.get_pixel(x as u32, y as u32);
            assert!(pixel.0[0] > 150 && pixel.0[3] > 200, "gap at {step}: {pixel:?}");
        }
        assert_eq!(canvas.get_pixel(100, 60).0, [0, 0, 0, 0]);
    }
}
