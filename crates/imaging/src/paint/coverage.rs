//! Coverage masks: how much of each pixel a drawing covers. Lines, areas and glyphs are merged in the mask first, so
//! that overlaps are not painted twice.

use image::{ImageBuffer, Pixel};

use super::blend;
use crate::picture::Sample;
use crate::{Color, EditContext, ImagingError, PixelRect};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub x: f32,
    pub y: f32,
}

impl Point {
    pub fn toward(self, other: Self, distance: f32) -> Self {
        let (dx, dy) = (other.x - self.x, other.y - self.y);
        let scale = distance / (dx * dx + dy * dy).sqrt().max(f32::MIN_POSITIVE);
        Self { x: self.x + dx * scale, y: self.y + dy * scale }
    }

    pub fn distance(self, other: Self) -> f32 {
        ((other.x - self.x).powi(2) + (other.y - self.y).powi(2)).sqrt()
    }
}

/// A mask of whole pixels, in the coordinates of the picture or of a layer of its own.
#[derive(Debug, Clone)]
pub(crate) struct Coverage {
    left: i32,
    top: i32,
    width: usize,
    height: usize,
    /// 0 to 255, row by row.
    samples: Vec<u8>,
}

/// Scanlines per pixel row, for antialiased edges of areas.
const SCANLINES_PER_ROW: usize = 8;

impl Coverage {
    /// An empty mask from `least` to `most`, clipped to `frame` if there is one.
    pub fn new(least: Point, most: Point, frame: Option<(u32, u32)>) -> Self {
        let (far_x, far_y) = frame.map_or((i32::MAX, i32::MAX), |(w, h)| (w as i32, h as i32));
        let near = if frame.is_some() { 0 } else { i32::MIN };
        let (left, top) =
            ((least.x.floor() as i32).clamp(near, far_x), (least.y.floor() as i32).clamp(near, far_y));
        let right = (most.x.ceil() as i32).clamp(left, far_x);
        let bottom = (most.y.ceil() as i32).clamp(top, far_y);
        let (width, height) = ((right - left) as usize, (bottom - top) as usize);
        Self { left, top, width, height, samples: vec![0; width * height] }
    }

    /// An empty mask around `points`, `reach` pixels wider on all sides.
    pub fn around(points: &[Point], reach: f32, frame: (u32, u32)) -> Self {
        let fold = |pick: fn(&Point) -> f32, keep: fn(f32, f32) -> f32, start: f32| {
            points.iter().map(pick).fold(start, keep)
        };
        let reach = reach + 1.0;
        let least = Point {
            x: fold(|p| p.x, f32::min, f32::MAX) - reach,
            y: fold(|p| p.y, f32::min, f32::MAX) - reach,
        };
        let most = Point {
            x: fold(|p| p.x, f32::max, f32::MIN) + reach,
            y: fold(|p| p.y, f32::max, f32::MIN) + reach,
        };
        Self::new(least, most, Some(frame))
    }

    /// A line with round ends; a disc if both ends are the same point.
    pub fn add_line(&mut self, from: Point, to: Point, radius: f32) {
        let reach = radius + 1.0;
        let (dx, dy) = (to.x - from.x, to.y - from.y);
        let length_squared = dx * dx + dy * dy;
        let (upper, lower) = (from.y.min(to.y), from.y.max(to.y));
        for row in self.rows(upper - reach, lower + reach) {
            let y = (self.top + row as i32) as f32 + 0.5;
            // Only the part of the line near this row can reach its pixels.
            let near =
                |edge: f32| if dy == 0.0 { None } else { Some(((edge - from.y) / dy).clamp(0.0, 1.0)) };
            let (a, b) = (near(y - reach).unwrap_or(0.0), near(y + reach).unwrap_or(1.0));
            let (a, b) = (from.x + dx * a, from.x + dx * b);
            for column in self.columns(a.min(b) - reach, a.max(b) + reach) {
                let x = (self.left + column as i32) as f32 + 0.5;
                let along = ((x - from.x) * dx + (y - from.y) * dy) / length_squared.max(f32::MIN_POSITIVE);
                let along = along.clamp(0.0, 1.0);
                let (ox, oy) = (x - from.x - dx * along, y - from.y - dy * along);
                let inside = (radius - (ox * ox + oy * oy).sqrt() + 0.5).clamp(0.0, 1.0);
                let sample = &mut self.samples[row * self.width + column];
                *sample = (*sample).max((inside * 255.0 + 0.5) as u8);
            }
        }
    }

    /// Lines from each point to the next, and back to the first if closed.
    pub fn add_path(
        &mut self,
        points: &[Point],
        closed: bool,
        radius: f32,
        context: &EditContext,
    ) -> Result<(), ImagingError> {
        for pair in points.windows(2) {
            context.check_stopped()?;
            self.add_line(pair[0], pair[1], radius);
        }
        match points {
            [only] => self.add_line(*only, *only, radius),
            [first, .., last] if closed => self.add_line(*last, *first, radius),
            _ => {}
        }
        Ok(())
    }

