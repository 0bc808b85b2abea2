//! How large a picture may be. Checked before memory is allocated for its pixels.

/// The largest picture that may be decoded or made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub max_pixels: u64,
    pub max_side: u32,
}

/// A picture is larger than the [`Limits`] allow. The text is for the person or model that asked for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "This picture would be {width}×{height} pixels, which is too large: at most {} megapixels and \
     {} pixels per side are allowed. Use a smaller one.",
    .limits.max_pixels / 1_000_000, .limits.max_side
)]
pub struct TooLarge {
    pub width: u32,
    pub height: u32,
    pub limits: Limits,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_pixels: 100_000_000, max_side: 30_000 }
    }
}

impl Limits {
    pub fn check(&self, width: u32, height: u32) -> Result<(), TooLarge> {
        if width.max(height) > self.max_side || u64::from(width) * u64::from(height) > self.max_pixels {
            return Err(TooLarge { width, height, limits: *self });
        }
        Ok(())
    }

    pub(crate) fn for_decoder(&self) -> image::Limits {
        let mut limits = image::Limits::default();
        limits.max_image_width = Some(self.max_side);
        limits.max_image_height = Some(self.max_side);
        // Four 16-bit channels, plus the decoder's own tables.
        limits.max_alloc = Some(self.max_pixels.saturating_mul(8).saturating_add(64 << 20));
        limits
    }
}
