//! Reads frame count and loop count of an animation from the file structure; no frame is decoded.

/// The animation as the file's header describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AnimationHeader {
    pub frames: u64,
    /// As stored: 0 is endless. A GIF without a loop count plays once.
    pub loop_count: Option<u16>,
    pub lossless: bool,
}

#[cfg(test)]
pub(super) fn scan_gif(bytes: &[u8]) -> Option<AnimationHeader> {
    scan_gif_with_extent(bytes).map(|(header, _)| header)
}

/// Also returns the largest right and bottom of any frame.
pub(super) fn scan_gif_with_extent(bytes: &[u8]) -> Option<(AnimationHeader, (u32, u32))> {
    let mut extent = (0, 0);
    let mut header = AnimationHeader { frames: 0, loop_count: None, lossless: true };
    let mut rest = bytes.get(13 + color_table_length(*bytes.get(10)?)..)?;
    while let Some((&introducer, after)) = rest.split_first() {
        let blocks = match introducer {
            0x21 => {
                let blocks = after.get(1..).unwrap_or_default();
                if after.first() == Some(&0xFF) && blocks.get(1..12) == Some(b"NETSCAPE2.0") {
                    header.loop_count =
                        read_loop_count(blocks.get(12..).unwrap_or_default()).or(header.loop_count);
                }
                blocks
            }
            0x2C => {
                header.frames += 1;
                let number = |at: usize| {
                    let bytes =
                        [after.get(at), after.get(at + 1)].map(|byte| byte.copied().unwrap_or_default());
                    u32::from(u16::from_le_bytes(bytes))
                };
                let (right, bottom) = (number(0) + number(4), number(2) + number(6));
                extent = (extent.0.max(right), extent.1.max(bottom));
                let flags = after.get(8).copied().unwrap_or_default();
                after.get(10 + color_table_length(flags)..).unwrap_or_default()
            }
            _ => break,
        };
        let Some(next) = skip_blocks(blocks) else { break };
        rest = next;
    }
    (header.frames > 0).then_some((header, extent))
}

fn read_loop_count(block: &[u8]) -> Option<u16> {
    match block {
        [3..=u8::MAX, 1, low, high, ..] => Some(u16::from_le_bytes([*low, *high])),
        _ => None,
    }
}

fn color_table_length(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

fn skip_blocks(mut rest: &[u8]) -> Option<&[u8]> {
    loop {
        let (&length, after) = rest.split_first()?;
        rest = after.get(usize::from(length)..)?;
        if length == 0 {
            return Some(rest);
        }
    }
}

pub(super) fn scan_webp(bytes: &[u8]) -> Option<AnimationHeader> {
    let mut header = AnimationHeader { frames: 0, loop_count: None, lossless: false };
    for (name, body) in read_chunks(bytes.get(12..)?) {
        match name {
            b"ANIM" => header.loop_count = Some(u16::from_le_bytes(body.get(4..6)?.try_into().ok()?)),
            b"ANMF" => {
                header.frames += 1;
                let parts = read_chunks(body.get(16..).unwrap_or_default());
                header.lossless |= parts.into_iter().any(|(name, _)| name == b"VP8L");
            }
            _ => {}
        }
    }
    (header.frames > 0).then_some(header)
}

/// Names and bodies of consecutive RIFF chunks; stops at a truncated one.
pub(super) fn read_chunks(mut rest: &[u8]) -> Vec<(&[u8; 4], &[u8])> {
    let mut found = Vec::new();
    while let Some((name, after)) = rest.split_first_chunk::<4>() {
        let Some((length, after)) = after.split_first_chunk::<4>() else { break };
        let length = u32::from_le_bytes(*length) as usize;
        let Some(body) = after.get(..length) else { break };
        found.push((name, body));
        rest = after.get(length + length % 2..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ANIMATED_GIF: &[u8] = include_bytes!("../../../../tests/images/anim.gif");

    #[test]
    fn frames_are_counted_without_decoding_them() {
        assert_eq!(scan_gif(ANIMATED_GIF).map(|header| header.frames), Some(42));
        assert_eq!(scan_gif(&ANIMATED_GIF[..13]), None);
        assert!(
            scan_gif(&ANIMATED_GIF[..ANIMATED_GIF.len() / 2])
                .is_some_and(|header| header.frames > 5 && header.frames < 42)
        );
    }

    proptest! {
        #[test]
        fn parsing_any_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = scan_gif(&bytes);
            let _ = scan_webp(&bytes);
        }

        #[test]
        fn scanning_a_truncated_or_corrupted_animation_never_panics(at in 0usize..ANIMATED_GIF.len(), byte in any::<u8>()) {
            let _ = scan_gif(&ANIMATED_GIF[..at]);
            let mut bent = ANIMATED_GIF.to_vec();
            bent[at] = byte;
            let _ = scan_gif(&bent);
        }
    }
}
