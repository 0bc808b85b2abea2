//! Crops a file without decoding all of it.

use image::metadata::Orientation;

use super::{CropTo, crop};
use crate::codecs::decode_top;
use crate::file::read_header;
use crate::{EditContext, Format, ImagingError, Picture, decode, geometry};

/// The same as decoding and cropping, but skips the rows below the crop where the format allows.
pub fn crop_file(bytes: &[u8], to: CropTo, context: &EditContext) -> Result<Picture, ImagingError> {
    let (format, stored) = read_header(bytes)?;
    let rect = match stored.orientation {
        Orientation::NoTransforms if format == Format::Jpeg => to.rect(stored.width, stored.height),
        _ => None,
    };
    match rect {
        Some(rect) => {
            let top = decode_top(bytes, rect.bottom(), context)?;
            top.try_map(|pixels| geometry::crop(pixels, rect))
        }
        None => crop(decode(bytes, context)?, to, context),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Region;
    use crate::ops::{CropCenter, TrimTolerance};
    use crate::tests::read;

    #[test]
    fn cropping_a_file_equals_cropping_the_decoded_picture() {
        let region = |top, bottom| CropTo::Region(Region::new(100.0, top, 300.0, bottom).unwrap());
        let square = CropTo::Aspect { aspect: "square".parse().unwrap(), center: CropCenter::default() };
        let context = EditContext::default();
        for name in ["photo_flower.jpg", "exif_landscape_6.jpg", "photo_chelsea.png", "jpeg_gray.jpg"] {
            let bytes = read(name);
            for to in [region(0.0, 50.0), region(400.0, 500.0), region(900.0, 1000.0), square] {
                let (direct, usual) =
                    (crop_file(&bytes, to, &context), crop(decode(&bytes, &context).unwrap(), to, &context));
                assert_eq!(direct.unwrap().pixels(), usual.unwrap().pixels(), "{name} {to:?}");
            }
            let trim = CropTo::Trim(TrimTolerance::default());
            assert_eq!(
                crop_file(&bytes, trim, &context).map(|picture| picture.width()),
                crop(decode(&bytes, &context).unwrap(), trim, &context).map(|picture| picture.width())
            );
        }
    }
}
