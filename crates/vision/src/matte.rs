//! From a small mask to a clean edge at full resolution: a guided filter moves the edge of the mask to the edges of the
//! picture, and the colours of half-transparent pixels are freed of the background, so that no halo remains.

use image::{GrayImage, RgbImage, RgbaImage};
use imageproc::region_labelling::{Connectivity, connected_components};
use imaging::StopFlag;

use crate::VisionError;
use crate::models::check_stopped;
use crate::pixels::{resized, resized_gray};

/// The longest side at which the filter's coefficients are computed. They are smooth: the full picture interpolates them.
const WORKING_SIDE: u32 = 1024;
/// The radius of the filter as a share of the working side: the mask is off by a few of its own pixels.
const RADIUS_SHARE: f32 = 0.008;
/// Differences of brightness below the square root of this are no edge.
const EPSILON: f32 = 1e-4;
/// The radius within which colours of the foreground and the background are averaged, as a share of the working side.
const COLOR_RADIUS_SHARE: f32 = 0.012;
/// Below the first and above the second, the mask is taken as none and all.
const CERTAIN: (f32, f32) = (0.08, 0.92);
/// Parts of the mask smaller than this share of its largest part are specks.
const SPECK_SHARE: f64 = 0.02;

/// A picture without its background: alpha, and the colours of the foreground alone.
#[derive(Debug, Clone)]
pub struct CutOut {
    pub pixels: RgbaImage,
    /// The share of the picture that the subject covers.
    pub coverage: f64,
}

