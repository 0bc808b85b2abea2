//! Cuts a picture to a region or to a shape.

use std::str::FromStr;

use crate::imaging::{ImagingError, Picture, PixelRect, Region, geometry};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CropTo {
    Region(Region),
    /// Centred, and as large as fits.
    Aspect(Aspect),
}

/// Width to height, both positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aspect {
    width: f64,
    height: f64,
}

/// Beyond this a crop is a line, not a picture.
const MOST_EXTREME: f64 = 100.0;

impl Aspect {
    pub fn new(width: f64, height: f64) -> Result<Self, ImagingError> {
        let ratio = width / height;
        let sane = width > 0.0 && height > 0.0 && (1.0 / MOST_EXTREME..=MOST_EXTREME).contains(&ratio);
        sane.then_some(Self { width, height }).ok_or_else(|| refused(&format!("{width}:{height}")))
    }
}

fn refused(text: &str) -> ImagingError {
    ImagingError::BadArgument(format!(
        "The aspect {text:?} is not one to crop to. Use \"square\" or width:height such as 1:1, 4:5, 3:2 or \
         16:9, at most 100 times as long as wide."
    ))
}

impl FromStr for Aspect {
    type Err = ImagingError;

    fn from_str(text: &str) -> Result<Self, ImagingError> {
        let wanted = text.trim().to_ascii_lowercase();
        if wanted == "square" {
            return Self::new(1.0, 1.0);
        }
        let (width, height) = wanted.split_once([':', '/', 'x', '×']).ok_or_else(|| refused(text))?;
        match (width.trim().parse(), height.trim().parse()) {
            (Ok(width), Ok(height)) => Self::new(width, height).map_err(|_| refused(text)),
            _ => Err(refused(text)),
        }
    }
}

pub fn crop(picture: Picture, to: CropTo) -> Result<Picture, ImagingError> {
    let (width, height) = (picture.width(), picture.height());
    let rect = match to {
        CropTo::Region(region) => region.to_pixels(width, height),
        CropTo::Aspect(aspect) => largest_centred(aspect, width, height),
    };
    picture.try_map(|pixels| geometry::cut(pixels, rect))
}

fn largest_centred(aspect: Aspect, width: u32, height: u32) -> PixelRect {
    let scale = (f64::from(width) / aspect.width).min(f64::from(height) / aspect.height);
    let side = |part: f64, whole: u32| ((part * scale).round() as u32).clamp(1, whole);
    let (w, h) = (side(aspect.width, width), side(aspect.height, height));
    PixelRect { x: (width - w) / 2, y: (height - h) / 2, width: w, height: h }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_aspect_takes_the_largest_centred_part() {
        let rect = |text: &str, w, h| largest_centred(text.parse().unwrap(), w, h);
        assert_eq!(rect("square", 640, 427), PixelRect { x: 106, y: 0, width: 427, height: 427 });
        assert_eq!(rect("16:9", 1600, 1200), PixelRect { x: 0, y: 150, width: 1600, height: 900 });
        assert_eq!(rect(" 4 : 5 ", 1000, 1000), PixelRect { x: 100, y: 0, width: 800, height: 1000 });
        assert_eq!(rect("16:9", 1, 1), PixelRect { x: 0, y: 0, width: 1, height: 1 });
    }

    #[test]
    fn a_senseless_aspect_is_refused_with_examples() {
        for text in ["", "wide", "0:1", "1:0", "-1:1", "nan:1", "1:inf", "1000:1", "1:2:3"] {
            let error = text.parse::<Aspect>().unwrap_err().to_string();
            assert!(error.contains("16:9"), "{text}: {error}");
        }
    }
}
