//! Gaussian blur of a part of a picture, given to an edit pixel by pixel. Reads only the part and the pixels within
//! the reach of the blur. The edits decide about alpha and about the use of the blurred values.

use super::picture::Sample;
use super::pixels::{each_pixel, rows_of};
use super::{EditContext, ImagingError, PixelRect};

/// From this sigma on, the window is scaled down first: no visible difference, and the cost no longer grows with the
/// radius.
const MIN_SCALED_SIGMA: f32 = 9.0;
/// The sigma at the reduced scale.
const SCALED_SIGMA: f32 = 3.0;
/// Pixels per band of a window. Bands bound the extra memory for large pictures.
const BAND_PIXELS: u32 = 1 << 19;

/// The blurred version of a window of the picture, one to four values per pixel.
pub(super) struct BlurredWindow<const L: usize> {
    window: PixelRect,
    shrink: u32,
    columns: usize,
    rows: usize,
    values: Vec<[f32; L]>,
}

impl<const L: usize> BlurredWindow<L> {
    fn new<S: Sample, const N: usize>(
        samples: &[S],
        width: u32,
        window: PixelRect,
        sigma: f32,
        context: &EditContext,
        read: &impl Fn(&[S; N]) -> [f32; L],
    ) -> Result<Self, ImagingError> {
        let shrink = if sigma < MIN_SCALED_SIGMA { 1 } else { (sigma / SCALED_SIGMA) as u32 };
        let (columns, rows) = (window.width.div_ceil(shrink), window.height.div_ceil(shrink));
        let mut sums = vec![[0.0f32; L]; columns as usize * rows as usize];
        for (y, row) in rows_of::<S, N>(samples, width, window) {
            context.check_stopped()?;
            let start = (y - window.y) / shrink * columns;
            let cells = sums.iter_mut().skip(start as usize);
            for (cell, pixels) in cells.zip(row.chunks(shrink as usize)) {
                for pixel in pixels {
                    for (sum, value) in cell.iter_mut().zip(read(pixel)) {
                        *sum += value;
                    }
                }
            }
        }
        if shrink > 1 {
            let shares = |whole: u32| move |index: u32| (whole - index * shrink).min(shrink) as f32;
            let (across, down) = (shares(window.width), shares(window.height));
            for (row, y) in sums.chunks_exact_mut(columns as usize).zip(0..) {
                for (cell, x) in row.iter_mut().zip(0..) {
                    let area = across(x) * down(y);
                    cell.iter_mut().for_each(|sum| *sum /= area);
                }
            }
        }
        context.check_stopped()?;
        let sigma = if shrink > 1 {
            // Averaging cells and interpolating between them blurs as well: by a box and a tent of one cell.
            ((sigma / shrink as f32).powi(2) - 1.0 / 12.0 - 1.0 / 6.0).sqrt()
        } else {
            sigma
        };
        let values = gaussian(&sums, columns, rows, sigma, EdgeMode::Clamp);
        Ok(Self { window, shrink, columns: columns as usize, rows: rows as usize, values })
    }

    /// Outside the window: the nearest value inside.
    pub fn at(&self, x: u32, y: u32) -> [f32; L] {
        let (x, y) = (x.saturating_sub(self.window.x), y.saturating_sub(self.window.y));
        if self.shrink == 1 {
            return self.cell(x as usize, y as usize);
        }
        let between = |offset: u32| {
            let place = ((offset as f32 + 0.5) / self.shrink as f32 - 0.5).max(0.0);
            (place as usize, place.fract())
        };
        let ((column, right), (row, down)) = (between(x), between(y));
        let (top, top_right) = (self.cell(column, row), self.cell(column + 1, row));
        let (low, low_right) = (self.cell(column, row + 1), self.cell(column + 1, row + 1));
        std::array::from_fn(|lane| {
            let upper = top[lane] + (top_right[lane] - top[lane]) * right;
            let lower = low[lane] + (low_right[lane] - low[lane]) * right;
            upper + (lower - upper) * down
        })
    }

