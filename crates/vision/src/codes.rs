//! QR codes: where they are and what they say.

use std::panic::{AssertUnwindSafe, catch_unwind};

use image::{RgbImage, imageops};
use imaging::StopFlag;
use rqrr::PreparedImage;

use crate::boxes::{Scored, keep_best};
use crate::models::{Models, check_stopped};
use crate::pixels::resized;
use crate::{Finding, VisionError};

/// The longest sides at which codes are looked for. Large codes are found in small copies, small ones in large copies.
const SIDES: [u32; 3] = [2400, 1200, 600];
/// The white border that belongs to a code, as a share of its side.
const QUIET_SHARE: f32 = 0.05;

impl Models {
    /// QR codes with what they say.
    pub fn codes(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<Vec<Finding>, VisionError> {
        let longest = pixels.width().max(pixels.height()).max(1);
        let mut found: Vec<(Scored, String)> = Vec::new();
        for (index, side) in SIDES.into_iter().enumerate() {
            check_stopped(stop)?;
            if index > 0 && side >= longest {
                continue;
            }
            let factor = (side as f32 / longest as f32).min(1.0);
            let scaled = |length: u32| ((length as f32 * factor) as u32).max(1);
            let small = resized(pixels, scaled(pixels.width()), scaled(pixels.height()))?;
            let back = pixels.width() as f32 / small.width() as f32;
            let read = catch_unwind(AssertUnwindSafe(|| codes_in(&small)));
            let read = read.map_err(|_| VisionError::failed("the reader of codes panicked"))?;
            found.extend(read.into_iter().map(|(place, text)| (place.scaled(back, back), text)));
        }
        let kept = keep_best(found, |code| code.0.area(), |one, other| one.0.overlap(&other.0) > 0.3);
        let finding = |(place, text): (Scored, String)| {
            let region = place.region(pixels.width(), pixels.height())?;
            Some(Finding { label: Finding::CODE, score: 1.0, region, text: Some(text) })
        };
        Ok(kept.into_iter().filter_map(finding).collect())
    }
}

fn codes_in(pixels: &RgbImage) -> Vec<(Scored, String)> {
    let gray = imageops::grayscale(pixels);
    let (width, height) = (gray.width() as usize, gray.height() as usize);
    let mut prepared =
        PreparedImage::prepare_from_greyscale(width, height, |x, y| gray.get_pixel(x as u32, y as u32).0[0]);
    let grids = prepared.detect_grids();
    let decoded = grids.iter().filter_map(|grid| {
        let (_, text) = grid.decode().ok()?;
        let xs = grid.bounds.map(|point| point.x as f32);
        let ys = grid.bounds.map(|point| point.y as f32);
        let least = |values: [f32; 4]| values.into_iter().fold(f32::INFINITY, f32::min);
        let most = |values: [f32; 4]| values.into_iter().fold(f32::NEG_INFINITY, f32::max);
        let quiet = (most(xs) - least(xs)) * QUIET_SHARE;
        let place = Scored {
            left: least(xs) - quiet,
            top: least(ys) - quiet,
            right: most(xs) + quiet,
            bottom: most(ys) + quiet,
            score: 1.0,
        };
        Some((place, text))
    });
    decoded.collect()
}