/// Cuts the picture out along a mask of any size.
pub(crate) fn cut_out(pixels: &RgbImage, mask: &GrayImage, stop: &StopFlag) -> Result<CutOut, VisionError> {
    let (width, height) = pixels.dimensions();
    let factor = (WORKING_SIDE as f32 / width.max(height) as f32).min(1.0);
    let side = |length: u32| ((length as f32 * factor).round() as u32).max(1);
    let (small_width, small_height) = (side(width), side(height));
    let guide = resized(pixels, small_width, small_height)?;
    let mask = without_specks(&resized_gray(mask, small_width, small_height)?);
    check_stopped(stop)?;
    let longest = small_width.max(small_height) as f32;
    let filter = GuidedFilter::new(&guide, &mask, ((longest * RADIUS_SHARE) as usize).max(2), stop)?;
    let alpha = filter.alpha(&guide, stop)?;
    let colors = Colors::new(&guide, &alpha, ((longest * COLOR_RADIUS_SHARE) as usize).max(2), stop)?;

    let mut cut = RgbaImage::new(width, height);
    let mut covered = 0.0;
    for y in 0..height {
        check_stopped(stop)?;
        for x in 0..width {
            let at = Sample::new((x, y), (width, height), (small_width, small_height));
            let [r, g, b] = pixels.get_pixel(x, y).0.map(|channel| f32::from(channel) / 255.0);
            let linear = at.of(&filter.a[0]) * r
                + at.of(&filter.a[1]) * g
                + at.of(&filter.a[2]) * b
                + at.of(&filter.b);
            let alpha = certain(linear);
            covered += f64::from(alpha);
            let color = if alpha <= 0.0 || alpha >= 1.0 {
                [r, g, b]
            } else {
                colors.foreground(&at, [r, g, b], alpha)
            };
            let byte = |unit: f32| (unit.clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
            cut.put_pixel(x, y, image::Rgba([byte(color[0]), byte(color[1]), byte(color[2]), byte(alpha)]));
        }
    }
    let coverage = covered / f64::from(width) / f64::from(height);
    Ok(CutOut { pixels: cut, coverage })
}

/// Stretches the mask so that what is nearly none is none and what is nearly all is all.
fn certain(alpha: f32) -> f32 {
    ((alpha - CERTAIN.0) / (CERTAIN.1 - CERTAIN.0)).clamp(0.0, 1.0)
}

/// Keeps the large connected parts of a mask.
fn without_specks(mask: &GrayImage) -> GrayImage {
    let sure = GrayImage::from_fn(mask.width(), mask.height(), |x, y| {
        image::Luma([if mask.get_pixel(x, y).0[0] >= 128 { 255 } else { 0 }])
    });
    let parts = connected_components(&sure, Connectivity::Eight, image::Luma([0_u8]));
    let mut sizes: Vec<u64> = Vec::new();
    for part in parts.pixels() {
        let index = part.0[0] as usize;
        if sizes.len() <= index {
            sizes.resize(index + 1, 0);
        }
        sizes[index] += 1;
    }
    let largest = sizes.iter().skip(1).copied().max().unwrap_or(0) as f64;
    let mut kept = mask.clone();
    for (pixel, part) in kept.pixels_mut().zip(parts.pixels()) {
        let index = part.0[0] as usize;
        if index > 0 && (sizes[index] as f64) < largest * SPECK_SHARE {
            pixel.0[0] = 0;
        }
    }
    kept
}

/// A plane of values with its width.
struct Plane {
    values: Vec<f32>,
    width: usize,
}

impl Plane {
    fn new(width: usize, values: Vec<f32>) -> Self {
        Self { values, width }
    }

    fn map(&self, other: &Self, combine: impl Fn(f32, f32) -> f32) -> Self {
        let values =
            self.values.iter().zip(&other.values).map(|(one, other)| combine(*one, *other)).collect();
        Self::new(self.width, values)
    }

    /// The mean of the square of this radius around each value, clipped at the borders.
    fn mean(&self, radius: usize) -> Self {
        let (width, height) = (self.width, self.values.len() / self.width.max(1));
        let mut across = vec![0.0; self.values.len()];
        for (row, to) in self.values.chunks_exact(width).zip(across.chunks_exact_mut(width)) {
            means_of_line(row, to, radius);
        }
        let (mut column, mut means) = (vec![0.0; height], vec![0.0; height]);
        let mut down = across;
        for x in 0..width {
            for (y, value) in column.iter_mut().enumerate() {
                *value = down[y * width + x];
            }
            means_of_line(&column, &mut means, radius);
            for (y, value) in means.iter().enumerate() {
                down[y * width + x] = *value;
            }
        }
        Self::new(width, down)
    }
}

fn means_of_line(line: &[f32], to: &mut [f32], radius: usize) {
    let mut sum: f64 = line.iter().take(radius).map(|value| f64::from(*value)).sum();
    let mut count = radius.min(line.len());
    for at in 0..line.len() {
        if let Some(entering) = line.get(at + radius) {
            sum += f64::from(*entering);
            count += 1;
        }
        if at > radius {
            sum -= f64::from(line[at - radius - 1]);
            count -= 1;
        }
        to[at] = (sum / count.max(1) as f64) as f32;
    }
}

/// The planes of a picture, from 0 to 1.
fn color_planes(pixels: &RgbImage) -> [Plane; 3] {
    [0, 1, 2].map(|channel| {
        let values = pixels.pixels().map(|pixel| f32::from(pixel.0[channel]) / 255.0).collect();
        Plane::new(pixels.width() as usize, values)
    })
}

/// Alpha as a linear function of the colour around each pixel (He, Sun and Tang, 2013).
struct GuidedFilter {
    a: [Plane; 3],
    b: Plane,
}

impl GuidedFilter {
    fn new(guide: &RgbImage, mask: &GrayImage, radius: usize, stop: &StopFlag) -> Result<Self, VisionError> {
        let colors = color_planes(guide);
        let mask = Plane::new(
            guide.width() as usize,
            mask.pixels().map(|pixel| f32::from(pixel.0[0]) / 255.0).collect(),
        );
        let means = [0, 1, 2].map(|channel: usize| colors[channel].mean(radius));
        let mask_mean = mask.mean(radius);
        check_stopped(stop)?;
        let with_mask = [0, 1, 2].map(|channel: usize| colors[channel].map(&mask, |c, m| c * m).mean(radius));
        check_stopped(stop)?;
        // Variances and covariances of red, green and blue.
        let pairs = [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)];
        let products = pairs.map(|(one, other)| colors[one].map(&colors[other], |a, b| a * b).mean(radius));
        check_stopped(stop)?;
        let count = mask.values.len();
        let (mut a, mut b) = ([vec![0.0; count], vec![0.0; count], vec![0.0; count]], vec![0.0; count]);
        for at in 0..count {
            let mean = [means[0].values[at], means[1].values[at], means[2].values[at]];
            let variance = |index: usize| {
                let (one, other) = pairs[index];
                products[index].values[at] - mean[one] * mean[other]
            };
            let covariance = [0, 1, 2]
                .map(|channel: usize| with_mask[channel].values[at] - mean[channel] * mask_mean.values[at]);
            let matrix = [0, 1, 2, 3, 4, 5].map(variance);
            let slope = solve(matrix, covariance);
            for channel in 0..3 {
                a[channel][at] = slope[channel];
            }
            b[at] = mask_mean.values[at] - slope[0] * mean[0] - slope[1] * mean[1] - slope[2] * mean[2];
        }
        let width = mask.width;
        let smooth = |values: Vec<f32>| Plane::new(width, values).mean(radius);
        check_stopped(stop)?;
        Ok(Self { a: a.map(smooth), b: smooth(b) })
    }

    fn alpha(&self, guide: &RgbImage, stop: &StopFlag) -> Result<Plane, VisionError> {
        check_stopped(stop)?;
        let values = guide.pixels().enumerate().map(|(at, pixel)| {
            let [r, g, b] = pixel.0.map(|channel| f32::from(channel) / 255.0);
            let [ar, ag, ab] = [&self.a[0], &self.a[1], &self.a[2]].map(|plane| plane.values[at]);
            certain(ar * r + ag * g + ab * b + self.b.values[at])
        });
        Ok(Plane::new(guide.width() as usize, values.collect()))
    }
}