    fn cell(&self, column: usize, row: usize) -> [f32; L] {
        let index = row.min(self.rows - 1) * self.columns + column.min(self.columns - 1);
        self.values.get(index).copied().unwrap_or([0.0; L])
    }
}

/// Blurs the values that `read` takes from the pixels in and around `part`, and calls `change` with the result for
/// each pixel of `part`. `change` sees the pixel as it was. Nothing outside `part` changes.
pub(super) fn change_with_blur<S: Sample, const N: usize, const L: usize>(
    samples: &mut [S],
    (width, height): (u32, u32),
    part: PixelRect,
    sigma: f32,
    context: &EditContext,
    read: impl Fn(&[S; N]) -> [f32; L],
    change: impl Fn(&mut [S; N], &BlurredWindow<L>, u32, u32),
) -> Result<(), ImagingError> {
    let reach = (sigma * 3.0).ceil() as u32 + 1;
    // A scaled-down window is small already. A band is never lower than the reach, so the next band needs pixels of
    // this one only.
    let rows = if sigma < MIN_SCALED_SIGMA { (BAND_PIXELS / part.width).max(reach) } else { part.height };
    let mut waiting: Option<(PixelRect, BlurredWindow<L>)> = None;
    let mut top = part.y;
    while top < part.bottom() {
        let band = PixelRect { y: top, height: rows.min(part.bottom() - top), ..part };
        let window = band.grown(reach, width, height);
        let blurred = BlurredWindow::new(samples, width, window, sigma, context, &read)?;
        // The band above may change only now: this band has read what it needs of it.
        if let Some((above, blurred)) = waiting.replace((band, blurred)) {
            each_pixel(samples, width, above, context, |pixel, x, y| change(pixel, &blurred, x, y))?;
        }
        top = band.bottom();
    }
    match waiting {
        Some((last, blurred)) => {
            each_pixel(samples, width, last, context, |pixel, x, y| change(pixel, &blurred, x, y))
        }
        None => Ok(()),
    }
}

/// The values beyond the edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EdgeMode {
    /// The nearest value inside.
    Clamp,
    /// The opposite side, for seamless tiles.
    Wrap,
}

impl EdgeMode {
    fn place(self, at: isize, length: usize) -> usize {
        let length = length as isize;
        let inside = match self {
            Self::Clamp => at.clamp(0, length - 1),
            Self::Wrap => at.rem_euclid(length),
        };
        inside as usize
    }
}

/// Down the columns, then along the rows. Both inner loops run over neighbours in memory, so they vectorise. Sigmas
/// are small here, because larger blurs are scaled down first.
pub(super) fn gaussian<const L: usize>(
    values: &[[f32; L]],
    width: u32,
    height: u32,
    sigma: f32,
    edge: EdgeMode,
) -> Vec<[f32; L]> {
    let (width, height) = (width as usize, height as usize);
    let weights = gaussian_weights(sigma);
    let reach = weights.len() / 2;
    let mut down = vec![[0.0; L]; values.len()];
    for (y, row) in down.chunks_exact_mut(width.max(1)).enumerate() {
        for (offset, weight) in weights.iter().enumerate() {
            let from = edge.place((y + offset) as isize - reach as isize, height) * width;
            add(row, &values[from..from + width], *weight);
        }
    }
    let mut padded = vec![[0.0; L]; width + 2 * reach];
    for row in down.chunks_exact_mut(width.max(1)) {
        for (at, value) in padded.iter_mut().enumerate() {
            *value = row[edge.place(at as isize - reach as isize, width)];
        }
        row.fill([0.0; L]);
        for (offset, weight) in weights.iter().enumerate() {
            add(row, &padded[offset..offset + width], *weight);
        }
    }
    down
}

