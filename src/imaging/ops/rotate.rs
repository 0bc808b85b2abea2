//! Turns a picture clockwise. Right angles only move pixels; any other angle resamples onto a canvas that holds
//! every corner.

use image::{ImageBuffer, Pixel};

use crate::imaging::geometry::{self, QuarterTurn};
use crate::imaging::picture::{Sample, map_buffer};
use crate::imaging::{Format, ImagingError, Picture, Work};

/// The corners that appear are transparent where the output can say so, and white in a JPEG.
pub fn rotate(picture: Picture, degrees: f64, work: &Work) -> Result<Picture, ImagingError> {
    if !degrees.is_finite() {
        return Err(ImagingError::BadArgument(format!(
            "degrees is {degrees}, but must be a number; positive turns clockwise."
        )));
    }
    let degrees = degrees.rem_euclid(360.0);
    if degrees == 0.0 || degrees == 360.0 {
        Ok(picture)
    } else if degrees == 90.0 {
        picture.try_map(|pixels| geometry::quarter_turn(pixels, QuarterTurn::Clockwise))
    } else if degrees == 180.0 {
        picture.try_map(geometry::half_turn)
    } else if degrees == 270.0 {
        picture.try_map(|pixels| geometry::quarter_turn(pixels, QuarterTurn::Anticlockwise))
    } else {
        let turn = Turn::new(&picture, degrees);
        work.limits.check(turn.width, turn.height)?;
        let picture = if picture.target() == Format::Jpeg { picture } else { picture.into_alpha() };
        picture.try_map(|pixels| map_buffer!(pixels, |buffer, N| turn.apply::<_, N>(&buffer)))
    }
}

struct Turn {
    sin: f64,
    cos: f64,
    /// Of the canvas that holds the turned picture.
    width: u32,
    height: u32,
}

impl Turn {
    fn new(picture: &Picture, degrees: f64) -> Self {
        let (sin, cos) = degrees.to_radians().sin_cos();
        let (width, height) = (f64::from(picture.width()), f64::from(picture.height()));
        // Without the slack, rounding errors of exact fits would add an empty line.
        let side = |along: f64, across: f64| (along.abs() + across.abs() - 1e-6).ceil().max(1.0) as u32;
        Self { sin, cos, width: side(width * cos, height * sin), height: side(width * sin, height * cos) }
    }

    fn apply<P: Pixel, const N: usize>(
        &self,
        source: &ImageBuffer<P, Vec<P::Subpixel>>,
    ) -> Option<ImageBuffer<P, Vec<P::Subpixel>>>
    where
        P::Subpixel: Sample,
    {
        let (width, height) = (source.width() as f32, source.height() as f32);
        let sampler = Bicubic::<P::Subpixel, N> {
            pixels: source.as_chunks::<N>().0,
            width: source.width() as usize,
            height: source.height() as usize,
            alpha: P::HAS_ALPHA,
        };
        let mut canvas = ImageBuffer::<P, Vec<P::Subpixel>>::new(self.width, self.height);
        let row_length = self.width as usize * N;
        let (middle_x, middle_y) = (f64::from(self.width) / 2.0, f64::from(self.height) / 2.0);
        for (y, row) in canvas.chunks_exact_mut(row_length).enumerate() {
            let down = y as f64 + 0.5 - middle_y;
            for (x, pixel) in row.as_chunks_mut::<N>().0.iter_mut().enumerate() {
                let across = x as f64 + 0.5 - middle_x;
                let from_x = (across * self.cos + down * self.sin) as f32 + width / 2.0;
                let from_y = (down * self.cos - across * self.sin) as f32 + height / 2.0;
                // Turning keeps distances, so the distance to the source's edge is the edge's coverage here.
                let edge = from_x.min(width - from_x).min(from_y).min(height - from_y);
                let coverage = (edge + 0.5).clamp(0.0, 1.0);
                let color = if coverage > 0.0 { sampler.at(from_x, from_y) } else { [0.0; N] };
                for (channel, sample) in pixel.iter_mut().enumerate() {
                    let value = match (P::HAS_ALPHA, channel + 1 == N) {
                        (true, true) => color[channel] * coverage,
                        (true, false) => color[channel],
                        (false, _) => color[channel] * coverage + 1.0 - coverage,
                    };
                    *sample = P::Subpixel::from_unit(value.clamp(0.0, 1.0));
                }
            }
        }
        Some(canvas)
    }
}

/// Catmull-Rom over 4×4 pixels, colours weighted by their alpha so that hidden colours never bleed in.
struct Bicubic<'a, T, const N: usize> {
    pixels: &'a [[T; N]],
    width: usize,
    height: usize,
    alpha: bool,
}

