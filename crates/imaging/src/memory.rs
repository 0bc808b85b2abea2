//! How much memory a picture takes, from its header: upper bounds for decoding, editing and encoding. The factors are
//! peaks that were measured, rounded up; `src/tools/tests/memory.rs` of the program measures them again.

use crate::{ConversionFormat, Format, MAX_ANIMATION_BYTES, Picture};

/// Bytes from the start of a file in which [`Footprint::read`] looks for what it needs.
pub const HEAD_BYTES: u64 = 256 << 10;

/// More than any memory holds, and few enough to multiply.
const MAX_PIXELS: u64 = 1 << 40;

/// An animation keeps its canvas, the last frame, the edited one and what the writer compares it with.
const FRAMES_PER_PIXEL: u64 = 24;

/// What decides how much memory a picture takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footprint {
    pixels: u64,
    file_bytes: u64,
    /// Of the decoded picture.
    bytes_per_pixel: u64,
    /// At the peak of decoding, with the decoded picture.
    decoding_per_pixel: u64,
    depth: Depth,
    /// Whether it is a photo without alpha, which is written as JPEG.
    opaque: bool,
    /// Whether it may be an animation, which is edited frame by frame.
    animated: bool,
}

/// Bytes of one sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Depth {
    Eight = 1,
    Sixteen = 2,
}

/// What an edit does with the memory of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditCost {
    /// Changes pixels where they are.
    InPlace,
    /// Computes other pixels: scaling, turning by any angle.
    Resample,
    /// Encodes the picture in another format.
    Convert { to: ConversionFormat, lossless: bool },
    /// Measures a picture and makes none.
    Measure,
    /// Runs an on-device model, which takes so many bytes beside the picture and its copies.
    Model { bytes: u64 },
}

impl Footprint {
    /// The most that a picture of this format and upright size may take.
    pub fn assume(format: Format, (width, height): (u32, u32), file_bytes: u64) -> Self {
        let depth = match format {
            Format::Png | Format::Tiff | Format::Heic => Depth::Sixteen,
            _ => Depth::Eight,
        };
        let channels = if format == Format::Jpeg { 3 } else { 4 };
        let found = Self {
            pixels: (u64::from(width) * u64::from(height)).min(MAX_PIXELS),
            file_bytes,
            bytes_per_pixel: channels * depth as u64,
            decoding_per_pixel: 0,
            depth,
            opaque: format == Format::Jpeg,
            animated: matches!(format, Format::Gif | Format::WebP),
        };
        Self { decoding_per_pixel: found.decoding_per_pixel(format), ..found }
    }

    /// The same with what the first [`HEAD_BYTES`] of the file say about depth, channels and storage.
    pub fn read(format: Format, size: (u32, u32), file_bytes: u64, head: &[u8]) -> Self {
        let assumed = Self::assume(format, size, file_bytes);
        match format {
            Format::Png => assumed.with_png_header(head),
            Format::Jpeg => match coefficients_per_pixel(head) {
                Some(coefficients) => {
                    Self { decoding_per_pixel: assumed.bytes_per_pixel + 1 + 2 * coefficients, ..assumed }
                }
                None => assumed,
            },
            Format::WebP if is_still_webp(head) => {
                Self { decoding_per_pixel: 10, animated: false, ..assumed }
            }
            Format::Heic if is_shallow_heic(head) => {
                let opaque = !head.windows(5).any(|word| word == b"alpha");
                Self { depth: Depth::Eight, bytes_per_pixel: 4, opaque, ..assumed }
            }
            _ => assumed,
        }
    }

    fn decoding_per_pixel(&self, format: Format) -> u64 {
        match format {
            // A progressive file keeps up to four coefficients of two bytes for each pixel.
            Format::Jpeg => self.bytes_per_pixel + 1 + 8,
            Format::Png | Format::Bmp => self.bytes_per_pixel + 1,
            Format::WebP | Format::Gif => FRAMES_PER_PIXEL,
            // Floating point, and the copy without it.
            Format::Tiff => 26,
            Format::Heic | Format::Avif => 22,
        }
    }

    fn with_png_header(self, head: &[u8]) -> Self {
        let (Some(bits), Some(kind)) = (head.get(24), head.get(25)) else { return self };
        let depth = if *bits == 16 { Depth::Sixteen } else { Depth::Eight };
        // A transparent colour may come later in the file and adds a channel.
        let channels = match kind {
            0 | 4 => 2,
            _ => 4,
        };
        let bytes_per_pixel = channels * depth as u64;
        Self { depth, bytes_per_pixel, decoding_per_pixel: bytes_per_pixel + 1, ..self }
    }

