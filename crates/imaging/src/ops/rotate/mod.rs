//! Rotates a picture clockwise. Right angles only move pixels. Other angles resample, either onto a larger canvas or
//! cropped to the largest frame without empty corners.

mod bicubic;
#[cfg(test)]
mod tests;

use image::{ImageBuffer, Pixel};

use self::bicubic::{Bicubic, StoredSample};
use crate::geometry::{self, QuarterTurn};
use crate::picture::map_buffer;
use crate::{EditContext, Format, ImagingError, Picture};

/// What happens to the corners at angles that are not right angles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RotateCorners {
    /// The frame grows to hold them. The new area is transparent if the output has alpha, and white in a JPEG.
    #[default]
    Kept,
    /// The frame shrinks until it has no empty area, as for straightening a horizon.
    Cut,
}

pub fn rotate(
    picture: Picture,
    degrees: f64,
    corners: RotateCorners,
    context: &EditContext,
) -> Result<Picture, ImagingError> {
    if !degrees.is_finite() {
        return Err(ImagingError::BadArgument(format!(
            "degrees is {degrees}, but must be a number; positive turns clockwise."
        )));
    }
    context.check_stopped()?;
    let degrees = degrees.rem_euclid(360.0);
    if degrees == 0.0 || degrees == 360.0 {
        Ok(picture)
    } else if degrees == 90.0 {
        picture.try_map(|pixels| geometry::rotate_90(pixels, QuarterTurn::Clockwise))
    } else if degrees == 180.0 {
        picture.try_map(geometry::rotate_180)
    } else if degrees == 270.0 {
        picture.try_map(|pixels| geometry::rotate_90(pixels, QuarterTurn::Anticlockwise))
    } else {
        let turn = Rotation::new(&picture, degrees, corners);
        context.limits.check(turn.width, turn.height)?;
        let stays_opaque = corners == RotateCorners::Cut || picture.output_format() == Format::Jpeg;
        let picture = if stays_opaque { picture } else { picture.into_alpha() };
        let turned =
            picture.try_map(|pixels| map_buffer!(pixels, |buffer, N| turn.apply::<_, N>(&buffer, context)));
        context.check_stopped()?;
        turned
    }
}

struct Rotation {
    sin: f64,
    cos: f64,
    /// Size of the canvas, which has the same centre as the picture.
    width: u32,
    height: u32,
}

impl Rotation {
    fn new(picture: &Picture, degrees: f64, corners: RotateCorners) -> Self {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let (width, height) = (f64::from(picture.width()), f64::from(picture.height()));
        let (width, height) = match corners {
            RotateCorners::Kept => {
                // Without the slack, rounding errors of exact fits would add an empty line.
                let side = |along: f64, across: f64| (along.abs() + across.abs() - 1e-6).ceil();
                (side(width * cos, height * sin), side(width * sin, height * cos))
            }
            RotateCorners::Cut => {
                let (width, height) = inscribed_size(width, height, sin.abs(), cos.abs());
                ((width + 1e-6).floor(), (height + 1e-6).floor())
            }
        };
        Self { sin, cos, width: width.max(1.0) as u32, height: height.max(1.0) as u32 }
    }

    /// `None` if the stop flag was set.
    fn apply<P: Pixel, const N: usize>(
        &self,
        source: &ImageBuffer<P, Vec<P::Subpixel>>,
        context: &EditContext,
    ) -> Option<ImageBuffer<P, Vec<P::Subpixel>>>
    where
        P::Subpixel: StoredSample,
    {
        let (width, height) = (source.width() as f32, source.height() as f32);
        let sampler = Bicubic::<P::Subpixel, N>::new(
            source.as_chunks::<N>().0,
            source.width() as usize,
            source.height() as usize,
            P::HAS_ALPHA,
        );
        let full = P::Subpixel::FULL;
        let mut canvas = ImageBuffer::<P, Vec<P::Subpixel>>::new(self.width, self.height);
        let row_length = self.width as usize * N;
        let (middle_x, middle_y) = (f64::from(self.width) / 2.0, f64::from(self.height) / 2.0);
        for (y, row) in canvas.chunks_exact_mut(row_length).enumerate() {
            context.check_stopped().ok()?;
            let down = y as f64 + 0.5 - middle_y;
            let (start_x, start_y) = (down * self.sin, down * self.cos);
            for (x, pixel) in row.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                let across = x as f64 + 0.5 - middle_x;
                let from_x = (across * self.cos + start_x) as f32 + width / 2.0;
                let from_y = (start_y - across * self.sin) as f32 + height / 2.0;
                if let Some(color) = sampler.sample_inside(from_x, from_y) {
                    *pixel = color.map(StoredSample::from_level);
                    continue;
                }
                // Rotation keeps distances, so the distance to the source's edge gives the coverage here.
                let edge = from_x.min(width - from_x).min(from_y).min(height - from_y);
                let coverage = (edge + 0.5).clamp(0.0, 1.0);
                let color = if coverage > 0.0 { sampler.sample_clamped(from_x, from_y) } else { [0.0; N] };
                for (channel, sample) in pixel.iter_mut().enumerate() {
                    let value = match (P::HAS_ALPHA, channel + 1 == N) {
                        (true, true) => color[channel] * coverage,
                        (true, false) => color[channel],
                        (false, _) => color[channel] * coverage + full * (1.0 - coverage),
                    };
                    *sample = StoredSample::from_level(value);
                }
            }
        }
        Some(canvas)
    }
}

/// The largest upright rectangle inside a rectangle of `width` by `height` rotated by the angle of `sin` and `cos`,
/// which must not be negative.
fn inscribed_size(width: f64, height: f64, sin: f64, cos: f64) -> (f64, f64) {
    let (long, short) = (width.max(height), width.min(height));
    if short <= 2.0 * sin * cos * long || (sin - cos).abs() < 1e-9 {
        // Two corners touch the long sides; the others do not touch.
        let half = short / 2.0;
        if width >= height { (half / sin, half / cos) } else { (half / cos, half / sin) }
    } else {
        let double = cos * cos - sin * sin;
        ((width * cos - height * sin) / double, (height * cos - width * sin) / double)
    }
}
