//! Filters that use the neighbourhood of a pixel. Every average is weighted by alpha, so hidden colours do not count.

use super::Canvas;
use crate::blur::{BlurredWindow, change_with_blur};
use crate::picture::Sample;
use crate::pixels::{alpha, color, each_pixel, luma, mix, rows_of, set_color};
use crate::{ImagingError, PixelRect};

/// Sigma of a blur of full strength, as a share of the shorter side.
const MAX_BLUR_SIGMA: f32 = 0.04;
/// Side of a block of full strength, as a share of the shorter side.
const MAX_BLOCK_SHARE: f32 = 0.1;
/// How far sharpening may move a pixel; more would show as a halo.
const MAX_SHARPENING: f32 = 0.25;
/// Differences below this are noise as often as detail, and are raised less.
const NOISE_LEVEL: f32 = 0.012;
/// Below this alpha nothing is visible.
const MIN_VISIBLE_ALPHA: f32 = 1.0 / 1024.0;

impl<S: Sample, const N: usize> Canvas<'_, S, N> {
    pub(super) fn blur(&mut self, strength: f32) -> Result<(), ImagingError> {
        self.soften((self.shorter() * MAX_BLUR_SIGMA * strength).max(0.5), 1.0)
    }

    /// Mixes in a blurred version.
    pub(in crate::ops) fn soften(&mut self, sigma: f32, share: f32) -> Result<(), ImagingError> {
        let blend = |pixel: &mut [S; N], blurred: [f32; 3]| {
            let before = color(pixel);
            set_color(pixel, std::array::from_fn(|channel| mix(before[channel], blurred[channel], share)));
        };
        match N {
            1 => self.change_with_blur_of(
                sigma,
                |pixel| [luma(pixel)],
                |pixel, blurred, x, y| {
                    let [gray] = blurred.at(x, y);
                    blend(pixel, [gray; 3]);
                },
            ),
            3 => {
                self.change_with_blur_of(sigma, color, |pixel, blurred, x, y| blend(pixel, blurred.at(x, y)))
            }
            _ => self.change_with_blur_of(
                sigma,
                |pixel| {
                    let (alpha, [r, g, b]) = (alpha(pixel), color(pixel));
                    [r * alpha, g * alpha, b * alpha, alpha]
                },
                |pixel, blurred, x, y| {
                    let [r, g, b, alpha] = blurred.at(x, y);
                    if alpha > MIN_VISIBLE_ALPHA {
                        blend(pixel, [r, g, b].map(|value| value / alpha));
                    }
                },
            ),
        }
    }

    pub(super) fn sharpen(&mut self, strength: f32) -> Result<(), ImagingError> {
        self.unsharp_mask(strength * 2.4)
    }

    /// Sharpens brightness only, so that no coloured fringes appear.
    pub(in crate::ops) fn unsharp_mask(&mut self, amount: f32) -> Result<(), ImagingError> {
        self.change_with_blurred_luma(self.detail_size(), |pixel, near| {
            let detail = luma(pixel) - near(0, 0);
            let detail = detail * detail.abs() / (detail.abs() + NOISE_LEVEL);
            let change = (detail * amount).clamp(-MAX_SHARPENING, MAX_SHARPENING);
            set_color(pixel, color(pixel).map(|value| value + change));
        })
    }

    /// The size of the smallest detail.
    pub(in crate::ops) fn detail_size(&self) -> f32 {
        (self.shorter() / 1500.0).clamp(0.8, 4.0)
    }

    /// Light lines on black.
    pub(super) fn edges(&mut self, strength: f32) -> Result<(), ImagingError> {
        let sigma = (self.shorter() / 700.0).clamp(0.8, 6.0);
        let gain = (0.4 + strength * 3.2) * sigma;
        self.change_with_blurred_luma(sigma, move |pixel, near| {
            let across = near(1, -1) + 2.0 * near(1, 0) + near(1, 1)
                - (near(-1, -1) + 2.0 * near(-1, 0) + near(-1, 1));
            let down = near(-1, 1) + 2.0 * near(0, 1) + near(1, 1)
                - (near(-1, -1) + 2.0 * near(0, -1) + near(1, -1));
            let steep = (across.hypot(down) * gain - 0.04).max(0.0);
            set_color(pixel, [steep / (steep + 0.45) * 1.25; 3]);
        })
    }

    /// Pencil on paper: a pixel is as dark as it is darker than its surroundings.
    pub(super) fn sketch(&mut self, strength: f32) -> Result<(), ImagingError> {
        let sigma = (self.shorter() * 0.008).max(1.0);
        let hardness = 0.5 + strength * 3.0;
        self.change_with_blurred_luma(sigma, move |pixel, near| {
            let (here, around) = (luma(pixel), near(0, 0));
            // Without the small constant, the noise of deep shadows would be drawn as lines.
            let line = ((here + 0.06) / (around + 0.06)).min(1.0).powf(hardness);
            let shade = mix(1.0, around.sqrt(), 0.25 * strength.min(0.8));
            set_color(pixel, [line * shade; 3]);
        })
    }

    pub(super) fn pixelate(&mut self, strength: f32) -> Result<(), ImagingError> {
        let side = (self.shorter() * MAX_BLOCK_SHARE * strength).round().max(2.0) as u32;
        let (frame, part) = (self.frame, self.part);
        for y in (part.y..part.bottom()).step_by(side as usize) {
            for x in (part.x..part.right()).step_by(side as usize) {
                let (width, height) = (side.min(part.right() - x), side.min(part.bottom() - y));
                let block = PixelRect { x, y, width, height };
                if let Some(mean) = mean_color::<S, N>(self.samples, frame.0, block) {
                    let fill = |pixel: &mut [S; N], _, _| set_color(pixel, mean);
                    each_pixel(self.samples, frame.0, block, self.context, fill)?;
                }
            }
        }
        Ok(())
    }

    fn change_with_blur_of<const L: usize>(
        &mut self,
        sigma: f32,
        read: impl Fn(&[S; N]) -> [f32; L],
        change: impl Fn(&mut [S; N], &BlurredWindow<L>, u32, u32),
    ) -> Result<(), ImagingError> {
        change_with_blur(self.samples, self.frame, self.part, sigma, self.context, read, change)
    }

    /// `change` can read the blurred brightness at and around its pixel.
    fn change_with_blurred_luma(
        &mut self,
        sigma: f32,
        change: impl Fn(&mut [S; N], &dyn Fn(i32, i32) -> f32),
    ) -> Result<(), ImagingError> {
        if N % 2 == 1 {
            return self.change_with_blur_of(
                sigma,
                |pixel| [luma(pixel)],
                |pixel, blurred, x, y| {
                    change(pixel, &|dx, dy| {
                        blurred.at(x.saturating_add_signed(dx), y.saturating_add_signed(dy))[0]
                    })
                },
            );
        }
        self.change_with_blur_of(
            sigma,
            |pixel| {
                let alpha = alpha(pixel);
                [luma(pixel) * alpha, alpha, 0.0, 0.0]
            },
            |pixel, blurred, x, y| {
                let own = luma(pixel);
                let near = |dx, dy| {
                    let [sum, alpha, ..] =
                        blurred.at(x.saturating_add_signed(dx), y.saturating_add_signed(dy));
                    if alpha > MIN_VISIBLE_ALPHA { sum / alpha } else { own }
                };
                change(pixel, &near)
            },
        )
    }
}

/// The mean colour, weighted by alpha; `None` if all is transparent.
pub(in crate::ops) fn mean_color<S: Sample, const N: usize>(
    samples: &[S],
    width: u32,
    part: PixelRect,
) -> Option<[f32; 3]> {
    let (mut sums, mut weight) = ([0.0f64; 3], 0.0);
    for (_, row) in rows_of::<S, N>(samples, width, part) {
        for pixel in row {
            let alpha = f64::from(alpha(pixel));
            weight += alpha;
            for (sum, value) in sums.iter_mut().zip(color(pixel)) {
                *sum += f64::from(value) * alpha;
            }
        }
    }
    (weight > 0.0).then(|| sums.map(|sum| (sum / weight) as f32))
}
