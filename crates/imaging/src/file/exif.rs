//! The Exif block of a file: reading it, and preparing it for another file with upright pixels.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use exif::{In, Tag};
use image::codecs::{jpeg::JpegDecoder, png::PngDecoder, webp::WebPDecoder};
use image::{ImageDecoder, ImageResult};

use crate::Format;

/// The most that fits into one JPEG segment.
const MAX_EXIF_BYTES: usize = 65_500;
const ORIENTATION_TAG: u16 = 0x0112;

/// The block as a TIFF structure, without the prefix that some files add.
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
            Format::Heic => super::heic::read_heic_exif(bytes),
            _ => None,
        })
    }));
    let block = block.ok()?.ok()??;
    let bare = block.strip_prefix(b"Exif\0\0").map(<[u8]>::to_vec).unwrap_or(block);
    Some(bare).filter(|block| matches!(block.get(..4), Some(b"II*\0" | b"MM\0*")))
}

/// The same block for upright pixels: orientation is reset, and the embedded thumbnail, which was not turned, is
/// unlinked.
fn reset_orientation(mut block: Vec<u8>) -> Option<Vec<u8>> {
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
        if u16_at(&block, at)? == ORIENTATION_TAG {
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

/// A block that fits another file. The block of a TIFF is the whole file with its pixels, so only its fields are
/// copied.
pub(crate) fn read_portable_exif(bytes: &[u8], format: Format) -> Option<Vec<u8>> {
    let block = read_exif_block(bytes, format)?;
    let block =
        if format == Format::Tiff { copy_descriptive_fields(block)? } else { reset_orientation(block)? };
    Some(block).filter(|block| block.len() <= MAX_EXIF_BYTES)
}

/// The descriptive fields of a TIFF, without those about the storage of its pixels.
fn copy_descriptive_fields(tiff: Vec<u8>) -> Option<Vec<u8>> {
    const DESCRIPTIVE_TAGS: [Tag; 7] = [
        Tag::ImageDescription,
        Tag::Make,
        Tag::Model,
        Tag::Software,
        Tag::DateTime,
        Tag::Artist,
        Tag::Copyright,
    ];
    let read = read_exif(tiff)?;
    let is_kept = |tag: Tag| tag.context() != exif::Context::Tiff || DESCRIPTIVE_TAGS.contains(&tag);
    let kept: Vec<_> = read.fields().filter(|f| f.ifd_num == In::PRIMARY && is_kept(f.tag)).collect();
    let mut writer = exif::experimental::Writer::new();
    kept.iter().for_each(|field| writer.push_field(field));
    let mut block = Cursor::new(Vec::new());
    writer.write(&mut block, true).ok()?;
    (!kept.is_empty()).then(|| block.into_inner())
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
pub(crate) fn read_tiff_profile(bytes: &[u8]) -> Option<Vec<u8>> {
    const ICC_PROFILE_TAG: Tag = Tag(exif::Context::Tiff, 0x8773);
    match &read_exif(bytes.to_vec())?.get_field(ICC_PROFILE_TAG, In::PRIMARY)?.value {
        exif::Value::Undefined(profile, _) | exif::Value::Byte(profile) => Some(profile.clone()),
        _ => None,
    }
}

/// Whether the block contains a GPS position.
pub(crate) fn has_position(exif: &exif::Exif) -> bool {
    [Tag::GPSLatitude, Tag::GPSLongitude, Tag::GPSDestLatitude]
        .iter()
        .any(|tag| exif.get_field(*tag, In::PRIMARY).is_some())
}
