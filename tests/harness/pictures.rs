//! Small pictures for tests.

use image::{ImageFormat, Rgb, RgbImage};
use std::io::Cursor;

/// A JPEG with a gradient, so that a rotation or a crop changes its pixels.
pub fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let gradient = |x, y| Rgb([(x * 255 / width.max(1)) as u8, (y * 255 / height.max(1)) as u8, 96]);
    encoded(RgbImage::from_fn(width, height, gradient), ImageFormat::Jpeg)
}

/// A JPEG of one colour, to tell photos of an album apart.
pub fn jpeg_of(width: u32, height: u32, colour: [u8; 3]) -> Vec<u8> {
    encoded(RgbImage::from_pixel(width, height, Rgb(colour)), ImageFormat::Jpeg)
}

pub fn png(width: u32, height: u32) -> Vec<u8> {
    encoded(RgbImage::from_pixel(width, height, Rgb([40, 120, 200])), ImageFormat::Png)
}

fn encoded(picture: RgbImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).expect("an encodable picture");
    bytes.into_inner()
}
