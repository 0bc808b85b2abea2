//! Reads just enough of a file's structure to know its size and orientation before any decoder runs. All reads are
//! bounds-checked and nothing is allocated.

use image::metadata::Orientation;

/// The picture as stored, before its orientation is applied.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StoredImage {
    pub width: u32,
    pub height: u32,
    /// The area that a decoder may have to allocate: larger than the picture if a frame reaches beyond its canvas.
    pub extent: (u32, u32),
    pub orientation: Orientation,
    pub animated: bool,
    pub alpha: bool,
}

impl StoredImage {
    pub fn still(width: u32, height: u32) -> Self {
        Self {
            width,
            height,
            extent: (width, height),
            orientation: Orientation::NoTransforms,
            animated: false,
            alpha: false,
        }
    }
}

/// The orientation of an Exif block, with or without the prefix that some writers add.
pub(crate) fn read_exif_orientation(exif: &[u8]) -> Orientation {
    let tiff = exif.strip_prefix(b"Exif\0\0").unwrap_or(exif);
    Orientation::from_exif_chunk(tiff).unwrap_or(Orientation::NoTransforms)
}

pub(crate) fn read_jpeg_header(bytes: &[u8]) -> Option<StoredImage> {
    let mut rest = bytes.get(2..)?;
    let mut orientation = None;
    loop {
        let (&[prefix, marker], after) = rest.split_first_chunk::<2>()?;
        if prefix != 0xFF || marker == 0xFF {
            // Padding and stray bytes between segments are common in real files.
            rest = &rest[1..];
            continue;
        }
        if matches!(marker, 0x00 | 0x01 | 0xD0..=0xD8) {
            rest = after;
            continue;
        }
        let length = usize::from(be16(after, 0)?);
        let body = after.get(2..length)?;
        match marker {
            0xD9 | 0xDA => return None,
            0xC4 | 0xC8 | 0xCC => {}
            0xC0..=0xCF => {
                let mut stored = StoredImage::still(be16(body, 3)?.into(), be16(body, 1)?.into());
                stored.orientation =
                    orientation.or_else(|| find_late_exif(&after[length..])).unwrap_or(stored.orientation);
                return Some(stored);
            }
            0xE1 if orientation.is_none() && body.starts_with(b"Exif\0\0") => {
                orientation = Some(read_exif_orientation(body));
            }
            _ => {}
        }
        rest = &after[length..];
    }
}

