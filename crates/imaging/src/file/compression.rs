//! How a source file was compressed, so that an edited copy loses little more quality and grows little.

use super::jpeg_segments::{QUANTISATION, SCAN, segments};
use crate::Format;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Lossless,
    /// Lossy in another way than JPEG, or unknown JPEG settings.
    Lossy,
    Jpeg(JpegSettings),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JpegSettings {
    /// Quality on libjpeg's scale, 1 to 100; the nearest one if the file uses other tables.
    pub quality: u8,
    pub chroma: Chroma,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chroma {
    /// One colour sample per pixel (4:4:4): thin coloured lines stay sharp.
    Full,
    /// Fewer colour samples than pixels, as cameras write.
    Subsampled,
}

impl Compression {
    pub fn detect(format: Format, bytes: &[u8]) -> Self {
        match format {
            Format::Jpeg => read_jpeg_settings(bytes).map_or(Self::Lossy, Self::Jpeg),
            Format::WebP if is_lossless_webp(bytes) => Self::Lossless,
            other => Self::expected(other),
        }
    }

    /// The usual compression of a format.
    pub fn expected(format: Format) -> Self {
        match format {
            Format::Jpeg | Format::WebP | Format::Heic | Format::Avif => Self::Lossy,
            Format::Png | Format::Gif | Format::Bmp | Format::Tiff => Self::Lossless,
        }
    }

    /// The quality for a JPEG made from this source: near that of the source, but high enough that losses do not add
    /// up and no higher than visible.
    pub fn edit_quality(self) -> u8 {
        match self {
            Self::Jpeg(settings) => settings.quality.clamp(MIN_EDIT_QUALITY, MAX_EDIT_QUALITY),
            Self::Lossless | Self::Lossy => DEFAULT_EDIT_QUALITY,
        }
    }

    pub fn chroma(self) -> Chroma {
        match self {
            Self::Jpeg(settings) => settings.chroma,
            Self::Lossless | Self::Lossy => Chroma::Subsampled,
        }
    }
}

const MIN_EDIT_QUALITY: u8 = 80;
const DEFAULT_EDIT_QUALITY: u8 = 90;
const MAX_EDIT_QUALITY: u8 = 95;

/// The luminance table that libjpeg scales by quality, in zigzag order.
const STANDARD_LUMINANCE: [u16; 64] = [
    16, 11, 12, 14, 12, 10, 16, 14, 13, 14, 18, 17, 16, 19, 24, 40, 26, 24, 22, 22, 24, 49, 35, 37, 29, 40,
    58, 51, 61, 60, 57, 51, 56, 55, 64, 72, 92, 78, 64, 68, 87, 69, 55, 56, 80, 109, 81, 87, 95, 98, 103,
    104, 103, 62, 77, 113, 121, 112, 100, 120, 92, 101, 103, 99,
];

fn read_jpeg_settings(bytes: &[u8]) -> Option<JpegSettings> {
    let mut tables = [None; 4];
    let mut chroma = Chroma::Subsampled;
    let mut luminance = 0;
    for segment in segments(bytes).take_while(|segment| segment.marker != SCAN) {
        if segment.marker == QUANTISATION {
            read_tables(segment.body, &mut tables);
        } else if segment.is_frame() {
            let components = segment.body.get(6..).unwrap_or_default().as_chunks::<3>().0;
            luminance = usize::from(components.first()?[2] & 3);
            if components.len() > 1 && components.iter().all(|component| component[1] == components[0][1]) {
                chroma = Chroma::Full;
            }
        }
    }
    Some(JpegSettings { quality: find_nearest_quality(&tables[luminance]?), chroma })
}

fn read_tables(mut body: &[u8], tables: &mut [Option<[u16; 64]>; 4]) {
    while let Some((&flags, rest)) = body.split_first() {
        let width = if flags >> 4 == 0 { 1 } else { 2 };
        let Some(values) = rest.get(..64 * width) else { return };
        let mut table = [0; 64];
        for (slot, value) in table.iter_mut().zip(values.chunks_exact(width)) {
            *slot = value.iter().fold(0, |sum, byte| sum << 8 | u16::from(*byte));
        }
        tables[usize::from(flags & 3)] = Some(table);
        body = &rest[64 * width..];
    }
}

fn find_nearest_quality(table: &[u16; 64]) -> u8 {
    let distance = |quality: u8| -> u32 {
        let percent = if quality < 50 { 5000 / u32::from(quality) } else { 200 - 2 * u32::from(quality) };
        let scaled = |base: u16| ((u32::from(base) * percent + 50) / 100).clamp(1, 255);
        STANDARD_LUMINANCE.iter().zip(table).map(|(base, q)| scaled(*base).abs_diff(u32::from(*q))).sum()
    };
    (1..=100).min_by_key(|quality| distance(*quality)).unwrap_or(DEFAULT_EDIT_QUALITY)
}

/// Whether the pixels (of the first frame, if there are several) are in a `VP8L` chunk.
fn is_lossless_webp(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(12..).unwrap_or_default();
    while let (Some(name), Some(&[a, b, c, d])) = (rest.get(..4), rest.get(4..8)) {
        match name {
            b"VP8L" => return true,
            b"VP8 " => return false,
            // An animation frame: its own header, then chunks like those of a still.
            b"ANMF" => rest = rest.get(8 + 16..).unwrap_or_default(),
            _ => {
                let length = u32::from_le_bytes([a, b, c, d]) as usize;
                rest = rest.get(8 + length + length % 2..).unwrap_or_default();
            }
        }
    }
    false
}
