//! Pixel buffers that are done with wait here for the next picture: the first touch of fresh memory costs more than
//! most edits. They belong to the thread that let go of them, so that they end with it when there is nothing to do.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use image::DynamicImage;

use super::Picture;

/// Not worth keeping: small blocks are recycled by the allocator itself.
const LEAST: usize = 4 << 20;
/// Of all threads together.
const MOST_IN_ALL: usize = 96 << 20;

static KEPT: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static SPARE: RefCell<Spare> = const { RefCell::new(Spare(Vec::new())) };
}

struct Spare(Vec<u8>);

impl Spare {
    fn take(&mut self) -> Vec<u8> {
        let buffer = std::mem::take(&mut self.0);
        KEPT.fetch_sub(buffer.capacity(), Ordering::Relaxed);
        buffer
    }
}

impl Drop for Spare {
    fn drop(&mut self) {
        self.take();
    }
}

/// Lets go of a picture. Its memory goes to the next one made on this thread.
pub fn reuse(picture: Picture) {
    keep(picture.pixels);
}

pub(super) fn keep(pixels: DynamicImage) {
    let buffer = match pixels {
        DynamicImage::ImageLuma8(pixels) => pixels.into_raw(),
        DynamicImage::ImageLumaA8(pixels) => pixels.into_raw(),
        DynamicImage::ImageRgb8(pixels) => pixels.into_raw(),
        DynamicImage::ImageRgba8(pixels) => pixels.into_raw(),
        _ => return,
    };
    let size = buffer.capacity();
    if size < LEAST {
        return;
    }
    // A thread that is ending has nowhere to keep it.
    let _ = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        if spare.0.capacity() >= size {
            return;
        }
        spare.take();
        if KEPT.fetch_add(size, Ordering::Relaxed) + size > MOST_IN_ALL {
            KEPT.fetch_sub(size, Ordering::Relaxed);
        } else {
            spare.0 = buffer;
        }
    });
}

/// A buffer of this length. It is cleared, because a decoder may leave out what is missing in a damaged file, and
/// the last picture here may have been somebody else's.
pub(super) fn zeros(length: usize) -> Vec<u8> {
    let kept = SPARE.try_with(|spare| {
        let mut spare = spare.borrow_mut();
        // A much larger one would make a small picture hold on to it.
        let fits = (length..=length.saturating_mul(2)).contains(&spare.0.capacity());
        fits.then(|| spare.take())
    });
    match kept.ok().flatten() {
        Some(mut buffer) => {
            buffer.clear();
            buffer.resize(length, 0);
            buffer
        }
        None => vec![0; length],
    }
}

#[cfg(test)]
mod tests {
    use image::RgbImage;

    use super::*;
    use crate::Format;

    #[test]
    fn the_memory_of_one_picture_serves_the_next_of_about_its_size() {
        let pixels = RgbImage::from_pixel(2000, 1000, image::Rgb([9, 9, 9]));
        let place = pixels.as_ptr();
        reuse(Picture::new(pixels.into(), Format::Jpeg));
        let other = zeros(1000);
        assert_ne!(other.as_ptr(), place, "far too large for this");
        let other = zeros(7_000_000);
        assert_ne!(other.as_ptr(), place, "too small for this");
        let next = zeros(5_000_000);
        assert_eq!((next.len(), next.as_ptr()), (5_000_000, place));
        assert!(next.iter().all(|sample| *sample == 0), "nothing of the other picture is left");
        let other = zeros(5_000_000);
        assert_ne!(other.as_ptr(), place, "it is in use");
    }
}
