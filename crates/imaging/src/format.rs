//! Image formats, recognised by the signature of the bytes. File names are ignored.

use std::fmt;

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Jpeg,
    Png,
    WebP,
    Gif,
    Bmp,
    Tiff,
    Heic,
    Avif,
}

/// The largest side that a JPEG encoder writes.
pub(crate) const JPEG_MAX_SIDE: u32 = 65_500;

impl Format {
    pub fn sniff(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0xFF, 0xD8, 0xFF, ..] => Some(Self::Jpeg),
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(Self::Png),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::WebP),
            // Canon's raw files use TIFF's signature but keep only a thumbnail where TIFF keeps the picture.
            [b'I', b'I', 42, 0, _, _, _, _, b'C', b'R', ..] => None,
            [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Some(Self::Tiff),
            [b'B', b'M', ..] => is_bmp(bytes).then_some(Self::Bmp),
            [_, _, _, _, b'f', b't', b'y', b'p', ..] => from_brands(bytes),
            _ => None,
        }
    }

    pub fn mime(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::WebP => "image/webp",
            Self::Gif => "image/gif",
            Self::Bmp => "image/bmp",
            Self::Tiff => "image/tiff",
            Self::Heic => "image/heic",
            Self::Avif => "image/avif",
        }
    }

    /// The reverse of [`Format::mime`].
    pub fn from_mime(mime: &str) -> Option<Self> {
        use Format::*;
        [Jpeg, Png, WebP, Gif, Bmp, Tiff, Heic, Avif].into_iter().find(|format| format.mime() == mime)
    }

    /// Without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Jpeg => "jpg",
            Self::Png => "png",
            Self::WebP => "webp",
            Self::Gif => "gif",
            Self::Bmp => "bmp",
            Self::Tiff => "tif",
            Self::Heic => "heic",
            Self::Avif => "avif",
        }
    }

    /// Whether [`decode`](crate::decode) can open it.
    pub fn is_editable(self) -> bool {
        match self {
            Self::Heic => cfg!(feature = "heic"),
            // There is no sound decoder under a permissive licence yet that builds without a C toolchain.
            Self::Avif => false,
            _ => true,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Jpeg => "JPEG",
            Self::Png => "PNG",
            Self::WebP => "WebP",
            Self::Gif => "GIF",
            Self::Bmp => "BMP",
            Self::Tiff => "TIFF",
            Self::Heic => "HEIC",
            Self::Avif => "AVIF",
        })
    }
}

/// Two letters are too weak a signature ("BMW is a car"): the size of the info header must be a valid one.
fn is_bmp(bytes: &[u8]) -> bool {
    let Some(size) = bytes.get(14..18) else {
        return false;
    };
    matches!(size, [12 | 16 | 40 | 52 | 56 | 64 | 108 | 124, 0, 0, 0])
}

/// The `ftyp` box of an ISO media file: its size, its name, the major brand, a version, compatible brands.
fn from_brands(bytes: &[u8]) -> Option<Format> {
    let size = u32::from_be_bytes(bytes.get(0..4)?.try_into().ok()?) as usize;
    let brands = bytes.get(8..size.clamp(12, 256).min(bytes.len()))?;
    let (major, rest) = brands.split_at_checked(4)?;
    let compatible = rest.get(4..).unwrap_or_default().as_chunks::<4>().0;
    let names = |wanted: &[&[u8; 4]]| {
        wanted.iter().any(|brand| major == brand.as_slice() || compatible.contains(brand))
    };
    if names(&[b"avif", b"avis"]) {
        Some(Format::Avif)
    } else if names(&[b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"]) {
        Some(Format::Heic)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_starts_like_a_signature_is_not_a_picture() {
        for text in
            ["BMW is a car maker from Munich", "GIF is a format", "II is two", "RIFF raff WEB", "", "B"]
        {
            assert_eq!(Format::sniff(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn a_video_in_the_same_container_is_not_a_picture() {
        assert_eq!(Format::sniff(b"\0\0\0\x18ftypisom\0\0\0\0isommp42"), None);
        assert_eq!(Format::sniff(b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic"), Some(Format::Heic));
    }
}
