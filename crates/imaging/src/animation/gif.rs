//! Writes the frames of a GIF. Each frame stores only the pixels that changed; the rest is transparent. A frame is
//! held back until the next one is known, because it may have to be cleared for it.

use gif::{DisposalMethod, Encoder, Frame, Repeat};
use image::{Rgba, RgbaImage};

use crate::{EditContext, ImagingError, palette};

/// Pixels count as opaque from this alpha on: GIF has no partial transparency.
const MIN_OPAQUE_ALPHA: u8 = 128;

pub(super) struct GifWriter {
    encoder: Encoder<Vec<u8>>,
    size: (u32, u32),
    /// The canvas before the held frame is drawn.
    below: RgbaImage,
    held: Option<(RgbaImage, u16)>,
}

impl GifWriter {
    pub fn new(size: (u32, u32), loop_count: Option<u16>) -> Result<Self, ImagingError> {
        let too_large = |_| ImagingError::BadArgument("A GIF has at most 65535 pixels per side.".to_owned());
        let width = u16::try_from(size.0).map_err(too_large)?;
        let height = u16::try_from(size.1).map_err(too_large)?;
        let mut encoder = Encoder::new(Vec::new(), width, height, &[]).map_err(ImagingError::failed)?;
        match loop_count {
            None => {}
            Some(0) => encoder.set_repeat(Repeat::Infinite).map_err(ImagingError::failed)?,
            Some(loop_count) => {
                encoder.set_repeat(Repeat::Finite(loop_count)).map_err(ImagingError::failed)?
            }
        }
        Ok(Self { encoder, size, below: RgbaImage::new(size.0, size.1), held: None })
    }

    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Written so far.
    pub fn bytes(&self) -> usize {
        self.encoder.get_ref().len()
    }

    pub fn add(
        &mut self,
        mut frame: RgbaImage,
        delay: u32,
        context: &EditContext,
    ) -> Result<(), ImagingError> {
        for pixel in frame.pixels_mut() {
            *pixel = match pixel.0 {
                [r, g, b, MIN_OPAQUE_ALPHA..=u8::MAX] => Rgba([r, g, b, 255]),
                _ => Rgba([0; 4]),
            };
        }
        if let Some((held, held_delay)) = self.held.take() {
            let uncovers = held.pixels().zip(frame.pixels()).any(|(old, new)| old.0[3] > new.0[3]);
            self.write(held, held_delay, uncovers, context)?;
        }
        let hundredths = delay.saturating_add(5) / 10;
        self.held = Some((frame, u16::try_from(hundredths).unwrap_or(u16::MAX)));
        Ok(())
    }

    pub fn finish(mut self, context: &EditContext) -> Result<Vec<u8>, ImagingError> {
        if let Some((held, delay)) = self.held.take() {
            self.write(held, delay, false, context)?;
        }
        self.encoder.into_inner().map_err(ImagingError::failed)
    }

    /// `clear` empties the canvas after the frame, so the frame must cover all of it.
    fn write(
        &mut self,
        frame: RgbaImage,
        delay: u16,
        clear: bool,
        context: &EditContext,
    ) -> Result<(), ImagingError> {
        let whole = (0, 0, self.size.0, self.size.1);
        // A frame without changes still takes its time.
        let part = if clear {
            whole
        } else {
            super::find_changed_bounds(&self.below, &frame).unwrap_or((0, 0, 1, 1))
        };
        let (left, top, right, bottom) = part;
        let new = RgbaImage::from_fn(right - left, bottom - top, |x, y| {
            let (old, new) = (self.below.get_pixel(left + x, top + y), frame.get_pixel(left + x, top + y));
            if new == old { Rgba([0; 4]) } else { *new }
        });
        let indexed = palette::quantize(&new, context)?;
        let stored = Frame {
            delay,
            dispose: if clear { DisposalMethod::Background } else { DisposalMethod::Keep },
            transparent: indexed.transparent,
            left: left as u16,
            top: top as u16,
            width: (right - left) as u16,
            height: (bottom - top) as u16,
            palette: Some(indexed.palette),
            buffer: indexed.indices.into(),
            ..Frame::default()
        };
        self.encoder.write_frame(&stored).map_err(ImagingError::failed)?;
        self.below = if clear { RgbaImage::new(self.size.0, self.size.1) } else { frame };
        Ok(())
    }
}
