//! Enlarges pictures two, three or four times (SPAN), in tiles.

use image::{RgbImage, imageops};
use imaging::StopFlag;

use crate::VisionError;
use crate::models::{Models, check_stopped};
use crate::pixels::{Scaling, planes, resized, tile, tile_starts};
use crate::weights::ModelFile;

/// Both sides of a tile.
const TILE: u32 = 192;
/// What two tiles share; the outer half of it is thrown away, because a tile's border lacks its surroundings.
const OVERLAP: u32 = 16;

/// How many times larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enlargement {
    Twice,
    /// Four times, then reduced.
    ThreeTimes,
    FourTimes,
}

impl Enlargement {
    pub fn factor(self) -> u32 {
        match self {
            Self::Twice => 2,
            Self::ThreeTimes => 3,
            Self::FourTimes => 4,
        }
    }
}

impl Models {
    pub fn upscale(
        &self,
        pixels: &RgbImage,
        enlargement: Enlargement,
        stop: &StopFlag,
    ) -> Result<RgbImage, VisionError> {
        match enlargement {
            Enlargement::Twice => self.upscale_with(ModelFile::Upscale2, 2, pixels, stop),
            Enlargement::FourTimes => self.upscale_with(ModelFile::Upscale4, 4, pixels, stop),
            Enlargement::ThreeTimes => {
                let larger = self.upscale_with(ModelFile::Upscale4, 4, pixels, stop)?;
                resized(&larger, pixels.width() * 3, pixels.height() * 3)
            }
        }
    }

    fn upscale_with(
        &self,
        file: ModelFile,
        factor: u32,
        pixels: &RgbImage,
        stop: &StopFlag,
    ) -> Result<RgbImage, VisionError> {
        let (width, height) = pixels.dimensions();
        let mut large = RgbImage::new(width * factor, height * factor);
        for y in tile_starts(height, TILE, OVERLAP) {
            for x in tile_starts(width, TILE, OVERLAP) {
                check_stopped(stop)?;
                let (wide, tall) = (TILE.min(width - x), TILE.min(height - y));
                let part = tile(pixels, x, y, wide, tall);
                let (_, values) = self.run_one(file, &planes(&part, Scaling::UNIT), stop)?;
                let (wide, tall) = (wide * factor, tall * factor);
                let count = (wide * tall) as usize;
                if values.len() != 3 * count {
                    return Err(VisionError::failed("an enlargement of another size"));
                }
                let made = RgbImage::from_fn(wide, tall, |x, y| {
                    let at = (y * wide + x) as usize;
                    let byte =
                        |channel: usize| (values[channel * count + at].clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
                    image::Rgb([byte(0), byte(1), byte(2)])
                });
                // Inner borders lose half of the overlap.
                let inset = |start: u32| if start > 0 { OVERLAP / 2 * factor } else { 0 };
                let (left, top) = (inset(x), inset(y));
                let kept = imageops::crop_imm(&made, left, top, wide - left, tall - top).to_image();
                imageops::replace(
                    &mut large,
                    &kept,
                    i64::from(x * factor + left),
                    i64::from(y * factor + top),
                );
            }
        }
        Ok(large)
    }
}
