//! Buffer pool for pixels: the memory of a finished picture serves the next one made on the same thread. The first
//! touch of fresh memory costs more than most edits. A pooled buffer is freed when its thread ends.

use std::cell::RefCell;
use std::sync::atomic::{AtomicUsize, Ordering};

use image::DynamicImage;

/// Smaller buffers are not pooled: the allocator itself recycles them.
const MIN_POOLED_BYTES: usize = 4 << 20;
/// The total over all threads.
const MAX_POOLED_BYTES: usize = 96 << 20;

static POOLED_BYTES: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static POOLED: RefCell<PooledBuffer> = const { RefCell::new(PooledBuffer(Vec::new())) };
}

/// The one buffer that a thread keeps; empty if it keeps none.
struct PooledBuffer(Vec<u8>);

impl PooledBuffer {
    fn take(&mut self) -> Vec<u8> {
        let buffer = std::mem::take(&mut self.0);
        POOLED_BYTES.fetch_sub(buffer.capacity(), Ordering::Relaxed);
        buffer
    }
}

impl Drop for PooledBuffer {
    fn drop(&mut self) {
        self.take();
    }
}

/// Keeps the memory of these pixels for the next [`take_zeroed`] on this thread.
pub(crate) fn recycle(pixels: DynamicImage) {
    let buffer = match pixels {
        DynamicImage::ImageLuma8(pixels) => pixels.into_raw(),
        DynamicImage::ImageLumaA8(pixels) => pixels.into_raw(),
        DynamicImage::ImageRgb8(pixels) => pixels.into_raw(),
        DynamicImage::ImageRgba8(pixels) => pixels.into_raw(),
        _ => return,
    };
    let size = buffer.capacity();
    if size < MIN_POOLED_BYTES {
        return;
    }
    // Fails on a thread that is ending: the buffer is freed then.
    let _ = POOLED.try_with(|pooled| {
        let mut pooled = pooled.borrow_mut();
        if pooled.0.capacity() >= size {
            return;
        }
        pooled.take();
        if POOLED_BYTES.fetch_add(size, Ordering::Relaxed) + size > MAX_POOLED_BYTES {
            POOLED_BYTES.fetch_sub(size, Ordering::Relaxed);
        } else {
            pooled.0 = buffer;
        }
    });
}

/// A buffer of this length, all zeros. Clearing it matters: a decoder may leave out parts of a damaged file, and the
/// last picture in this memory may belong to another person.
pub(crate) fn take_zeroed(length: usize) -> Vec<u8> {
    let pooled = POOLED.try_with(|pooled| {
        let mut pooled = pooled.borrow_mut();
        // A much larger buffer would waste memory on a small picture.
        let fits = (length..=length.saturating_mul(2)).contains(&pooled.0.capacity());
        fits.then(|| pooled.take())
    });
    match pooled.ok().flatten() {
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

    #[test]
    fn a_recycled_buffer_is_reused_for_a_picture_of_about_its_size() {
        let pixels = RgbImage::from_pixel(2000, 1000, image::Rgb([9, 9, 9]));
        let address = pixels.as_ptr();
        recycle(pixels.into());
        let other = take_zeroed(1000);
        assert_ne!(other.as_ptr(), address, "the pooled buffer is far too large");
        let other = take_zeroed(7_000_000);
        assert_ne!(other.as_ptr(), address, "the pooled buffer is too small");
        let next = take_zeroed(5_000_000);
        assert_eq!((next.len(), next.as_ptr()), (5_000_000, address));
        assert!(next.iter().all(|sample| *sample == 0), "nothing of the other picture is left");
        let other = take_zeroed(5_000_000);
        assert_ne!(other.as_ptr(), address, "it is in use");
    }
}
