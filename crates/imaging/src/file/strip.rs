//! Removes metadata from files without decoding their pixels. Everything needed to show the picture stays: colour
//! profile, palette, animation.

use img_parts::webp::{CHUNK_EXIF, CHUNK_XMP, WebP};
use img_parts::{Bytes, ImageEXIF as _};

use super::jpeg_segments::{APP0, APP1, APP2, APP14, APP15, COMMENT, SCAN, segments};
use crate::Format;

/// `None` for a file with a broken structure: it must be re-encoded instead.
pub(crate) fn strip_metadata(bytes: &[u8], format: Format) -> Option<Vec<u8>> {
    match format {
        Format::Jpeg => jpeg(bytes),
        Format::Png => png(bytes),
        Format::WebP => webp(bytes),
        Format::Gif => gif(bytes),
        Format::Bmp | Format::Tiff | Format::Heic | Format::Avif => None,
    }
}

fn jpeg(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut kept = bytes.get(..2)?.to_vec();
    let mut end = 2;
    let mut scanned = false;
    for segment in segments(bytes) {
        if scanned {
            kept.extend(&bytes[end..segment.start]);
        }
        end = segment.end;
        let keep = match segment.marker {
            // Longer JFIF segments hold a thumbnail.
            APP0 => segment.body.starts_with(b"JFIF\0") && segment.body.len() == 14,
            APP2 => segment.body.starts_with(b"ICC_PROFILE\0"),
            // Defines how the colours are stored.
            APP14 => segment.body.starts_with(b"Adobe"),
            APP1..=APP15 | COMMENT => false,
            _ => true,
        };
        if keep {
            kept.extend(&bytes[segment.start..segment.end]);
        }
        scanned |= segment.marker == SCAN;
    }
    let samples = bytes.get(end..)?;
    let length = samples.windows(2).position(|pair| pair == [0xFF, 0xD9])?;
    kept.extend(&samples[..length + 2]);
    scanned.then_some(kept)
}

/// The chunks needed to show a PNG or APNG. All others are removed, because they may hold metadata.
const DISPLAY_CHUNKS: [&[u8]; 15] = [
    b"IHDR", b"PLTE", b"IDAT", b"IEND", b"tRNS", b"iCCP", b"sRGB", b"gAMA", b"cHRM", b"cICP", b"sBIT",
    b"pHYs", b"acTL", b"fcTL", b"fdAT",
];

fn png(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut kept = bytes.get(..8)?.to_vec();
    let mut rest = &bytes[8..];
    loop {
        let length = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?) as usize;
        let name = rest.get(4..8)?;
        let chunk = rest.get(..length.checked_add(12)?)?;
        if DISPLAY_CHUNKS.contains(&name) {
            kept.extend(chunk);
        }
        if name == b"IEND" {
            return Some(kept);
        }
        rest = &rest[chunk.len()..];
    }
}

fn webp(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut file = WebP::from_bytes(Bytes::copy_from_slice(bytes)).ok()?;
    file.remove_chunks_by_id(CHUNK_EXIF);
    file.remove_chunks_by_id(CHUNK_XMP);
    // Also updates the flags in the header.
    file.set_exif(None);
    Some(file.encoder().bytes().to_vec())
}

/// Removes comments and application data, except for the loop count.
fn gif(bytes: &[u8]) -> Option<Vec<u8>> {
    let table = |flags: u8| if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) };
    let mut at = 13 + table(*bytes.get(10)?);
    let mut kept = bytes.get(..at)?.to_vec();
    loop {
        let start = at;
        let keep = match *bytes.get(at)? {
            0x21 => {
                at += 2;
                let repeats = bytes.get(start + 3..start + 14) == Some(b"NETSCAPE2.0");
                match *bytes.get(start + 1)? {
                    0xFF => repeats,
                    0xFE => false,
                    _ => true,
                }
            }
            0x2C => {
                at += 11 + table(*bytes.get(at + 9)?);
                true
            }
            0x3B => {
                kept.push(0x3B);
                return Some(kept);
            }
            _ => return None,
        };
        loop {
            let length = usize::from(*bytes.get(at)?);
            at += 1 + length;
            if length == 0 {
                break;
            }
        }
        if keep {
            kept.extend(bytes.get(start..at)?);
        }
    }
}