impl<T: Sample, const N: usize> Bicubic<'_, T, N> {
    /// `x` and `y` are measured from the corner of the first pixel.
    fn at(&self, x: f32, y: f32) -> [f32; N] {
        let (columns, across) = taps(x - 0.5, self.width);
        let (rows, down) = taps(y - 0.5, self.height);
        let mut sum = [0.0; N];
        for (row, down) in rows.into_iter().zip(down) {
            let line = &self.pixels[row * self.width..][..self.width];
            for (column, across) in columns.into_iter().zip(across) {
                let mut pixel = line[column].map(Sample::to_unit);
                if self.alpha {
                    let alpha = pixel[N - 1];
                    pixel[..N - 1].iter_mut().for_each(|color| *color *= alpha);
                }
                for (sum, sample) in sum.iter_mut().zip(pixel) {
                    *sum += down * across * sample;
                }
            }
        }
        if self.alpha && sum[N - 1] > 0.0 {
            let alpha = sum[N - 1];
            sum[..N - 1].iter_mut().for_each(|color| *color /= alpha);
        }
        sum
    }
}

/// The four nearest indices, held inside the side, and their weights.
fn taps(position: f32, side: usize) -> ([usize; 4], [f32; 4]) {
    let first = position.floor();
    let t = position - first;
    let index = |offset: i64| (first as i64 + offset).clamp(0, side as i64 - 1) as usize;
    let weights = [
        ((2.0 - t) * t - 1.0) * t * 0.5,
        ((3.0 * t - 5.0) * t * t + 2.0) * 0.5,
        ((4.0 - 3.0 * t) * t + 1.0) * t * 0.5,
        (t - 1.0) * t * t * 0.5,
    ];
    ([index(-1), index(0), index(1), index(2)], weights)
}

#[cfg(test)]
mod tests {
    use image::{DynamicImage, Rgb, RgbImage};

    use super::*;

    fn gradient(source: Format) -> Picture {
        let pixels = RgbImage::from_fn(60, 40, |x, y| Rgb([x as u8 * 4, y as u8 * 6, 90]));
        Picture::new(pixels.into(), source)
    }

    fn turned(source: Format, degrees: f64) -> Picture {
        rotate(gradient(source), degrees, &Work::default()).unwrap()
    }

    #[test]
    fn four_quarter_turns_give_back_every_bit() {
        let mut picture = gradient(Format::Jpeg);
        for _ in 0..4 {
            picture = rotate(picture, 90.0, &Work::default()).unwrap();
        }
        assert_eq!(picture.pixels(), gradient(Format::Jpeg).pixels());
        assert_eq!(turned(Format::Jpeg, -90.0).pixels(), turned(Format::Jpeg, 270.0).pixels());
        assert_eq!(turned(Format::Jpeg, 450.0).pixels(), turned(Format::Jpeg, 90.0).pixels());
        assert_eq!(turned(Format::Jpeg, 180.0).pixels(), &gradient(Format::Jpeg).pixels().rotate180());
    }

    #[test]
    fn odd_angles_keep_every_corner_and_turn_clockwise() {
        let picture = turned(Format::Png, 30.0);
        assert_eq!((picture.width(), picture.height()), (72, 65));
        let reference = turned(Format::Png, 90.0).into_alpha();
        let almost = turned(Format::Png, 89.999);
        let (DynamicImage::ImageRgba8(a), DynamicImage::ImageRgba8(b)) =
            (almost.pixels(), reference.pixels())
        else {
            panic!("PNG gains alpha");
        };
        for (x, y) in [(5, 5), (20, 50), (35, 30)] {
            for c in 0..4 {
                assert!(a.get_pixel(x, y).0[c].abs_diff(b.get_pixel(x, y).0[c]) <= 6, "at {x},{y}");
            }
        }
    }

    #[test]
    fn new_corners_are_transparent_in_png_and_white_in_jpeg() {
        let png = turned(Format::Png, 45.0);
        assert_eq!(png.pixels().as_rgba8().unwrap().get_pixel(0, 0).0[3], 0);
        let jpeg = turned(Format::Jpeg, 45.0);
        assert_eq!(jpeg.pixels().as_rgb8().unwrap().get_pixel(0, 0).0, [255, 255, 255]);
        let (x, y) = (jpeg.width() / 2, jpeg.height() / 2);
        let [r, g, b] = jpeg.pixels().as_rgb8().unwrap().get_pixel(x, y).0;
        assert!(r.abs_diff(118) < 8 && g.abs_diff(117) < 8 && b == 90, "the centre stays: {r} {g} {b}");
    }

    #[test]
    fn a_canvas_beyond_the_limits_is_refused_before_it_exists() {
        let line = Picture::new(RgbImage::new(30_000, 10).into(), Format::Jpeg);
        assert!(matches!(rotate(line, 45.0, &Work::default()), Err(ImagingError::TooLarge { .. })));
        assert!(matches!(
            rotate(gradient(Format::Png), f64::NAN, &Work::default()),
            Err(ImagingError::BadArgument(_))
        ));
    }
}
