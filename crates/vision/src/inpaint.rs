//! Fills a hole from its surroundings (MI-GAN). Only the hole and a thin blend around it change. What fills it is
//! generated, not seen.

use image::{GrayImage, Luma, Rgb, RgbImage, imageops};
use imageproc::distance_transform::Norm;
use imageproc::morphology::dilate;
use imaging::{PixelRect, StopFlag};
use rten_tensor::NdTensor;

use crate::VisionError;
use crate::models::{Models, check_stopped};
use crate::pixels::{resized, resized_gray, tile};
use crate::weights::ModelFile;

/// Both sides of the model's input.
const SIDE: u32 = 512;
/// The longer side of the hole is at most this share of the part that the model sees.
const HOLE_SHARE: f32 = 0.4;
/// How far the hole grows, in pixels of the model: soft edges of what is removed would shine through.
const GROWTH: u8 = 4;
/// The width of the blend around the hole, in pixels of the model.
const BLEND: u8 = 3;
/// The share of a given region that the mask of a thing in it covers, if it is to be trusted.
const TRUSTED_SHARE: (f64, f64) = (0.12, 0.92);
/// How much of that mask may lie outside the region.
const MAX_OUTSIDE: f64 = 0.2;

impl Models {
    /// Fills these parts. Within each, what stands out is removed along its outline if the outline is clear, otherwise
    /// all of the part.
    pub fn erase(
        &self,
        pixels: &RgbImage,
        parts: &[PixelRect],
        stop: &StopFlag,
    ) -> Result<RgbImage, VisionError> {
        let mut filled = pixels.clone();
        for part in parts {
            check_stopped(stop)?;
            self.erase_one(&mut filled, *part, stop)?;
        }
        Ok(filled)
    }

    fn erase_one(&self, pixels: &mut RgbImage, part: PixelRect, stop: &StopFlag) -> Result<(), VisionError> {
        let (width, height) = pixels.dimensions();
        let around = square_around(part, width, height);
        let seen = tile(pixels, around.x, around.y, around.width, around.height);
        let hole = self.hole(pixels, part, around, stop)?;
        let small = resized(&seen, SIDE, SIDE)?;
        let mut hole = resized_gray(&hole, SIDE, SIDE)?;
        hole.pixels_mut().for_each(|pixel| pixel.0[0] = if pixel.0[0] >= 64 { 255 } else { 0 });
        let hole = dilate(&hole, Norm::LInf, GROWTH);
        let made = self.fill(&small, &hole, stop)?;
        let made = resized(&made, around.width, around.height)?;
        // The blend lies outside the hole, where the old picture is still known.
        let wide = dilate(&hole, Norm::LInf, BLEND);
        let soft = resized_gray(&imageops::blur(&wide, f32::from(BLEND) / 2.0), around.width, around.height)?;
        let hole = resized_gray(&hole, around.width, around.height)?;
        for (x, y, new) in made.enumerate_pixels() {
            let share = soft.get_pixel(x, y).0[0].max(hole.get_pixel(x, y).0[0]);
            if share == 0 {
                continue;
            }
            let share = f32::from(share) / 255.0;
            let old = pixels.get_pixel_mut(around.x + x, around.y + y);
            let mix = |channel: usize| {
                let (old, new) = (f32::from(old.0[channel]), f32::from(new.0[channel]));
                (old + (new - old) * share + 0.5) as u8
            };
            *old = Rgb([mix(0), mix(1), mix(2)]);
        }
        Ok(())
    }

    /// The hole in the part that the model sees: the outline of the thing in it, or all of it.
    fn hole(
        &self,
        pixels: &RgbImage,
        part: PixelRect,
        around: PixelRect,
        stop: &StopFlag,
    ) -> Result<GrayImage, VisionError> {
        let place = |x: u32, y: u32| part.contains(around.x + x, around.y + y);
        let all =
            GrayImage::from_fn(around.width, around.height, |x, y| Luma([if place(x, y) { 255 } else { 0 }]));
        let Some(mask) = self.subject_mask(pixels, Some(part), stop)? else { return Ok(all) };
        let mask = tile_gray(&mask, around);
        let is_thing = |pixel: &Luma<u8>| pixel.0[0] >= 96;
        let thing = mask.pixels().filter(|pixel| is_thing(pixel)).count() as f64;
        let inside =
            mask.enumerate_pixels().filter(|(x, y, pixel)| is_thing(pixel) && place(*x, *y)).count() as f64;
        let share = inside / (f64::from(part.width) * f64::from(part.height));
        if share < TRUSTED_SHARE.0 || share > TRUSTED_SHARE.1 || thing - inside > inside * MAX_OUTSIDE {
            return Ok(all);
        }
        let outline = |x: u32, y: u32| place(x, y) && mask.get_pixel(x, y).0[0] >= 48;
        Ok(GrayImage::from_fn(around.width, around.height, |x, y| {
            Luma([if outline(x, y) { 255 } else { 0 }])
        }))
    }

    fn fill(&self, pixels: &RgbImage, hole: &GrayImage, stop: &StopFlag) -> Result<RgbImage, VisionError> {
        let count = (SIDE * SIDE) as usize;
        let keep = |pixel: &Luma<u8>| if pixel.0[0] > 0 { 0.0_f32 } else { 1.0 };
        let mut data: Vec<f32> = Vec::with_capacity(4 * count);
        data.extend(hole.pixels().map(|pixel| keep(pixel) - 0.5));
        for channel in 0..3 {
            let values = pixels.pixels().zip(hole.pixels());
            data.extend(
                values.map(|(pixel, hole)| (f32::from(pixel.0[channel]) * 2.0 / 255.0 - 1.0) * keep(hole)),
            );
        }
        let input = NdTensor::from_data([1, 4, SIDE as usize, SIDE as usize], data);
        let (_, values) = self.run_one(ModelFile::Inpaint, &input, stop)?;
        if values.len() != 3 * count {
            return Err(VisionError::failed("a filling of another size"));
        }
        // Outside the hole the model's colours are not exact: the picture's own are, so the blend has no rim.
        Ok(RgbImage::from_fn(SIDE, SIDE, |x, y| {
            if hole.get_pixel(x, y).0[0] == 0 {
                return *pixels.get_pixel(x, y);
            }
            let at = (y * SIDE + x) as usize;
            Rgb([0, 1, 2]
                .map(|channel: usize| (values[channel * count + at].clamp(0.0, 1.0) * 255.0 + 0.5) as u8))
        }))
    }
}

/// A square, if the picture allows, in which the part is a small hole.
fn square_around(part: PixelRect, width: u32, height: u32) -> PixelRect {
    let wanted = (part.width.max(part.height) as f32 / HOLE_SHARE) as u32;
    let side = |length: u32| wanted.max(SIDE / 2).min(length);
    // As square as possible: a long picture would be squeezed.
    let side = side(width).min(side(height)).max(part.width.max(part.height).min(width.min(height)));
    let (wide, tall) = (side.max(part.width).min(width), side.max(part.height).min(height));
    let start = |from: u32, length: u32, side: u32, whole: u32| {
        (from + length / 2).saturating_sub(side / 2).min(whole - side)
    };
    PixelRect {
        x: start(part.x, part.width, wide, width),
        y: start(part.y, part.height, tall, height),
        width: wide,
        height: tall,
    }
}

fn tile_gray(mask: &GrayImage, part: PixelRect) -> GrayImage {
    imageops::crop_imm(mask, part.x, part.y, part.width, part.height).to_image()
}
