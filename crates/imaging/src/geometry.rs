//! Exact pixel moves: flips, quarter turns and crops. Samples are never recomputed, so these are lossless at any
//! depth. Most work in place.

use image::metadata::Orientation;
use image::{DynamicImage, ImageBuffer};

use super::picture::map_buffer;
use super::{ImagingError, PixelRect, buffer_pool};

/// Rows per band of a quarter turn: long enough for efficient copies, short enough for the CPU cache.
const BAND: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuarterTurn {
    Clockwise,
    Anticlockwise,
}

pub(super) fn orient(pixels: DynamicImage, orientation: Orientation) -> Result<DynamicImage, ImagingError> {
    match orientation {
        Orientation::NoTransforms => Ok(pixels),
        Orientation::Rotate90 => rotate_90(pixels, QuarterTurn::Clockwise),
        Orientation::Rotate180 => rotate_180(pixels),
        Orientation::Rotate270 => rotate_90(pixels, QuarterTurn::Anticlockwise),
        Orientation::FlipHorizontal => flip_horizontal(pixels),
        Orientation::FlipVertical => flip_vertical(pixels),
        Orientation::Rotate90FlipH => flip_horizontal(rotate_90(pixels, QuarterTurn::Clockwise)?),
        Orientation::Rotate270FlipH => flip_horizontal(rotate_90(pixels, QuarterTurn::Anticlockwise)?),
    }
}

/// Flips left to right.
pub(super) fn flip_horizontal(pixels: DynamicImage) -> Result<DynamicImage, ImagingError> {
    map_buffer!(pixels, |buffer, N| {
        let mut buffer = buffer;
        let row = buffer.width() as usize * N;
        for row in buffer.chunks_exact_mut(row.max(1)) {
            row.as_chunks_mut::<N>().0.reverse();
        }
        Some(buffer)
    })
}

/// Flips top to bottom.
pub(super) fn flip_vertical(pixels: DynamicImage) -> Result<DynamicImage, ImagingError> {
    map_buffer!(pixels, |buffer, N| {
        let mut buffer = buffer;
        let (row, height) = (buffer.width() as usize * N, buffer.height() as usize);
        let (top, bottom) = buffer.split_at_mut(row * (height / 2));
        for (upper, lower) in top.chunks_exact_mut(row.max(1)).zip(bottom.chunks_exact_mut(row.max(1)).rev())
        {
            upper.swap_with_slice(lower);
        }
        Some(buffer)
    })
}

pub(super) fn rotate_180(pixels: DynamicImage) -> Result<DynamicImage, ImagingError> {
    map_buffer!(pixels, |buffer, N| {
        let mut buffer = buffer;
        buffer.as_chunks_mut::<N>().0.reverse();
        Some(buffer)
    })
}

/// Works in place: a second buffer of this size would cost more in page faults than the turn itself, and would double
/// the memory of an edit.
pub(super) fn rotate_90(pixels: DynamicImage, turn: QuarterTurn) -> Result<DynamicImage, ImagingError> {
    map_buffer!(pixels, |buffer, N| {
        let (width, height) = buffer.dimensions();
        let mut samples = buffer.into_raw();
        rotate_in_place(samples.as_chunks_mut::<N>().0, width as usize, height as usize, turn);
        ImageBuffer::from_raw(height, width, samples)
    })
}

/// Turns bands of rows one by one, which leaves runs of [`BAND`] pixels that belong together, then moves the runs to
/// their places. The rows below the last whole band are set aside and inserted at the end.
fn rotate_in_place<T: Copy, const N: usize>(
    pixels: &mut [[T; N]],
    width: usize,
    height: usize,
    turn: QuarterTurn,
) {
    let bands = height / BAND;
    let whole = bands * BAND;
    let last_rows = pixels[whole * width..].to_vec();
    let mut aside = pixels[..BAND.min(whole) * width].to_vec();
    for band in pixels[..whole * width].chunks_exact_mut((BAND * width).max(1)) {
        aside.copy_from_slice(band);
        rotate_band(&aside, band, width, BAND, turn);
    }
    rearrange_runs(&mut pixels[..whole * width], |run| {
        let (row, place) = (run / bands, run % bands);
        match turn {
            QuarterTurn::Clockwise => (bands - 1 - place) * width + row,
            QuarterTurn::Anticlockwise => place * width + row,
        }
    });
    let few = height - whole;
    if few == 0 {
        return;
    }
    let mut turned = last_rows.clone();
    rotate_band(&last_rows, &mut turned, width, few, turn);
    let (for_runs, for_few) = match turn {
        QuarterTurn::Clockwise => (few, 0),
        QuarterTurn::Anticlockwise => (0, whole),
    };
    // From the back, because every row moves towards the back.
    for (row, few_of_row) in turned.chunks_exact(few).enumerate().rev() {
        pixels.copy_within(row * whole..(row + 1) * whole, row * height + for_runs);
        pixels[row * height + for_few..][..few].copy_from_slice(few_of_row);
    }
}

/// Turns `rows` rows as a picture of their own.
fn rotate_band<T: Copy, const N: usize>(
    from: &[[T; N]],
    to: &mut [[T; N]],
    width: usize,
    rows: usize,
    turn: QuarterTurn,
) {
    for (row, line) in to.chunks_exact_mut(rows).enumerate() {
        match turn {
            QuarterTurn::Clockwise => {
                let column = from[row..].iter().step_by(width);
                line.iter_mut().rev().zip(column).for_each(|(to, from)| *to = *from);
            }
            QuarterTurn::Anticlockwise => {
                let column = from[width - 1 - row..].iter().step_by(width);
                line.iter_mut().zip(column).for_each(|(to, from)| *to = *from);
            }
        }
    }
}

