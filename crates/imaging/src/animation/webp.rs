//! Writes the frames of an animated WebP. libwebp encodes each frame; the container is written here, because
//! libwebp's animation encoder, as bound, needs all frames in memory at once and loses the delay of the last one.

use image::{RgbaImage, imageops};

use super::scan::read_chunks;
use crate::ImagingError;

const MAX_SIDE: u32 = 16_383;
const QUALITY: f32 = 85.0;
/// Delays are stored in three bytes.
const MAX_DELAY: u32 = (1 << 24) - 1;

pub(super) struct WebpWriter {
    size: (u32, u32),
    loop_count: u16,
    lossless: bool,
    alpha: bool,
    shown: Option<RgbaImage>,
    frames: Vec<u8>,
}

impl WebpWriter {
    pub fn new(size: (u32, u32), loop_count: u16, lossless: bool) -> Result<Self, ImagingError> {
        if size.0.max(size.1) > MAX_SIDE {
            return Err(ImagingError::BadArgument(format!(
                "A WebP has at most {MAX_SIDE} pixels per side, and this would be {}×{}.",
                size.0, size.1
            )));
        }
        Ok(Self { size, loop_count, lossless, alpha: false, shown: None, frames: Vec::new() })
    }

    pub fn size(&self) -> (u32, u32) {
        self.size
    }

    /// Written so far.
    pub fn bytes(&self) -> usize {
        self.frames.len()
    }

    pub fn add(&mut self, frame: RgbaImage, delay: u32) -> Result<(), ImagingError> {
        let changed = match &self.shown {
            None => (0, 0, self.size.0, self.size.1),
            // A frame without changes still takes its time.
            Some(shown) => super::find_changed_bounds(shown, &frame).unwrap_or((0, 0, 1, 1)),
        };
        // Frames can only start at even coordinates.
        let (left, top) = (changed.0 & !1, changed.1 & !1);
        let (width, height) = (changed.2 - left, changed.3 - top);
        let part = imageops::crop_imm(&frame, left, top, width, height).to_image();
        let still = webp::Encoder::from_rgba(&part, width, height)
            .encode_simple(self.lossless, QUALITY)
            .map_err(|error| ImagingError::failed(format!("{error:?}")))?;
        self.alpha |= part.pixels().any(|pixel| pixel.0[3] != u8::MAX);
        let mut body = Vec::with_capacity(still.len() + 16);
        for number in [left / 2, top / 2, width - 1, height - 1, delay.min(MAX_DELAY)] {
            body.extend(&number.to_le_bytes()[..3]);
        }
        // Flags: overwrite instead of blending, and do not dispose.
        body.push(0b10);
        for (name, content) in read_chunks(still.get(12..).unwrap_or_default()) {
            if matches!(name, b"ALPH" | b"VP8 " | b"VP8L") {
                push_chunk(&mut body, name, content);
            }
        }
        push_chunk(&mut self.frames, b"ANMF", &body);
        self.shown = Some(frame);
        Ok(())
    }

    pub fn finish(self) -> Result<Vec<u8>, ImagingError> {
        let mut content = b"WEBP".to_vec();
        let mut header = vec![if self.alpha { 0x12 } else { 0x02 }, 0, 0, 0];
        for side in [self.size.0, self.size.1] {
            header.extend(&(side - 1).to_le_bytes()[..3]);
        }
        push_chunk(&mut content, b"VP8X", &header);
        let mut animation = vec![0; 4];
        animation.extend(self.loop_count.to_le_bytes());
        push_chunk(&mut content, b"ANIM", &animation);
        content.extend(self.frames);
        if content.len() >= u32::MAX as usize {
            return Err(ImagingError::failed("a WebP of over 4 GB"));
        }
        let mut bytes = Vec::with_capacity(content.len() + 8);
        push_chunk(&mut bytes, b"RIFF", &content);
        Ok(bytes)
    }
}

fn push_chunk(into: &mut Vec<u8>, name: &[u8; 4], content: &[u8]) {
    into.extend(name);
    into.extend((content.len() as u32).to_le_bytes());
    into.extend(content);
    if content.len() % 2 == 1 {
        into.push(0);
    }
}
