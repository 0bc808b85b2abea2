//! Large pictures are first made smaller by averaging squares of four pixels, which is many times faster than a good
//! filter; the filter then has the rest to do, and never less than what keeps its sharpness.

use image::{DynamicImage, ImageBuffer};

use super::Part;
use crate::{EditContext, ImagingError};

/// How many times the wanted size must be left for the filter.
const ROOM: f64 = 1.5;

/// The picture halved as often as the wanted size allows, and the part to show of that. None if it does not. Only
/// for the common kinds of pixels: colours behind alpha and 16 bits go through the filter alone.
pub(super) fn halved(
    pixels: &DynamicImage,
    part: &Part,
    width: u32,
    height: u32,
    context: &EditContext,
) -> Result<Option<(DynamicImage, Part)>, ImagingError> {
    let (width, height) = (f64::from(width) * ROOM, f64::from(height) * ROOM);
    let mut smaller: Option<DynamicImage> = None;
    let mut part = *part;
    while part.width >= width * 2.0 && part.height >= height * 2.0 {
        let from = smaller.as_ref().unwrap_or(pixels);
        let half = match from {
            DynamicImage::ImageRgb8(buffer) => {
                let samples = half::<3>(buffer.as_raw(), from, context)?;
                ImageBuffer::from_raw(from.width().div_ceil(2), from.height().div_ceil(2), samples)
                    .map(DynamicImage::ImageRgb8)
            }
            DynamicImage::ImageLuma8(buffer) => {
                let samples = half::<1>(buffer.as_raw(), from, context)?;
                ImageBuffer::from_raw(from.width().div_ceil(2), from.height().div_ceil(2), samples)
                    .map(DynamicImage::ImageLuma8)
            }
            _ => return Ok(None),
        };
        smaller = Some(half.ok_or_else(|| ImagingError::failed("the halved buffer has the wrong size"))?);
        part = part.halved();
    }
    Ok(smaller.map(|pixels| (pixels, part)))
}

/// A last odd column or row counts twice, so that every pixel of the result stands for two by two.
fn half<const N: usize>(
    samples: &[u8],
    size: &DynamicImage,
    context: &EditContext,
) -> Result<Vec<u8>, ImagingError> {
    let row = size.width() as usize * N;
    let half_row = size.width().div_ceil(2) as usize * N;
    let mut half = vec![0; half_row * size.height().div_ceil(2) as usize];
    let mut sums = vec![0u16; half_row * 2];
    for (pair, half) in samples.chunks(row * 2).zip(half.chunks_exact_mut(half_row)) {
        context.check_stopped()?;
        let upper = &pair[..row];
        let lower = if pair.len() > row { &pair[row..] } else { upper };
        for ((sum, upper), lower) in sums.iter_mut().zip(upper).zip(lower) {
            *sum = u16::from(*upper) + u16::from(*lower);
        }
        sums.copy_within(row - N..row, half_row * 2 - N);
        let squares = sums.as_chunks::<N>().0.as_chunks::<2>().0;
        for (pixel, [left, right]) in half.as_chunks_mut::<N>().0.iter_mut().zip(squares) {
            for ((sample, left), right) in pixel.iter_mut().zip(left).zip(right) {
                *sample = ((left + right + 2) >> 2) as u8;
            }
        }
    }
    Ok(half)
}
