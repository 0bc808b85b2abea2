//! Pixels as the models take them: resized, cut into tiles, and as planes of floats.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{FilterType, PixelType, ResizeAlg, ResizeOptions, Resizer};
use image::{GrayImage, RgbImage, imageops};
use rten_tensor::NdTensor;

use crate::VisionError;

/// A value per channel that is subtracted and one that divides, of samples from 0 to 255.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scaling {
    pub mean: [f32; 3],
    pub deviation: [f32; 3],
}

impl Scaling {
    /// 0 to 255.
    pub const NONE: Self = Self { mean: [0.0; 3], deviation: [1.0; 3] };
    /// 0 to 1.
    pub const UNIT: Self = Self { mean: [0.0; 3], deviation: [255.0; 3] };
    /// -1 to 1.
    pub const SIGNED: Self = Self { mean: [127.5; 3], deviation: [127.5; 3] };
    /// Mean and deviation of the photos of ImageNet.
    pub const IMAGE_NET: Self = Self { mean: [123.675, 116.28, 103.53], deviation: [58.395, 57.12, 57.375] };
}

/// One picture as a tensor of the shape 1, channels, height, width.
pub(crate) fn planes(pixels: &RgbImage, scaling: Scaling) -> NdTensor<f32, 4> {
    let (width, height) = (pixels.width() as usize, pixels.height() as usize);
    let mut data = Vec::with_capacity(3 * width * height);
    for channel in 0..3 {
        let (mean, factor) = (scaling.mean[channel], 1.0 / scaling.deviation[channel]);
        data.extend(pixels.pixels().map(|pixel| (f32::from(pixel.0[channel]) - mean) * factor));
    }
    NdTensor::from_data([1, 3, height, width], data)
}

/// Which filter resizes: the kinds that the models were trained with.
fn options(filter: FilterType) -> ResizeOptions {
    ResizeOptions::new().resize_alg(ResizeAlg::Convolution(filter)).use_alpha(false)
}

pub(crate) fn resized(pixels: &RgbImage, width: u32, height: u32) -> Result<RgbImage, VisionError> {
    if pixels.dimensions() == (width, height) {
        return Ok(pixels.clone());
    }
    let from = ImageRef::new(pixels.width(), pixels.height(), pixels.as_raw(), PixelType::U8x3);
    let mut to = Image::new(width, height, PixelType::U8x3);
    let from = from.map_err(VisionError::failed)?;
    Resizer::new().resize(&from, &mut to, &options(FilterType::Bilinear)).map_err(VisionError::failed)?;
    RgbImage::from_raw(width, height, to.into_vec())
        .ok_or_else(|| VisionError::failed("resized to another size"))
}

pub(crate) fn resized_gray(pixels: &GrayImage, width: u32, height: u32) -> Result<GrayImage, VisionError> {
    if pixels.dimensions() == (width, height) {
        return Ok(pixels.clone());
    }
    let from = ImageRef::new(pixels.width(), pixels.height(), pixels.as_raw(), PixelType::U8);
    let mut to = Image::new(width, height, PixelType::U8);
    let from = from.map_err(VisionError::failed)?;
    Resizer::new().resize(&from, &mut to, &options(FilterType::Bilinear)).map_err(VisionError::failed)?;
    GrayImage::from_raw(width, height, to.into_vec())
        .ok_or_else(|| VisionError::failed("resized to another size"))
}

/// The top left corners of tiles that cover a length, with at least `overlap` between two.
pub(crate) fn tile_starts(length: u32, tile: u32, overlap: u32) -> Vec<u32> {
    if length <= tile {
        return vec![0];
    }
    let step = tile.saturating_sub(overlap).max(1);
    let count = (length - overlap).div_ceil(step).max(2);
    (0..count).map(|n| (u64::from(n) * u64::from(length - tile) / u64::from(count - 1)) as u32).collect()
}

/// A part of a picture, filled up with gray where it reaches beyond.
pub(crate) fn tile(pixels: &RgbImage, x: u32, y: u32, width: u32, height: u32) -> RgbImage {
    let part = imageops::crop_imm(
        pixels,
        x,
        y,
        width.min(pixels.width().saturating_sub(x)),
        height.min(pixels.height().saturating_sub(y)),
    );
    let part = part.to_image();
    if part.dimensions() == (width, height) {
        return part;
    }
    let mut whole = RgbImage::from_pixel(width, height, image::Rgb([114; 3]));
    imageops::replace(&mut whole, &part, 0, 0);
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tiles_cover_a_length_and_overlap() {
        for (length, tile, overlap) in [(100, 640, 64), (640, 640, 64), (641, 640, 64), (4000, 640, 96)] {
            let starts = tile_starts(length, tile, overlap);
            assert_eq!(starts[0], 0);
            assert!(starts.last().unwrap() + tile >= length, "{length}: {starts:?}");
            for pair in starts.windows(2) {
                assert!(pair[1] > pair[0] && pair[1] + overlap <= pair[0] + tile, "{length}: {starts:?}");
            }
        }
    }
}
