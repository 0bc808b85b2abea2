//! Exact moves of whole pixels: flips, quarter turns and cuts. No sample is ever recomputed, so these are
//! lossless at any depth; most work in the buffer they are given.

use image::metadata::Orientation;
use image::{DynamicImage, ImageBuffer, Pixel};

use super::picture::map_buffer;
use super::{ImagingError, PixelRect};

type Buffer<P> = ImageBuffer<P, Vec<<P as Pixel>::Subpixel>>;

/// Tiles of this side keep both the rows read and the rows written of a quarter turn in the cache.
const TILE: usize = 32;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuarterTurn {
    Clockwise,
    Anticlockwise,
}

pub(super) fn orient(pixels: DynamicImage, orientation: Orientation) -> Result<DynamicImage, ImagingError> {
    match orientation {
        Orientation::NoTransforms => Ok(pixels),
        Orientation::Rotate90 => quarter_turn(pixels, QuarterTurn::Clockwise),
        Orientation::Rotate180 => half_turn(pixels),
        Orientation::Rotate270 => quarter_turn(pixels, QuarterTurn::Anticlockwise),
        Orientation::FlipHorizontal => mirror(pixels),
        Orientation::FlipVertical => upend(pixels),
        Orientation::Rotate90FlipH => mirror(quarter_turn(pixels, QuarterTurn::Clockwise)?),
        Orientation::Rotate270FlipH => mirror(quarter_turn(pixels, QuarterTurn::Anticlockwise)?),
    }
}

/// Left becomes right.
pub(super) fn mirror(pixels: DynamicImage) -> Result<DynamicImage, ImagingError> {
    map_buffer!(pixels, |buffer, N| {
        let mut buffer = buffer;
        let row = buffer.width() as usize * N;
        for row in buffer.chunks_exact_mut(row.max(1)) {
            row.as_chunks_mut::<N>().0.reverse();
        }
        Some(buffer)
    })
}

/// Top becomes bottom.
pub(super) fn upend(pixels: DynamicImage) -> Result<DynamicImage, ImagingError> {
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

pub(super) fn half_turn(pixels: DynamicImage) -> Result<DynamicImage, ImagingError> {
    map_buffer!(pixels, |buffer, N| {
        let mut buffer = buffer;
        buffer.as_chunks_mut::<N>().0.reverse();
        Some(buffer)
    })
}

pub(super) fn quarter_turn(pixels: DynamicImage, turn: QuarterTurn) -> Result<DynamicImage, ImagingError> {
    map_buffer!(pixels, |buffer, N| quarter_turn_buffer::<_, N>(&buffer, turn))
}

fn quarter_turn_buffer<P: Pixel, const N: usize>(source: &Buffer<P>, turn: QuarterTurn) -> Option<Buffer<P>> {
    let (width, height) = (source.width() as usize, source.height() as usize);
    let from = source.as_chunks::<N>().0;
    let mut turned = Buffer::<P>::new(source.height(), source.width());
    let to = turned.as_chunks_mut::<N>().0;
    for tile_y in (0..height).step_by(TILE) {
        for tile_x in (0..width).step_by(TILE) {
            for x in tile_x..(tile_x + TILE).min(width) {
                for y in tile_y..(tile_y + TILE).min(height) {
                    let at = match turn {
                        QuarterTurn::Clockwise => x * height + (height - 1 - y),
                        QuarterTurn::Anticlockwise => (width - 1 - x) * height + y,
                    };
                    to[at] = from[y * width + x];
                }
            }
        }
    }
    Some(turned)
}

/// Keeps `rect`, which must lie inside. The rows slide together in the buffer they are in: a fresh one would
/// cost more in page faults than the copy.
pub(super) fn cut(pixels: DynamicImage, rect: PixelRect) -> Result<DynamicImage, ImagingError> {
    map_buffer!(pixels, |buffer, N| {
        let stride = buffer.width() as usize * N;
        let (left, row) = (rect.x as usize * N, rect.width as usize * N);
        let inside = rect.right() <= buffer.width() && rect.bottom() <= buffer.height();
        let mut samples = buffer.into_raw();
        if inside {
            for y in 0..rect.height as usize {
                let start = (rect.y as usize + y) * stride + left;
                samples.copy_within(start..start + row, y * row);
            }
            samples.truncate(rect.height as usize * row);
        }
        ImageBuffer::from_raw(rect.width, rect.height, samples).filter(|_| inside)
    })
}

#[cfg(test)]
mod tests {
    use image::GrayImage;

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
    fn large_pictures_turn_like_the_reference_across_tiles() {
        let big: DynamicImage =
            image::RgbImage::from_fn(77, 45, |x, y| image::Rgb([x as u8, y as u8, (x * y) as u8])).into();
        assert_eq!(quarter_turn(big.clone(), QuarterTurn::Clockwise).unwrap(), big.rotate90());
        assert_eq!(quarter_turn(big.clone(), QuarterTurn::Anticlockwise).unwrap(), big.rotate270());
        let rect = PixelRect { x: 5, y: 7, width: 40, height: 30 };
        assert_eq!(cut(big.clone(), rect).unwrap(), big.crop_imm(5, 7, 40, 30));
        assert!(cut(big, PixelRect { x: 60, ..rect }).is_err(), "outside");
    }
}
