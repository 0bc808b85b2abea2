//! People and their hair (MODNet): a matte of the people in a picture.

use image::{GrayImage, RgbImage};
use imaging::StopFlag;

use crate::VisionError;
use crate::matte::{CutOut, cut_out};
use crate::models::Models;
use crate::pixels::{Scaling, planes, resized};
use crate::weights::ModelFile;

/// The shorter side that the model was trained with, and the longest it gets.
const SHORT_SIDE: f32 = 512.0;
const LONG_SIDE: f32 = 896.0;
const SIDE_STEP: u32 = 32;

impl Models {
    /// Cuts out the people in front. `None` if there are none.
    pub fn portrait(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<Option<CutOut>, VisionError> {
        let mask = self.portrait_mask(pixels, stop)?;
        Ok(Some(cut_out(pixels, &mask, stop)?).filter(|cut| cut.coverage > 0.005))
    }

    fn portrait_mask(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<GrayImage, VisionError> {
        let (width, height) = (pixels.width() as f32, pixels.height() as f32);
        let factor = (SHORT_SIDE / width.min(height)).min(LONG_SIDE / width.max(height));
        let side = |length: f32| ((length * factor / SIDE_STEP as f32).round() as u32).max(1) * SIDE_STEP;
        let (width, height) = (side(width), side(height));
        let input = planes(&resized(pixels, width, height)?, Scaling::SIGNED);
        let (_, values) = self.run_one(ModelFile::Portrait, &input, stop)?;
        let bytes = values.iter().map(|value| (value.clamp(0.0, 1.0) * 255.0 + 0.5) as u8).collect();
        GrayImage::from_raw(width, height, bytes)
            .ok_or_else(|| VisionError::failed("a matte of another size"))
    }
}
