//! The subject of a picture (U²-Netp): a mask of what stands out, whatever it is.

use image::{GrayImage, RgbImage, imageops};
use imaging::{PixelRect, StopFlag};

use crate::VisionError;
use crate::matte::{CutOut, cut_out};
use crate::models::Models;
use crate::pixels::{Scaling, planes, resized, resized_gray, tile};
use crate::weights::ModelFile;

const SIDE: u32 = 320;
/// How far the search around a given part reaches beyond it, as a share of its longer side.
const MARGIN_SHARE: f32 = 0.2;
/// A mask whose values differ by less than this shows nothing.
const MIN_RANGE: f32 = 0.2;

impl Models {
    /// Cuts out what stands out in the picture, or in a part of it. `None` if nothing does.
    pub fn subject(
        &self,
        pixels: &RgbImage,
        within: Option<PixelRect>,
        stop: &StopFlag,
    ) -> Result<Option<CutOut>, VisionError> {
        let Some(mask) = self.subject_mask(pixels, within, stop)? else { return Ok(None) };
        Ok(Some(cut_out(pixels, &mask, stop)?).filter(|cut| cut.coverage > 0.001))
    }

    /// The mask at the size of the model, or of the picture if a part is given.
    pub(crate) fn subject_mask(
        &self,
        pixels: &RgbImage,
        within: Option<PixelRect>,
        stop: &StopFlag,
    ) -> Result<Option<GrayImage>, VisionError> {
        let Some(part) = within else { return self.mask_of(pixels, stop) };
        let margin = part.width.max(part.height) as f32 * MARGIN_SHARE;
        let around = part.grown(margin as u32, pixels.width(), pixels.height());
        let cut = tile(pixels, around.x, around.y, around.width, around.height);
        let Some(mask) = self.mask_of(&cut, stop)? else { return Ok(None) };
        let mask = resized_gray(&mask, around.width, around.height)?;
        let mut whole = GrayImage::new(pixels.width(), pixels.height());
        imageops::replace(&mut whole, &mask, i64::from(around.x), i64::from(around.y));
        Ok(Some(whole))
    }

    fn mask_of(&self, pixels: &RgbImage, stop: &StopFlag) -> Result<Option<GrayImage>, VisionError> {
        let input = planes(&resized(pixels, SIDE, SIDE)?, Scaling::IMAGE_NET);
        let (_, values) = self.run_one(ModelFile::Subject, &input, stop)?;
        let least = values.iter().copied().fold(f32::INFINITY, f32::min);
        let most = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if most - least < MIN_RANGE {
            return Ok(None);
        }
        let bytes =
            values.iter().map(|value| ((value - least) / (most - least) * 255.0 + 0.5) as u8).collect();
        GrayImage::from_raw(SIDE, SIDE, bytes)
            .map(Some)
            .ok_or_else(|| VisionError::failed("a mask of another size"))
    }
}