/// Solves a symmetric system of three: variances with `EPSILON` on the diagonal, in the order rr, rg, rb, gg, gb, bb.
fn solve([rr, rg, rb, gg, gb, bb]: [f32; 6], right: [f32; 3]) -> [f32; 3] {
    let (rr, gg, bb) = (rr + EPSILON, gg + EPSILON, bb + EPSILON);
    let (c0, c1, c2) = (gg * bb - gb * gb, gb * rb - rg * bb, rg * gb - gg * rb);
    let determinant = rr * c0 + rg * c1 + rb * c2;
    if determinant.abs() < f32::MIN_POSITIVE {
        return [0.0; 3];
    }
    let (d11, d12, d22) = (rr * bb - rb * rb, rg * rb - rr * gb, rr * gg - rg * rg);
    [
        (c0 * right[0] + c1 * right[1] + c2 * right[2]) / determinant,
        (c1 * right[0] + d11 * right[1] + d12 * right[2]) / determinant,
        (c2 * right[0] + d12 * right[1] + d22 * right[2]) / determinant,
    ]
}

/// Colours of the foreground and of the background around each pixel.
struct Colors {
    front: [Plane; 3],
    back: [Plane; 3],
}

impl Colors {
    fn new(guide: &RgbImage, alpha: &Plane, radius: usize, stop: &StopFlag) -> Result<Self, VisionError> {
        let colors = color_planes(guide);
        let rest = Plane::new(alpha.width, alpha.values.iter().map(|alpha| 1.0 - alpha).collect());
        let weighted = |weight: &Plane| {
            let total = weight.mean(radius);
            [0, 1, 2].map(|channel: usize| {
                let sum = colors[channel].map(weight, |color, weight| color * weight).mean(radius);
                let mean = sum.map(&total, |sum, total| sum / total.max(1e-4));
                // Where nothing of this side is near, the colour itself.
                let known = mean.map(&total, |mean, total| if total < 1e-3 { -1.0 } else { mean });
                known.map(&colors[channel], |mean, color| if mean < 0.0 { color } else { mean })
            })
        };
        let front = weighted(alpha);
        check_stopped(stop)?;
        Ok(Self { front, back: weighted(&rest) })
    }

    /// The colour of the foreground at a half-transparent pixel (Forte, 2021).
    fn foreground(&self, at: &Sample, color: [f32; 3], alpha: f32) -> [f32; 3] {
        [0, 1, 2].map(|channel: usize| {
            let (front, back) = (at.of(&self.front[channel]), at.of(&self.back[channel]));
            front + alpha * (color[channel] - alpha * front - (1.0 - alpha) * back)
        })
    }
}

/// A pixel of the full picture on a smaller plane: four neighbours and their weights.
struct Sample {
    at: [usize; 4],
    weights: [f32; 4],
}

impl Sample {
    fn new(pixel: (u32, u32), full: (u32, u32), small: (u32, u32)) -> Self {
        let place = |at: u32, full: u32, small: u32| {
            let exact = ((at as f32 + 0.5) * small as f32 / full as f32 - 0.5).clamp(0.0, (small - 1) as f32);
            let near = exact as usize;
            (near, (near + 1).min(small as usize - 1), exact - near as f32)
        };
        let (left, right, across) = place(pixel.0, full.0, small.0);
        let (top, bottom, down) = place(pixel.1, full.1, small.1);
        let width = small.0 as usize;
        Self {
            at: [top * width + left, top * width + right, bottom * width + left, bottom * width + right],
            weights: [
                (1.0 - across) * (1.0 - down),
                across * (1.0 - down),
                (1.0 - across) * down,
                across * down,
            ],
        }
    }

    fn of(&self, plane: &Plane) -> f32 {
        self.at.iter().zip(self.weights).map(|(at, weight)| plane.values[*at] * weight).sum()
    }
}
