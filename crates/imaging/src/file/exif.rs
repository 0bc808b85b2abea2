//! The Exif block of a file: found, made to tell the truth about upright pixels, and written into another file.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use exif::{In, Tag};
use image::codecs::{jpeg::JpegDecoder, png::PngDecoder, webp::WebPDecoder};
use image::{ImageDecoder, ImageResult};

use crate::Format;

/// What fits into one segment of a JPEG.
const LARGEST_BLOCK: usize = 65_500;
const ORIENTATION: u16 = 0x0112;

/// As a TIFF structure, without the prefix that some files add.
pub(crate) fn read_exif_block(bytes: &[u8], format: Format) -> Option<Vec<u8>> {
    let reader = Cursor::new(bytes);
    let block = catch_unwind(AssertUnwindSafe(|| -> ImageResult<Option<Vec<u8>>> {
        Ok(match format {
            Format::Jpeg => JpegDecoder::new(reader)?.exif_metadata()?,
            Format::Png => PngDecoder::new(reader)?.exif_metadata()?,
            Format::WebP => WebPDecoder::new(reader)?.exif_metadata()?,
            // The file itself is such a structure.
            Format::Tiff => Some(bytes.to_vec()),
            #[cfg(feature = "heic")]
            Format::Heic => super::heic::exif(bytes),
            _ => None,
        })
    }));
    let block = block.ok()?.ok()??;
    let bare = block.strip_prefix(b"Exif\0\0").map(<[u8]>::to_vec).unwrap_or(block);
    Some(bare).filter(|block| matches!(block.get(..4), Some(b"II*\0" | b"MM\0*")))
}

/// The same block for pixels that are already upright: no turn is asked for any more, and the small preview, which
/// was not turned, is unlinked.
fn upright(mut block: Vec<u8>) -> Option<Vec<u8>> {
    let little = block.starts_with(b"II");
    let u16_at = |block: &[u8], at: usize| -> Option<u16> {
        let pair: [u8; 2] = block.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let four: [u8; 4] = block.get(4..8)?.try_into().ok()?;
    let start = if little { u32::from_le_bytes(four) } else { u32::from_be_bytes(four) } as usize;
    let entries = usize::from(u16_at(&block, start)?);
    let mut turned = false;
    for entry in 0..entries {
        let at = start + 2 + entry * 12;
        if u16_at(&block, at)? == ORIENTATION {
            turned = u16_at(&block, at + 8)? != 1;
            let one = if little { [1, 0, 0, 0] } else { [0, 1, 0, 0] };
            block.get_mut(at + 8..at + 12)?.copy_from_slice(&one);
        }
    }
    if turned && let Some(next) = block.get_mut(start + 2 + entries * 12..start + 6 + entries * 12) {
        next.fill(0);
    }
    Some(block)
}

/// A block that fits another file. That of a TIFF is the whole file, pixels and all: only its fields are taken.
pub(crate) fn portable_exif(bytes: &[u8], format: Format) -> Option<Vec<u8>> {
    let block = read_exif_block(bytes, format)?;
    let block = if format == Format::Tiff { fields_only(block)? } else { upright(block)? };
    Some(block).filter(|block| block.len() <= LARGEST_BLOCK)
}

/// What a TIFF says of the picture, without what it says of how the pixels lie in the file.
fn fields_only(tiff: Vec<u8>) -> Option<Vec<u8>> {
    const TOLD: [Tag; 7] = [
        Tag::ImageDescription,
        Tag::Make,
        Tag::Model,
        Tag::Software,
        Tag::DateTime,
        Tag::Artist,
        Tag::Copyright,
    ];
    let read = read_exif(tiff)?;
    let tells = |tag: Tag| tag.context() != exif::Context::Tiff || TOLD.contains(&tag);
    let told: Vec<_> = read.fields().filter(|f| f.ifd_num == In::PRIMARY && tells(f.tag)).collect();
    let mut writer = exif::experimental::Writer::new();
    told.iter().for_each(|field| writer.push_field(field));
    let mut block = Cursor::new(Vec::new());
    writer.write(&mut block, true).ok()?;
    (!told.is_empty()).then(|| block.into_inner())
}

pub(crate) fn read_exif(block: Vec<u8>) -> Option<exif::Exif> {
    catch_unwind(|| {
        let mut reader = exif::Reader::new();
        reader.continue_on_error(true);
        match reader.read_raw(block) {
            Ok(read) => Some(read),
            // One broken field must not cost the others.
            Err(error) => error.distill_partial_result(|_| {}).ok(),
        }
    })
    .ok()
    .flatten()
}

/// The colour profile of a TIFF, which `image` does not find in every file.
pub(crate) fn tiff_profile(bytes: &[u8]) -> Option<Vec<u8>> {
    const PROFILE: Tag = Tag(exif::Context::Tiff, 0x8773);
    match &read_exif(bytes.to_vec())?.get_field(PROFILE, In::PRIMARY)?.value {
        exif::Value::Undefined(profile, _) | exif::Value::Byte(profile) => Some(profile.clone()),
        _ => None,
    }
}

/// Whether the block says where the picture was taken.
pub(crate) fn has_position(exif: &exif::Exif) -> bool {
    [Tag::GPSLatitude, Tag::GPSLongitude, Tag::GPSDestLatitude]
        .iter()
        .any(|tag| exif.get_field(*tag, In::PRIMARY).is_some())
}