fn add<const L: usize>(sums: &mut [[f32; L]], values: &[[f32; L]], weight: f32) {
    for (sum, value) in sums.as_flattened_mut().iter_mut().zip(values.as_flattened()) {
        *sum += value * weight;
    }
}

/// An odd number of weights that add up to 1.
fn gaussian_weights(sigma: f32) -> Vec<f32> {
    let reach = (sigma * 3.0).ceil() as i32;
    let bell = |x: i32| (-(x * x) as f32 / (2.0 * sigma * sigma)).exp();
    let sum: f32 = (-reach..=reach).map(bell).sum();
    (-reach..=reach).map(|x| bell(x) / sum).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blurred(values: &[u8], width: u32, height: u32, part: PixelRect, sigma: f32) -> Vec<u8> {
        let mut samples = values.to_vec();
        let read = |pixel: &[u8; 1]| [pixel[0].to_unit()];
        change_with_blur(
            &mut samples,
            (width, height),
            part,
            sigma,
            &EditContext::default(),
            read,
            |pixel, blurred, x, y| {
                pixel[0] = u8::from_unit(blurred.at(x, y)[0]);
            },
        )
        .unwrap();
        samples
    }

    fn exact(values: &[u8], width: i64, height: i64, sigma: f64, x: i64, y: i64) -> f64 {
        let reach = (sigma * 4.0) as i64;
        let (mut sum, mut weights) = (0.0, 0.0);
        for dy in -reach..=reach {
            for dx in -reach..=reach {
                let weight = (-((dx * dx + dy * dy) as f64) / (2.0 * sigma * sigma)).exp();
                let at = (y + dy).clamp(0, height - 1) * width + (x + dx).clamp(0, width - 1);
                sum += weight * f64::from(values[at as usize]);
                weights += weight;
            }
        }
        sum / weights
    }

    #[test]
    fn a_blur_is_gaussian_with_and_without_downscaling() {
        let (width, height) = (90u32, 70u32);
        let values: Vec<u8> = (0..width * height)
            .map(|i| if (i % width / 13 + i / width / 17) % 2 == 0 { 230 } else { 20 })
            .collect();
        let whole = PixelRect { x: 0, y: 0, width, height };
        for sigma in [0.6, 2.0, 8.9, 9.0, 14.0] {
            let blurred = blurred(&values, width, height, whole, sigma);
            for (x, y) in [(0, 0), (45, 35), (30, 10), (89, 69), (61, 50)] {
                let wanted =
                    exact(&values, width.into(), height.into(), sigma.into(), i64::from(x), i64::from(y));
                let got = f64::from(blurred[(y * width + x) as usize]);
                // At an edge, the scaled-down blur repeats the last cell instead of the last pixel.
                let at_edge = x == 0 || y == 0 || x == width - 1 || y == height - 1;
                let close = if at_edge { 8.0 } else { 2.0 };
                assert!((got - wanted).abs() < close, "sigma {sigma} at {x},{y}: {got}, not {wanted}");
            }
        }
    }

    #[test]
    fn blurring_a_part_matches_the_whole_without_seams_between_bands() {
        let (width, height) = (40_000u32, 60u32);
        let values: Vec<u8> =
            (0..width * height).map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let whole = PixelRect { x: 0, y: 0, width, height };
        let part = PixelRect { x: 10, y: 20, width: 39_900, height: 31 };
        let all = blurred(&values, width, height, whole, 2.0);
        let some = blurred(&values, width, height, part, 2.0);
        let untouched =
            blurred(&values[..width as usize * 3], width, 3, PixelRect { height: 3, ..whole }, 2.0);
        assert_eq!(untouched.len(), width as usize * 3);
        for y in 0..height {
            for x in (0..width).step_by(97) {
                let at = (y * width + x) as usize;
                let wanted = if part.contains(x, y) { all[at] } else { values[at] };
                assert!(some[at].abs_diff(wanted) <= 1, "{x},{y}: {} {wanted}", some[at]);
            }
        }
    }
}
