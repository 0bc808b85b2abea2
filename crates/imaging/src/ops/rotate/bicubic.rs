//! Catmull-Rom interpolation over 4×4 pixels. Colours are weighted by alpha, so hidden colours never bleed in.

use crate::picture::Sample;

/// A sample in its stored range.
pub(super) trait StoredSample: Sample {
    const FULL: f32;
    fn level(self) -> f32;
    /// Rounded and clamped to the stored range.
    fn from_level(level: f32) -> Self;
}

impl StoredSample for u8 {
    const FULL: f32 = 255.0;

    fn level(self) -> f32 {
        f32::from(self)
    }

    fn from_level(level: f32) -> Self {
        (level + 0.5) as Self
    }
}

impl StoredSample for u16 {
    const FULL: f32 = 65535.0;

    fn level(self) -> f32 {
        f32::from(self)
    }

    fn from_level(level: f32) -> Self {
        (level + 0.5) as Self
    }
}

pub(super) struct Bicubic<'a, T, const N: usize> {
    pixels: &'a [[T; N]],
    width: usize,
    height: usize,
    alpha: bool,
}

impl<'a, T: StoredSample, const N: usize> Bicubic<'a, T, N> {
    pub(super) fn new(pixels: &'a [[T; N]], width: usize, height: usize, alpha: bool) -> Self {
        Self { pixels, width, height, alpha }
    }

    /// The colour at a position whose neighbours all exist, the common case: no index needs clamping. `x` and `y` are
    /// measured from the corner of the first pixel.
    #[inline]
    pub(super) fn sample_inside(&self, x: f32, y: f32) -> Option<[f32; N]> {
        let (left, top) = (x - 1.5, y - 1.5);
        let inside = left >= 0.0 && top >= 0.0;
        let (column, row) = (left as usize, top as usize);
        if !inside || column + 4 > self.width || row + 4 > self.height {
            return None;
        }
        let (across, down) = (weights(left - column as f32), weights(top - row as f32));
        // Columns first: the four pixels of a row are adjacent, so this vectorises.
        let mut sums = [[0.0f32; N]; 4];
        for (step, weight) in down.into_iter().enumerate() {
            let start = (row + step) * self.width + column;
            let line: &[[T; N]; 4] = self.pixels.get(start..start + 4)?.try_into().ok()?;
            for (sum, pixel) in sums.iter_mut().zip(line) {
                let pixel = self.weighted(*pixel);
                for (sum, level) in sum.iter_mut().zip(pixel) {
                    *sum += weight * level;
                }
            }
        }
        let mut color = [0.0; N];
        for (sum, weight) in sums.into_iter().zip(across) {
            for (color, level) in color.iter_mut().zip(sum) {
                *color += weight * level;
            }
        }
        Some(self.unweighted(color))
    }

    /// The colour at any position; the edge pixels repeat beyond the edge.
    pub(super) fn sample_clamped(&self, x: f32, y: f32) -> [f32; N] {
        let (columns, across) = taps(x - 0.5, self.width);
        let (rows, down) = taps(y - 0.5, self.height);
        let mut color = [0.0; N];
        for (row, down) in rows.into_iter().zip(down) {
            let line = &self.pixels[row * self.width..][..self.width];
            for (column, across) in columns.into_iter().zip(across) {
                let pixel = self.weighted(line[column]);
                for (color, level) in color.iter_mut().zip(pixel) {
                    *color += down * across * level;
                }
            }
        }
        self.unweighted(color)
    }

    #[inline]
    fn weighted(&self, pixel: [T; N]) -> [f32; N] {
        let mut levels = pixel.map(StoredSample::level);
        if self.alpha {
            let alpha = levels[N - 1] * (1.0 / T::FULL);
            levels[..N - 1].iter_mut().for_each(|color| *color *= alpha);
        }
        levels
    }

    #[inline]
    fn unweighted(&self, mut levels: [f32; N]) -> [f32; N] {
        if self.alpha && levels[N - 1] > 0.0 {
            let alpha = T::FULL / levels[N - 1];
            levels[..N - 1].iter_mut().for_each(|color| *color *= alpha);
        }
        levels
    }
}

/// The four nearest indices, clamped to the side, and their weights.
fn taps(position: f32, side: usize) -> ([usize; 4], [f32; 4]) {
    let first = position.floor();
    let last = side as i64 - 1;
    let index = |step: i64| (first as i64 + step).clamp(0, last) as usize;
    ([index(-1), index(0), index(1), index(2)], weights(position - first))
}

/// Weights of the four neighbours of a position that lies `t` beyond the second, 0 to 1.
#[inline]
fn weights(t: f32) -> [f32; 4] {
    let (t2, t3) = (t * t, t * t * t);
    [-0.5 * t3 + t2 - 0.5 * t, 1.5 * t3 - 2.5 * t2 + 1.0, -1.5 * t3 + 2.0 * t2 + 0.5 * t, 0.5 * t3 - 0.5 * t2]
}
