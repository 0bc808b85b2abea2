//! Decodes JPEG into pooled memory, and only as many rows as needed.

use image::error::{
    DecodingError, ImageFormatHint, LimitError, LimitErrorKind, UnsupportedError, UnsupportedErrorKind,
};
use image::{DynamicImage, ImageBuffer, ImageError, ImageFormat, ImageResult};
use zune_jpeg::JpegDecoder;
use zune_jpeg::errors::DecodeErrors;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use crate::{Limits, buffer_pool};

/// The pixels as stored, and the colour profile. With `rows`, decodes only about that many rows from the top if the
/// file allows it; never fewer.
pub(super) fn read(
    bytes: &[u8],
    rows: Option<u32>,
    limits: &Limits,
) -> ImageResult<(DynamicImage, Option<Vec<u8>>)> {
    let shorter = rows.and_then(|rows| truncate_rows(bytes, rows));
    let bytes = shorter.as_deref().unwrap_or(bytes);
    let options = DecoderOptions::default()
        .set_strict_mode(false)
        .set_max_width(limits.max_side as usize)
        .set_max_height(limits.max_side as usize);
    let open = |space| {
        let options = options.jpeg_set_out_colorspace(space);
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
        decoder.decode_headers().map(|()| decoder)
    };
    let mut space = ColorSpace::RGB;
    let mut decoder = open(space).map_err(map_decoder_error)?;
    if decoder.input_colorspace() == Some(ColorSpace::Luma) {
        space = ColorSpace::Luma;
        decoder = open(space).map_err(map_decoder_error)?;
    }
    let (width, height) = decoder.dimensions().unwrap_or_default();
    let (width, height) = (width as u32, height as u32);
    // The decoder may read another size than our own header parser; its size is what gets allocated.
    let length = decoder.output_buffer_size().filter(|_| limits.check(width, height).is_ok());
    let length =
        length.ok_or_else(|| ImageError::Limits(LimitError::from_kind(LimitErrorKind::DimensionError)))?;
    let mut samples = buffer_pool::take_zeroed(length);
    decoder.decode_into(&mut samples).map_err(map_decoder_error)?;
    let pixels = match space {
        ColorSpace::Luma => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageLuma8),
        _ => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgb8),
    };
    let pixels = pixels
        .ok_or_else(|| map_decoder_error(DecodeErrors::FormatStatic("pixels of an unexpected size")))?;
    Ok((pixels, decoder.icc_profile()))
}

fn map_decoder_error(error: DecodeErrors) -> ImageError {
    let format = ImageFormatHint::Exact(ImageFormat::Jpeg);
    match error {
        DecodeErrors::Unsupported(what) => {
            let kind = UnsupportedErrorKind::GenericFeature(format!("{what:?}"));
            ImageError::Unsupported(UnsupportedError::from_format_and_kind(format, kind))
        }
        DecodeErrors::LargeDimensions(_) => {
            ImageError::Limits(LimitError::from_kind(LimitErrorKind::DimensionError))
        }
        other => ImageError::Decoding(DecodingError::new(format, format!("{other:?}"))),
    }
}

/// A copy of the file whose header claims fewer rows, so that a decoder stops after them. `None` if that saves
/// nothing, or if rows are not stored in order (progressive, or one scan per colour).
fn truncate_rows(bytes: &[u8], rows: u32) -> Option<Vec<u8>> {
    let mut at = 2;
    let mut frame = None;
    loop {
        let &[0xFF, marker, high, low] = bytes.get(at..)?.first_chunk::<4>()? else { return None };
        let length = usize::from(u16::from_be_bytes([high, low]));
        let body = bytes.get(at + 4..(at + 2).checked_add(length)?)?;
        match marker {
            0xC0 | 0xC1 => {
                let &[_, high, low, _, _, components] = body.first_chunk::<6>()?;
                let factors = body.get(6..)?.chunks_exact(3).map(|component| u32::from(component[1] & 15));
                let unit = 8 * factors.max()?;
                // One more row of units, because colours are smoothed across unit edges.
                let shorter = rows.div_ceil(unit).checked_add(1)?.checked_mul(unit)?;
                let stored = u32::from(u16::from_be_bytes([high, low]));
                let shorter = u16::try_from(shorter).ok().filter(|rows| u32::from(*rows) < stored)?;
                frame = Some((at + 5, shorter, components));
            }
            0xC2 | 0xC3 | 0xC5..=0xC7 | 0xC9..=0xCF => return None,
            0xDA => {
                let (at, shorter, components) = frame?;
                if body.first() != Some(&components) {
                    return None;
                }
                let mut bytes = bytes.to_vec();
                bytes.get_mut(at..at + 2)?.copy_from_slice(&shorter.to_be_bytes());
                return Some(bytes);
            }
            0xD8 | 0xD9 => return None,
            _ => {}
        }
        at += 2 + length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str) -> Vec<u8> {
        std::fs::read(format!("{}/../../tests/images/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
    }

    #[test]
    fn decoding_the_top_rows_equals_decoding_all() {
        for name in
            ["photo_flower.jpg", "photo_rocket.jpg", "jpeg_gray.jpg", "jpeg_cmyk.jpg", "made/progressive.jpg"]
        {
            let bytes = file(name);
            let (whole, _) = read(&bytes, None, &Limits::default()).unwrap();
            for rows in [1, 15, 16, 17, 60, whole.height() - 1, whole.height()] {
                let rows = rows.min(whole.height());
                let (top, _) = read(&bytes, Some(rows), &Limits::default()).unwrap();
                assert!(top.height() >= rows, "{name}: {} of {rows}", top.height());
                let same = whole.crop_imm(0, 0, whole.width(), rows);
                assert_eq!(top.crop_imm(0, 0, top.width(), rows), same, "{name} down to {rows}");
            }
        }
        let photo = file("photo_flower.jpg");
        assert!(
            read(&photo, Some(32), &Limits::default()).unwrap().0.height() <= 64,
            "the rest was read all the same"
        );
    }

    #[test]
    fn pixels_equal_those_of_the_image_crate() {
        for name in [
            "photo_flower.jpg",
            "photo_rocket.jpg",
            "jpeg_gray.jpg",
            "jpeg_cmyk.jpg",
            "made/progressive.jpg",
            "made/rgb.jpg",
        ] {
            let bytes = file(name);
            let usual = image::load_from_memory_with_format(&bytes, ImageFormat::Jpeg).unwrap();
            assert_eq!(read(&bytes, None, &Limits::default()).unwrap().0, usual, "{name}");
        }
    }
}
