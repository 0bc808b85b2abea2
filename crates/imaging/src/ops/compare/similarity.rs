//! Perceived similarity of two pictures: structural similarity (SSIM) of brightness, averaged over small windows.

use image::{GrayImage, RgbImage};

use super::luma;
use crate::{EditContext, ImagingError};

/// The size at which similarity is measured. At full size it would mostly measure noise.
pub(super) const MAX_SIDE: u32 = 512;
const WINDOW: u32 = 8;
const STEP: usize = 4;

/// 0 to 1; both have the same size.
pub(super) fn measure_similarity(
    a: &RgbImage,
    b: &RgbImage,
    context: &EditContext,
) -> Result<f64, ImagingError> {
    let (a, b) = (luma(a, context)?, luma(b, context)?);
    let (across, down) = (WINDOW.min(a.width()), WINDOW.min(a.height()));
    let (mut sum, mut windows) = (0.0, 0.0);
    for top in (0..=a.height() - down).step_by(STEP) {
        context.check_stopped()?;
        for left in (0..=a.width() - across).step_by(STEP) {
            sum += window(&a, &b, (left, top), (across, down));
            windows += 1.0;
        }
    }
    Ok((sum / windows).clamp(0.0, 1.0))
}

fn window(a: &GrayImage, b: &GrayImage, (left, top): (u32, u32), (across, down): (u32, u32)) -> f64 {
    let (mut sum_a, mut sum_b, mut sum_aa, mut sum_bb, mut sum_ab) = (0u32, 0u32, 0u32, 0u32, 0u32);
    for y in top..top + down {
        let start = y as usize * a.width() as usize + left as usize;
        let row = start..start + across as usize;
        for (p, q) in a.as_raw()[row.clone()].iter().zip(&b.as_raw()[row]) {
            let (p, q) = (u32::from(*p), u32::from(*q));
            sum_a += p;
            sum_b += q;
            sum_aa += p * p;
            sum_bb += q * q;
            sum_ab += p * q;
        }
    }
    let number = f64::from(across * down);
    let [mean_a, mean_b, mean_aa, mean_bb, mean_ab] =
        [sum_a, sum_b, sum_aa, sum_bb, sum_ab].map(|sum| f64::from(sum) / number);
    let (spread_a, spread_b) = (mean_aa - mean_a * mean_a, mean_bb - mean_b * mean_b);
    let together = mean_ab - mean_a * mean_b;
    // The constants of the original paper, for 8-bit samples.
    let (c1, c2) = ((0.01f64 * 255.0).powi(2), (0.03f64 * 255.0).powi(2));
    ((2.0 * mean_a * mean_b + c1) * (2.0 * together + c2))
        / ((mean_a * mean_a + mean_b * mean_b + c1) * (spread_a + spread_b + c2))
}
