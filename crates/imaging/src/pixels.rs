//! Access to single pixels of a part of a picture at any depth, as brightness and colour.

use super::picture::Sample;
use super::{EditContext, ImagingError, PixelRect};

/// The weight of each channel in perceived brightness (Rec. 709).
pub(super) const LUMA: [f32; 3] = [0.2126, 0.7152, 0.0722];

pub(super) fn luma_of([r, g, b]: [f32; 3]) -> f32 {
    LUMA[0] * r + LUMA[1] * g + LUMA[2] * b
}

/// Brightness of a pixel, 0 to 1. A pixel has one to four channels; the last of two or four is alpha.
pub(super) fn luma<S: Sample, const N: usize>(pixel: &[S; N]) -> f32 {
    if N < 3 { pixel[0].to_unit() } else { luma_of(color(pixel)) }
}

/// The colour of a pixel, 0 to 1 per channel; a gray pixel gives three equal channels.
pub(super) fn color<S: Sample, const N: usize>(pixel: &[S; N]) -> [f32; 3] {
    if N < 3 { [pixel[0].to_unit(); 3] } else { std::array::from_fn(|channel| pixel[channel].to_unit()) }
}

/// Sets the colour and leaves alpha. A gray pixel takes its value from the first channel.
pub(super) fn set_color<S: Sample, const N: usize>(pixel: &mut [S; N], color: [f32; 3]) {
    for (sample, value) in pixel.iter_mut().zip(color).take(if N < 3 { 1 } else { 3 }) {
        *sample = S::from_unit(value);
    }
}

/// 1 for pixels without alpha.
pub(super) fn alpha<S: Sample, const N: usize>(pixel: &[S; N]) -> f32 {
    if N.is_multiple_of(2) { pixel[N - 1].to_unit() } else { 1.0 }
}

pub(super) fn mix(from: f32, to: f32, share: f32) -> f32 {
    from + (to - from) * share
}

/// 0 up to `low`, 1 from `high` on, and a smooth curve between.
pub(super) fn smooth_step(low: f32, high: f32, value: f32) -> f32 {
    let t = ((value - low) / (high - low)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

/// Calls `change` for every pixel of `part` with its x and y.
pub(super) fn each_pixel<S: Sample, const N: usize>(
    samples: &mut [S],
    width: u32,
    part: PixelRect,
    context: &EditContext,
    mut change: impl FnMut(&mut [S; N], u32, u32),
) -> Result<(), ImagingError> {
    let rows = samples.chunks_exact_mut(width as usize * N);
    for (row, y) in rows.skip(part.y as usize).take(part.height as usize).zip(part.y..) {
        context.check_stopped()?;
        let pixels = row.as_chunks_mut::<N>().0.get_mut(part.x as usize..part.right() as usize);
        for (pixel, x) in pixels.unwrap_or_default().iter_mut().zip(part.x..) {
            change(pixel, x, y);
        }
    }
    Ok(())
}

/// The rows of `part`, each with its y.
pub(super) fn rows_of<S, const N: usize>(
    samples: &[S],
    width: u32,
    part: PixelRect,
) -> impl Iterator<Item = (u32, &[[S; N]])> {
    let rows = samples.chunks_exact(width as usize * N).skip(part.y as usize).take(part.height as usize);
    (part.y..).zip(rows).map(move |(y, row)| {
        let pixels = row.as_chunks::<N>().0;
        (y, pixels.get(part.x as usize..part.right() as usize).unwrap_or_default())
    })
}
