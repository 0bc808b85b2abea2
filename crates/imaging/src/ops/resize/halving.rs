//! Halves large pictures by averaging squares of four pixels before the Lanczos filter runs, which is many times
//! faster. The filter always has enough left to do to keep its sharpness.

use image::{DynamicImage, ImageBuffer};

use super::SourcePart;
use crate::{EditContext, ImagingError};

/// The halved picture stays at least this many times larger than the target size.
const MIN_FILTER_FACTOR: f64 = 1.5;

/// The picture halved as often as the target size allows, and the part to show of it. `None` if it cannot be halved.
/// Pictures with alpha or 16 bits are left to the filter.
pub(super) fn halve(
    pixels: &DynamicImage,
    part: &SourcePart,
    width: u32,
    height: u32,
    context: &EditContext,
) -> Result<Option<(DynamicImage, SourcePart)>, ImagingError> {
    let (width, height) = (f64::from(width) * MIN_FILTER_FACTOR, f64::from(height) * MIN_FILTER_FACTOR);
    let mut smaller: Option<DynamicImage> = None;
    let mut part = *part;
    while part.width >= width * 2.0 && part.height >= height * 2.0 {
        let from = smaller.as_ref().unwrap_or(pixels);
        let half = match from {
            DynamicImage::ImageRgb8(buffer) => {
                let samples = average_2x2::<3>(buffer.as_raw(), from, context)?;
                ImageBuffer::from_raw(from.width().div_ceil(2), from.height().div_ceil(2), samples)
                    .map(DynamicImage::ImageRgb8)
            }
            DynamicImage::ImageLuma8(buffer) => {
                let samples = average_2x2::<1>(buffer.as_raw(), from, context)?;
                ImageBuffer::from_raw(from.width().div_ceil(2), from.height().div_ceil(2), samples)
                    .map(DynamicImage::ImageLuma8)
            }
            _ => return Ok(None),
        };
        smaller = Some(half.ok_or_else(|| ImagingError::failed("the halved buffer has the wrong size"))?);
        part = part.halve();
    }
    Ok(smaller.map(|pixels| (pixels, part)))
}

/// A last odd column or row counts twice, so that every output pixel averages two by two.
fn average_2x2<const N: usize>(
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