    /// The inside of a polygon, by the nonzero winding rule.
    pub fn add_area(&mut self, points: &[Point], context: &EditContext) -> Result<(), ImagingError> {
        let upper = points.iter().map(|p| p.y).fold(f32::MAX, f32::min);
        let lower = points.iter().map(|p| p.y).fold(f32::MIN, f32::max);
        let mut covered = vec![0.0f32; self.width];
        let mut crossings: Vec<(f32, i32)> = Vec::new();
        for row in self.rows(upper, lower) {
            context.check_stopped()?;
            covered.fill(0.0);
            for step in 0..SCANLINES_PER_ROW {
                let y = (self.top + row as i32) as f32 + (step as f32 + 0.5) / SCANLINES_PER_ROW as f32;
                find_crossings(points, y, &mut crossings);
                let mut winding = 0;
                for pair in crossings.windows(2) {
                    winding += pair[0].1;
                    if winding != 0 {
                        let left = self.left as f32;
                        add_span(&mut covered, pair[0].0 - left, pair[1].0 - left);
                    }
                }
            }
            let samples = &mut self.samples[row * self.width..][..self.width];
            for (sample, covered) in samples.iter_mut().zip(&covered) {
                *sample =
                    (*sample).max((covered * (255.0 / SCANLINES_PER_ROW as f32) + 0.5).min(255.0) as u8);
            }
        }
        Ok(())
    }

    /// Adds the coverage of a glyph. Touching neighbours add up, so joined letters show no seam.
    pub fn add_glyph(&mut self, left: i32, top: i32, width: usize, samples: &[u8]) {
        for (row, line) in samples.chunks_exact(width.max(1)).enumerate() {
            let y = i64::from(top) + row as i64 - i64::from(self.top);
            let Some(y) = usize::try_from(y).ok().filter(|y| *y < self.height) else { continue };
            for (column, sample) in line.iter().enumerate() {
                let x = i64::from(left) + column as i64 - i64::from(self.left);
                if let Some(x) = usize::try_from(x).ok().filter(|x| *x < self.width) {
                    let below = &mut self.samples[y * self.width + x];
                    *below = below.saturating_add(*sample);
                }
            }
        }
    }

    /// Paints the covered pixels in one colour, moved by `shift`, only inside `within`.
    pub fn blend<P: Pixel>(
        &self,
        canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>,
        shift: (i32, i32),
        within: PixelRect,
        paint: (Color, f32),
    ) where
        P::Subpixel: Sample,
    {
        let (color, opacity) = paint;
        let opacity = opacity / 255.0;
        let right = within.right().min(canvas.width());
        let bottom = within.bottom().min(canvas.height());
        for (row, line) in self.samples.chunks_exact(self.width.max(1)).enumerate() {
            let y = i64::from(self.top) + i64::from(shift.1) + row as i64;
            let Some(y) = u32::try_from(y).ok().filter(|y| (within.y..bottom).contains(y)) else { continue };
            for (column, &sample) in line.iter().enumerate() {
                if sample == 0 {
                    continue;
                }
                let x = i64::from(self.left) + i64::from(shift.0) + column as i64;
                if let Some(x) = u32::try_from(x).ok().filter(|x| (within.x..right).contains(x)) {
                    blend(canvas.get_pixel_mut(x, y), color, f32::from(sample) * opacity);
                }
            }
        }
    }

    fn rows(&self, from: f32, to: f32) -> std::ops::Range<usize> {
        span(from - self.top as f32, to - self.top as f32, self.height)
    }

    fn columns(&self, from: f32, to: f32) -> std::ops::Range<usize> {
        span(from - self.left as f32, to - self.left as f32, self.width)
    }
}

/// Casts saturate, so a span far outside becomes empty.
fn span(from: f32, to: f32, most: usize) -> std::ops::Range<usize> {
    (from.floor() as usize).min(most)..(to.ceil() as usize).min(most)
}

/// Where the edges of the polygon cross the height `y`, from left to right, each with its direction.
fn find_crossings(points: &[Point], y: f32, crossings: &mut Vec<(f32, i32)>) {
    crossings.clear();
    let ends = points.iter().skip(1).chain(points.first());
    for (a, b) in points.iter().zip(ends) {
        if (a.y <= y) != (b.y <= y) {
            let x = a.x + (y - a.y) / (b.y - a.y) * (b.x - a.x);
            crossings.push((x, if a.y < b.y { 1 } else { -1 }));
        }
    }
    crossings.sort_by(|one, other| one.0.total_cmp(&other.0));
}

/// Adds the share of each pixel that lies between `from` and `to`.
fn add_span(row: &mut [f32], from: f32, to: f32) {
    let (from, to) = (from.clamp(0.0, row.len() as f32), to.clamp(0.0, row.len() as f32));
    let (first, last) = (from as usize, to as usize);
    if first == last {
        if let Some(pixel) = row.get_mut(first) {
            *pixel += to - from;
        }
        return;
    }
    row[first] += first as f32 + 1.0 - from;
    row[first + 1..last].iter_mut().for_each(|pixel| *pixel += 1.0);
    if let Some(pixel) = row.get_mut(last) {
        *pixel += to - last as f32;
    }
}
