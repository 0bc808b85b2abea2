//! Frame count and duration of an animation, from the file structure alone.

use crate::Format;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnimationInfo {
    pub frames: u32,
    pub milliseconds: u64,
}

/// Players show frames without a delay for this many milliseconds.
const DEFAULT_FRAME_MILLISECONDS: u64 = 100;

/// `None` for a still.
pub(super) fn read_animation(bytes: &[u8], format: Format) -> Option<AnimationInfo> {
    let mut motion = AnimationInfo { frames: 0, milliseconds: 0 };
    // A truncated file still has the frames before the cut.
    let _ = match format {
        Format::Gif => gif(bytes, &mut motion),
        Format::WebP => webp(bytes, &mut motion),
        Format::Png => png(bytes, &mut motion),
        _ => None,
    };
    (motion.frames > 1).then_some(motion)
}

impl AnimationInfo {
    fn add(&mut self, milliseconds: u64) {
        self.frames = self.frames.saturating_add(1);
        self.milliseconds += if milliseconds <= 10 { DEFAULT_FRAME_MILLISECONDS } else { milliseconds };
    }
}

fn gif(bytes: &[u8], motion: &mut AnimationInfo) -> Option<()> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table(*bytes.get(10)?);
    let mut delay = 0;
    loop {
        match *bytes.get(at)? {
            0x21 => {
                if *bytes.get(at + 1)? == 0xF9 {
                    delay = u64::from(u16::from_le_bytes(bytes.get(at + 4..at + 6)?.try_into().ok()?)) * 10;
                }
                at += 2;
            }
            0x2C => {
                motion.add(std::mem::take(&mut delay));
                at += 11 + table(*bytes.get(at + 9)?);
            }
            _ => return Some(()),
        }
        while let length @ 1.. = usize::from(*bytes.get(at)?) {
            at += 1 + length;
        }
        at += 1;
    }
}

fn webp(bytes: &[u8], motion: &mut AnimationInfo) -> Option<()> {
    let mut rest = bytes.get(12..)?;
    loop {
        let length = u32::from_le_bytes(rest.get(4..8)?.try_into().ok()?) as usize;
        if rest.starts_with(b"ANMF") {
            let &[a, b, c] = rest.get(8 + 12..8 + 15)? else { return None };
            motion.add(u64::from(u32::from_le_bytes([a, b, c, 0])));
        }
        rest = rest.get(8 + length + length % 2..)?;
    }
}

fn png(bytes: &[u8], motion: &mut AnimationInfo) -> Option<()> {
    let mut rest = bytes.get(8..)?;
    loop {
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        if rest.get(4..8)? == b"fcTL" {
            let part = |at: usize| {
                Some(u64::from(u16::from_be_bytes(rest.get(8 + at..8 + at + 2)?.try_into().ok()?)))
            };
            let per = match part(22)? {
                0 => 100,
                per => per,
            };
            motion.add(part(20)? * 1000 / per);
        }
        rest = rest.get(12 + length..)?;
    }
}