/// Fills every run of [`BAND`] pixels with the run that `source` names, which must be a permutation. Follows the
/// cycles of the permutation, so only one run is buffered.
fn rearrange_runs<T: Copy, const N: usize>(pixels: &mut [[T; N]], source: impl Fn(usize) -> usize) {
    let runs = pixels.len() / BAND;
    let mut placed = vec![false; runs];
    for start in 0..runs {
        if placed[start] || source(start) == start {
            continue;
        }
        let waiting = pixels[start * BAND..][..BAND].to_vec();
        let mut to = start;
        loop {
            placed[to] = true;
            let from = source(to);
            if from == start {
                pixels[to * BAND..][..BAND].copy_from_slice(&waiting);
                break;
            }
            pixels.copy_within(from * BAND..(from + 1) * BAND, to * BAND);
            to = from;
        }
    }
}

/// Crops to `rect`, which must lie inside. A large part is moved within its buffer, because a fresh one would cost
/// more in page faults than the copy. A small part gets its own buffer, so that it does not hold the memory of the
/// whole.
pub(super) fn crop(pixels: DynamicImage, rect: PixelRect) -> Result<DynamicImage, ImagingError> {
    if rect.right() > pixels.width() || rect.bottom() > pixels.height() {
        return Err(ImagingError::failed("a cut outside of the picture"));
    }
    let share = f64::from(rect.width) * f64::from(rect.height)
        / (f64::from(pixels.width()) * f64::from(pixels.height()));
    let rows = rect.y as usize..rect.bottom() as usize;
    if share < 0.5 {
        let part = map_buffer!(&pixels, |buffer, N| {
            let (stride, left, row) =
                (buffer.width() as usize * N, rect.x as usize * N, rect.width as usize * N);
            let mut samples = Vec::with_capacity(rows.len() * row);
            rows.for_each(|y| samples.extend_from_slice(&buffer.as_raw()[y * stride + left..][..row]));
            ImageBuffer::from_raw(rect.width, rect.height, samples)
        });
        buffer_pool::recycle(pixels);
        return part;
    }
    map_buffer!(pixels, |buffer, N| {
        let (stride, left, row) = (buffer.width() as usize * N, rect.x as usize * N, rect.width as usize * N);
        let mut samples = buffer.into_raw();
        for (to, y) in rows.enumerate() {
            samples.copy_within(y * stride + left..y * stride + left + row, to * row);
        }
        samples.truncate(rect.height as usize * row);
        ImageBuffer::from_raw(rect.width, rect.height, samples)
    })
}

#[cfg(test)]
mod tests {
    use image::{GrayImage, Rgb, RgbImage};

    use super::*;

    /// Two rows of three: 1 2 3 / 4 5 6.
    fn digits() -> DynamicImage {
        GrayImage::from_raw(3, 2, vec![1, 2, 3, 4, 5, 6]).unwrap().into()
    }

    #[test]
    fn every_exif_orientation_moves_pixels_as_the_standard_says() {
        use Orientation::*;
        for (orientation, expected) in [
            (NoTransforms, [1, 2, 3, 4, 5, 6]),
            (FlipHorizontal, [3, 2, 1, 6, 5, 4]),
            (Rotate180, [6, 5, 4, 3, 2, 1]),
            (FlipVertical, [4, 5, 6, 1, 2, 3]),
            (Rotate90FlipH, [1, 4, 2, 5, 3, 6]),
            (Rotate90, [4, 1, 5, 2, 6, 3]),
            (Rotate270FlipH, [6, 3, 5, 2, 4, 1]),
            (Rotate270, [3, 6, 2, 5, 1, 4]),
        ] {
            let mut reference = digits();
            reference.apply_orientation(orientation);
            let ours = orient(digits(), orientation).unwrap();
            assert_eq!(ours.as_bytes(), expected, "{orientation:?}");
            assert_eq!(ours, reference, "{orientation:?}");
        }
    }

    #[test]
    fn rotation_by_90_degrees_matches_the_reference_for_any_height() {
        for (width, height) in
            [(77, 45), (45, 77), (30, 2 * BAND as u32), (1, 300), (300, 1), (131, 3 * BAND as u32 + 1)]
        {
            let picture: DynamicImage =
                RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, (x * y) as u8])).into();
            assert_eq!(rotate_90(picture.clone(), QuarterTurn::Clockwise).unwrap(), picture.rotate90());
            assert_eq!(rotate_90(picture.clone(), QuarterTurn::Anticlockwise).unwrap(), picture.rotate270());
        }
    }

    #[test]
    fn a_crop_keeps_exactly_the_rectangle() {
        let big: DynamicImage =
            RgbImage::from_fn(77, 45, |x, y| Rgb([x as u8, y as u8, (x * y) as u8])).into();
        let rect = PixelRect { x: 5, y: 7, width: 40, height: 30 };
        assert_eq!(crop(big.clone(), rect).unwrap(), big.crop_imm(5, 7, 40, 30));
        assert!(crop(big, PixelRect { x: 60, ..rect }).is_err(), "outside");
    }
}