/// Some editors write the Exif segment after the frame header; it is valid there, too.
fn find_late_exif(mut rest: &[u8]) -> Option<Orientation> {
    while let Some((&[0xFF, marker], after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(be16(after, 0)?);
        let body = after.get(2..length)?;
        match marker {
            0xE1 if body.starts_with(b"Exif\0\0") => return Some(read_exif_orientation(body)),
            0xD9 | 0xDA => return None,
            _ => rest = &after[length..],
        }
    }
    None
}

pub(crate) fn read_png_header(bytes: &[u8]) -> Option<StoredImage> {
    let mut rest = bytes.get(8..)?;
    let mut stored = None;
    while let Some((name, body, after)) = read_png_chunk(rest) {
        match (name, &mut stored) {
            (b"IHDR", None) => {
                let mut header = StoredImage::still(be32(body, 0)?, be32(body, 4)?);
                header.alpha = matches!(body.get(9)?, 4 | 6);
                stored = Some(header);
            }
            (_, None) => return None,
            (b"tRNS", Some(header)) => header.alpha = true,
            (b"acTL", Some(header)) => header.animated = true,
            (b"eXIf", Some(header)) => header.orientation = read_exif_orientation(body),
            (b"IEND", Some(_)) => break,
            _ => {}
        }
        rest = after;
    }
    stored
}

/// Name, body and the rest. `None` if the body is cut short by the end of the file.
fn read_png_chunk(rest: &[u8]) -> Option<(&[u8; 4], &[u8], &[u8])> {
    let length = be32(rest, 0)? as usize;
    let name = rest.get(4..8)?.try_into().ok()?;
    let body = rest.get(8..)?.get(..length)?;
    Some((name, body, rest.get(8 + length + 4..).unwrap_or_default()))
}

pub(crate) fn read_gif_header(bytes: &[u8]) -> Option<StoredImage> {
    let mut stored = StoredImage::still(le16(bytes, 6)?.into(), le16(bytes, 8)?.into());
    // The GIF decoder always returns alpha, whether or not a colour is marked transparent.
    stored.alpha = true;
    stored.animated = scan_gif_frames(bytes, &mut stored.extent).unwrap_or(0) > 1;
    Some(stored)
}

/// Counts frames up to the second one, which is enough, and extends `extent` by the first.
fn scan_gif_frames(bytes: &[u8], extent: &mut (u32, u32)) -> Option<u32> {
    let mut frames = 0;
    let mut rest = bytes.get(13 + color_table_length(*bytes.get(10)?)..)?;
    while frames < 2 {
        let Some(&introducer) = rest.first() else { break };
        rest = match introducer {
            0x21 => rest.get(2..)?,
            0x2C => {
                frames += 1;
                if frames == 1 {
                    let end =
                        |start, length| Some(u32::from(le16(rest, start)?) + u32::from(le16(rest, length)?));
                    *extent = (extent.0.max(end(1, 5)?), extent.1.max(end(3, 7)?));
                }
                rest.get(11 + color_table_length(*rest.get(9)?)..)?
            }
            _ => break,
        };
        while let [length @ 1..=255, body @ ..] = rest {
            match body.get(usize::from(*length)..) {
                Some(after) => rest = after,
                None => return Some(frames),
            }
        }
        rest = rest.get(1..).unwrap_or_default();
    }
    Some(frames)
}

fn color_table_length(flags: u8) -> usize {
    if flags & 0x80 == 0 { 0 } else { 3 << ((flags & 7) + 1) }
}

/// HEIC and AVIF: the largest image in the property list (others are tiles and thumbnails), with its rotation if
/// there is one.
pub(crate) fn read_iso_media_header(bytes: &[u8]) -> Option<StoredImage> {
    let meta = find_iso_child(bytes, b"meta")?.get(4..)?;
    let mut properties = find_iso_child(find_iso_child(meta, b"iprp")?, b"ipco")?;
    let mut stored: Option<StoredImage> = None;
    let mut orientation = Orientation::NoTransforms;
    let mut alpha = false;
    while let Some((name, body, after)) = read_iso_box(properties) {
        match name {
            b"ispe" => {
                let found = StoredImage::still(be32(body, 4)?, be32(body, 8)?);
                let area = |s: &StoredImage| u64::from(s.width) * u64::from(s.height);
                if stored.as_ref().is_none_or(|s| area(s) < area(&found)) {
                    stored = Some(found);
                }
            }
            // Stored anticlockwise.
            b"irot" => {
                orientation = match body.first()? & 3 {
                    0 => Orientation::NoTransforms,
                    1 => Orientation::Rotate270,
                    2 => Orientation::Rotate180,
                    _ => Orientation::Rotate90,
                }
            }
            b"auxC" => alpha |= body.windows(5).any(|w| w == b"alpha"),
            _ => {}
        }
        properties = after;
    }
    let brand = bytes.get(8..12)?;
    stored.map(|s| StoredImage { orientation, alpha, animated: brand == b"avis" || brand == b"hevc", ..s })
}

fn find_iso_child<'a>(mut within: &'a [u8], wanted: &[u8; 4]) -> Option<&'a [u8]> {
    while let Some((name, body, after)) = read_iso_box(within) {
        if name == wanted {
            return Some(body);
        }
        within = after;
    }
    None
}

fn read_iso_box(rest: &[u8]) -> Option<(&[u8; 4], &[u8], &[u8])> {
    let name = rest.get(4..8)?.try_into().ok()?;
    let (start, size) = match be32(rest, 0)? {
        0 => (8, rest.len()),
        1 => (16, usize::try_from(u64::from_be_bytes(rest.get(8..16)?.try_into().ok()?)).ok()?),
        size => (8, size as usize),
    };
    Some((name, rest.get(start..size)?, &rest[size..]))
}

fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn le16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn parsing_any_bytes_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            for parse in [read_jpeg_header, read_png_header, read_gif_header, read_iso_media_header] {
                let _ = parse(&bytes);
            }
        }

        #[test]
        fn parsing_a_truncated_or_corrupted_file_never_panics(at in 0usize..6000, byte in any::<u8>()) {
            type Parse = fn(&[u8]) -> Option<StoredImage>;
            let files: [(&[u8], Parse); 4] = [
                (include_bytes!("../../../../tests/images/jpeg_gray.jpg"), read_jpeg_header),
                (include_bytes!("../../../../tests/images/png_16bit_gray_trns.png"), read_png_header),
                (include_bytes!("../../../../tests/images/bomb.gif"), read_gif_header),
                (include_bytes!("../../../../tests/images/photo.avif"), read_iso_media_header),
            ];
            for (file, parse) in files {
                let _ = parse(&file[..at.min(file.len())]);
                let mut corrupted = file.to_vec();
                if let Some(b) = corrupted.get_mut(at) {
                    *b = byte;
                }
                let _ = parse(&corrupted);
            }
        }
    }
}