    /// The peak of decoding it, with its file.
    pub fn decoding(&self) -> u64 {
        self.file_bytes + self.pixels * self.decoding_per_pixel.max(self.bytes_per_pixel)
    }

    /// The peak of an edit of the decoded picture whose result has so many pixels, with encoding the result.
    pub fn editing(&self, cost: EditCost, result_pixels: u64) -> u64 {
        let result_pixels = result_pixels.min(MAX_PIXELS);
        let depth = self.depth as u64;
        // Colour or alpha may be added to a gray or opaque picture.
        let working = 4 * depth;
        let work = match cost {
            EditCost::InPlace => self.pixels * (working + 2 * depth),
            EditCost::Resample => {
                let source = if self.opaque { self.bytes_per_pixel } else { working + self.bytes_per_pixel };
                self.pixels * (source + working) + result_pixels * 9 * depth
            }
            EditCost::Convert { to, lossless } => {
                let extra = match to {
                    ConversionFormat::Jpeg => 6 * depth,
                    ConversionFormat::Png => 9 * depth,
                    ConversionFormat::WebP if lossless => 32,
                    ConversionFormat::WebP => 12,
                    ConversionFormat::Gif => 10,
                };
                return self.file_bytes + self.pixels * (self.bytes_per_pixel + extra);
            }
            EditCost::Model { bytes } => {
                // The pixels as the model takes them, a mask and what it made.
                self.pixels * (self.bytes_per_pixel + working + 6) + result_pixels * 9 * depth + bytes
            }
            EditCost::Measure => {
                return self.file_bytes + self.pixels * (self.bytes_per_pixel + 6 * depth);
            }
        };
        if self.animated {
            let growth = result_pixels.div_ceil(self.pixels.max(1)).max(1);
            let written =
                self.file_bytes.saturating_mul(3).saturating_mul(growth).min(2 * MAX_ANIMATION_BYTES);
            let frames = (self.pixels + result_pixels) * FRAMES_PER_PIXEL;
            return self.file_bytes + frames.max(work) + written;
        }
        let encoding = match (cost, self.opaque) {
            (EditCost::InPlace, true) => 4,
            _ if self.depth == Depth::Sixteen => 25,
            _ => 9,
        };
        self.file_bytes + work.max(result_pixels * encoding)
    }

    /// The picture that an edit makes from this one: as deep, and perhaps with alpha.
    pub fn edited(&self, cost: EditCost, (width, height): (u32, u32)) -> Self {
        let bytes_per_pixel = 4 * self.depth as u64;
        Self {
            pixels: (u64::from(width) * u64::from(height)).min(MAX_PIXELS),
            bytes_per_pixel: bytes_per_pixel.max(self.bytes_per_pixel),
            opaque: self.opaque && cost == EditCost::InPlace,
            ..*self
        }
    }

    /// A picture that is decoded already.
    pub fn of_picture(picture: &Picture) -> Self {
        let pixels = u64::from(picture.width()) * u64::from(picture.height());
        let color = picture.pixels().color();
        let is_deep = color.bytes_per_pixel() > color.channel_count();
        Self {
            pixels,
            file_bytes: 0,
            bytes_per_pixel: color.bytes_per_pixel().into(),
            decoding_per_pixel: 0,
            depth: if is_deep { Depth::Sixteen } else { Depth::Eight },
            opaque: picture.output_format() == Format::Jpeg,
            animated: false,
        }
    }

    pub fn pixels(&self) -> u64 {
        self.pixels
    }
}

/// Coefficients that a decoder keeps for each pixel, rounded up: none unless the file is progressive. `None` if the
/// frame header is not in this part of the file.
fn coefficients_per_pixel(head: &[u8]) -> Option<u64> {
    let mut rest = head.get(2..)?;
    loop {
        let (&[prefix, marker], after) = rest.split_first_chunk::<2>()?;
        if prefix != 0xFF || marker == 0xFF {
            rest = &rest[1..];
            continue;
        }
        if matches!(marker, 0x01 | 0xD0..=0xD8) {
            rest = after;
            continue;
        }
        let length = usize::from(u16::from_be_bytes(*after.first_chunk::<2>()?));
        let body = after.get(2..length)?;
        match marker {
            0xC0 | 0xC1 => return Some(0),
            0xC2 => {
                let factors = body.get(6..)?.chunks_exact(3).map(|component| {
                    let factor = component.get(1).copied().unwrap_or(0x11);
                    (u64::from(factor >> 4), u64::from(factor & 15))
                });
                let (across, down) = factors.clone().fold((1, 1), |(a, d), (h, v)| (a.max(h), d.max(v)));
                let all: u64 = factors.map(|(h, v)| h * v).sum();
                return Some(all.div_ceil(across * down));
            }
            0xC4 | 0xC8 | 0xCC => {}
            0xC3..=0xCF | 0xD9 | 0xDA => return None,
            _ => {}
        }
        rest = after.get(length..)?;
    }
}

