//! Looks that change every pixel by its own value. Alpha is never touched.

use image::{DynamicImage, ImageBuffer, Pixel};
use serde::{Deserialize, Serialize};

use crate::imaging::picture::{Sample, paint_buffer};
use crate::imaging::{ImagingError, Picture};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Filter {
    Grayscale,
    Sepia,
    Invert,
}

pub fn filter(picture: Picture, filter: Filter) -> Result<Picture, ImagingError> {
    match filter {
        Filter::Grayscale => picture.try_map(|pixels| Ok(without_color(pixels))),
        Filter::Invert => picture.try_map(|mut pixels| {
            pixels.invert();
            Ok(pixels)
        }),
        Filter::Sepia => {
            let mut picture = picture.into_color();
            paint_buffer!(&mut picture.pixels, |buffer| tone(buffer))?;
            Ok(picture)
        }
    }
}

fn without_color(pixels: DynamicImage) -> DynamicImage {
    match pixels {
        DynamicImage::ImageRgb8(_) => pixels.into_luma8().into(),
        DynamicImage::ImageRgba8(_) => pixels.into_luma_alpha8().into(),
        DynamicImage::ImageRgb16(_) => pixels.into_luma16().into(),
        DynamicImage::ImageRgba16(_) => pixels.into_luma_alpha16().into(),
        gray => gray,
    }
}

/// The tone that browsers draw for `sepia(1)`.
fn tone<P: Pixel>(buffer: &mut ImageBuffer<P, Vec<P::Subpixel>>)
where
    P::Subpixel: Sample,
{
    for pixel in buffer.pixels_mut() {
        if let [r, g, b, ..] = pixel.channels_mut() {
            let (red, green, blue) = (r.to_unit(), g.to_unit(), b.to_unit());
            let mix =
                |a: f32, b: f32, c: f32| P::Subpixel::from_unit((a * red + b * green + c * blue).min(1.0));
            *r = mix(0.393, 0.769, 0.189);
            *g = mix(0.349, 0.686, 0.168);
            *b = mix(0.272, 0.534, 0.131);
        }
    }
}

#[cfg(test)]
mod tests {
    use image::{Rgb, Rgba, RgbaImage};

    use super::*;
    use crate::imaging::Format;

    fn one(pixel: [u8; 4]) -> Picture {
        Picture::new(RgbaImage::from_pixel(2, 2, Rgba(pixel)).into(), Format::Png)
    }

    fn seen(picture: &Picture) -> [u8; 4] {
        picture.pixels().to_rgba8().get_pixel(1, 1).0
    }

    #[test]
    fn filters_change_colour_and_leave_alpha() {
        assert_eq!(seen(&filter(one([255, 0, 10, 77]), Filter::Invert).unwrap()), [0, 255, 245, 77]);
        let [r, g, b, a] = seen(&filter(one([0, 200, 0, 77]), Filter::Grayscale).unwrap());
        assert!(r == g && g == b && (120..170).contains(&g) && a == 77);
        assert_eq!(seen(&filter(one([255, 255, 255, 77]), Filter::Sepia).unwrap()), [255, 255, 239, 77]);
        let [r, g, b, _] = seen(&filter(one([100, 100, 100, 255]), Filter::Sepia).unwrap());
        assert!(r > g && g > b);
    }

    #[test]
    fn sixteen_bits_stay_sixteen() {
        let deep = image::ImageBuffer::from_pixel(2, 2, Rgb([1000u16, 30000, 60000]));
        for kind in [Filter::Grayscale, Filter::Sepia, Filter::Invert] {
            let done = filter(Picture::new(deep.clone().into(), Format::Png), kind).unwrap();
            assert_eq!(
                done.pixels().color().bits_per_pixel() / u16::from(done.pixels().color().channel_count()),
                16
            );
        }
        let inverted = filter(Picture::new(deep.into(), Format::Png), Filter::Invert).unwrap();
        assert_eq!(inverted.pixels().as_rgb16().unwrap().get_pixel(0, 0).0, [64535, 35535, 5535]);
    }
}
