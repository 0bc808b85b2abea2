//! Iterates over the segments of a JPEG file up to the end of its picture. Data after that end is never reached:
//! phones append further pictures, such as gain maps and depth maps.

pub(crate) const APP0: u8 = 0xE0;
pub(crate) const APP1: u8 = 0xE1;
pub(crate) const APP2: u8 = 0xE2;
pub(crate) const APP14: u8 = 0xEE;
pub(crate) const APP15: u8 = 0xEF;
pub(crate) const COMMENT: u8 = 0xFE;
pub(crate) const QUANTISATION: u8 = 0xDB;
pub(crate) const SCAN: u8 = 0xDA;
const END: u8 = 0xD9;

#[derive(Debug, Clone, Copy)]
pub(crate) struct Segment<'a> {
    pub marker: u8,
    pub body: &'a [u8],
    /// Offsets of the marker and of the end of the body in the file.
    pub start: usize,
    pub end: usize,
}

impl Segment<'_> {
    /// Whether the segment is a frame header, with the size and the components of the picture.
    pub fn is_frame(&self) -> bool {
        matches!(self.marker, 0xC0..=0xCF) && !matches!(self.marker, 0xC4 | 0xC8 | 0xCC)
    }
}

/// Ends where the picture ends, or where the file is cut off.
pub(crate) fn segments(bytes: &[u8]) -> impl Iterator<Item = Segment<'_>> {
    let mut at = 2;
    std::iter::from_fn(move || {
        loop {
            let &[prefix, marker] = bytes.get(at..at + 2)? else { return None };
            match (prefix, marker) {
                (0xFF, END) => return None,
                // Stuffed bytes and restart markers within a scan; stand-alone markers.
                (0xFF, 0x00 | 0x01 | 0xD0..=0xD8) => at += 2,
                (0xFF, 0x02..=0xFE) => {
                    let length = bytes.get(at + 2..at + 4)?;
                    let end = at + 2 + usize::from(u16::from_be_bytes([length[0], length[1]]));
                    let segment = Segment { marker, body: bytes.get(at + 4..end)?, start: at, end };
                    at = end;
                    return Some(segment);
                }
                // Samples of a scan; padding and stray bytes between segments, common in real files.
                _ => at += 1,
            }
        }
    })
}