fn is_still_webp(head: &[u8]) -> bool {
    const ANIMATION: u8 = 0x02;
    match head.get(12..16) {
        Some(b"VP8X") => head.get(20).is_some_and(|flags| flags & ANIMATION == 0),
        Some(b"VP8 " | b"VP8L") => true,
        _ => false,
    }
}

/// Whether every list of depths in the head names eight bits at most.
fn is_shallow_heic(head: &[u8]) -> bool {
    let boxes = head.windows(4).enumerate().filter(|(_, name)| name == b"pixi").map(|(at, _)| at);
    // After the name: version and flags, the number of channels, and the bits of each.
    let mut depths = boxes.map(|at| head.get(at + 9..at + 9 + usize::from(*head.get(at + 8)?)));
    let shallow = |bits: Option<&[u8]>| bits.is_some_and(|bits| bits.iter().all(|bits| *bits <= 8));
    depths.next().is_some_and(shallow) && depths.all(shallow)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: (u32, u32) = (1000, 1000);
    const PIXELS: u64 = 1_000_000;

    fn file(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../tests/images/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    fn read(name: &str) -> Footprint {
        let bytes = file(name);
        Footprint::read(Format::sniff(&bytes).unwrap(), SIZE, 0, &bytes)
    }

    #[test]
    fn depth_and_channels_of_a_png_count() {
        let deep = Footprint::assume(Format::Png, SIZE, 0);
        let (gray, color) = (read("png_16bit_gray_trns.png"), read("photo_astronaut.png"));
        assert_eq!(deep.decoding(), 9 * PIXELS);
        assert_eq!((gray.decoding(), color.decoding()), (5 * PIXELS, 5 * PIXELS));
        let edit = |of: Footprint| of.editing(EditCost::InPlace, PIXELS);
        assert_eq!(edit(gray), edit(deep), "colour may be drawn on it");
        assert!(edit(color) * 2 <= edit(deep));
    }

    #[test]
    fn only_progressive_files_keep_coefficients() {
        assert_eq!(read("photo_flower.jpg").decoding(), 4 * PIXELS);
        let progressive = read("made/progressive.jpg").decoding();
        assert!(((4 + 2 * 2) * PIXELS..=(4 + 2 * 3) * PIXELS).contains(&progressive), "{progressive}");
        assert_eq!(Footprint::assume(Format::Jpeg, SIZE, 7).decoding(), 12 * PIXELS + 7);
        assert_eq!(
            coefficients_per_pixel(&file("photo_flower.jpg")[..100]),
            None,
            "the frame header is later"
        );
    }

    #[test]
    fn an_animation_and_deep_colours_take_more() {
        assert_eq!(read("webp_alpha.webp").decoding(), 10 * PIXELS);
        assert_eq!(Footprint::assume(Format::WebP, SIZE, 0).decoding(), 24 * PIXELS);
        let (photo, assumed) = (read("photo_arrow.heic"), Footprint::assume(Format::Heic, SIZE, 0));
        let edit = |of: Footprint| of.editing(EditCost::InPlace, PIXELS);
        assert!(edit(photo) * 2 <= edit(assumed));
    }

    #[test]
    fn a_header_never_panics_and_never_takes_more_than_assumed() {
        for name in ["photo_flower.jpg", "made/progressive.jpg", "photo_astronaut.png", "png_palette8.png"] {
            let bytes = file(name);
            let format = Format::sniff(&bytes).unwrap();
            let assumed = Footprint::assume(format, SIZE, 0);
            for end in (0..bytes.len().min(2000)).step_by(7) {
                let read = Footprint::read(format, SIZE, 0, &bytes[..end]);
                assert!(read.decoding() <= assumed.decoding(), "{name} {end}");
            }
        }
    }
}
