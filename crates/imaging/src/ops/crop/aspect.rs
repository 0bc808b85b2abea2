//! The aspect ratio to crop to, and the centre of the crop.

use std::str::FromStr;

use crate::{ImagingError, PixelRect};

/// Width to height, both positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Aspect {
    width: f64,
    height: f64,
}

/// The centre of a crop, in thousandths of the upright picture.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CropCenter {
    x: f64,
    y: f64,
}

/// Beyond this ratio a crop would be a line.
const MAX_RATIO: f64 = 100.0;

impl Aspect {
    pub fn new(width: f64, height: f64) -> Result<Self, ImagingError> {
        let ratio = width / height;
        let sane = width > 0.0 && height > 0.0 && (1.0 / MAX_RATIO..=MAX_RATIO).contains(&ratio);
        sane.then_some(Self { width, height }).ok_or_else(|| unknown_aspect(&format!("{width}:{height}")))
    }

    /// The largest rectangle of this shape, moved inside the frame.
    pub(super) fn largest_rect(self, center: CropCenter, width: u32, height: u32) -> PixelRect {
        let scale = (f64::from(width) / self.width).min(f64::from(height) / self.height);
        let side = |part: f64, whole: u32| ((part * scale).round() as u32).clamp(1, whole.max(1));
        let (w, h) = (side(self.width, width), side(self.height, height));
        let start = |middle: f64, part: u32, whole: u32| {
            let start = (middle * f64::from(whole) / 1000.0 - f64::from(part) / 2.0).floor();
            (start.max(0.0) as u32).min(whole.saturating_sub(part))
        };
        PixelRect { x: start(center.x, w, width), y: start(center.y, h, height), width: w, height: h }
    }
}

impl CropCenter {
    pub fn new(x: f64, y: f64) -> Result<Self, ImagingError> {
        for (field, value) in [("x", x), ("y", y)] {
            if !(0.0..=1000.0).contains(&value) {
                return Err(ImagingError::BadArgument(format!(
                    "{field} is {value}, but must be a number from 0 to 1000 (thousandths of the picture, measured \
                     from its top left corner)."
                )));
            }
        }
        Ok(Self { x, y })
    }
}

impl Default for CropCenter {
    fn default() -> Self {
        Self { x: 500.0, y: 500.0 }
    }
}

fn unknown_aspect(text: &str) -> ImagingError {
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
        let (width, height) = wanted.split_once([':', '/', 'x', '×']).ok_or_else(|| unknown_aspect(text))?;
        match (width.trim().parse(), height.trim().parse()) {
            (Ok(width), Ok(height)) => Self::new(width, height).map_err(|_| unknown_aspect(text)),
            _ => Err(unknown_aspect(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rect(aspect: &str, center: CropCenter, width: u32, height: u32) -> (u32, u32, u32, u32) {
        let aspect: Aspect = aspect.parse().unwrap();
        let PixelRect { x, y, width, height } = aspect.largest_rect(center, width, height);
        (x, y, width, height)
    }

    #[test]
    fn an_aspect_takes_the_largest_centred_part() {
        let middle = CropCenter::default();
        assert_eq!(rect("square", middle, 640, 427), (106, 0, 427, 427));
        assert_eq!(rect("16:9", middle, 1600, 1200), (0, 150, 1600, 900));
        assert_eq!(rect(" 4 : 5 ", middle, 1000, 1000), (100, 0, 800, 1000));
        assert_eq!(rect("16:9", middle, 1, 1), (0, 0, 1, 1));
    }

    #[test]
    fn a_crop_around_a_point_keeps_its_size_and_stays_inside() {
        let center = |x, y| CropCenter::new(x, y).unwrap();
        assert_eq!(
            rect("square", center(600.0, 500.0), 1000, 500),
            (350, 0, 500, 500),
            "the point in the middle"
        );
        assert_eq!(rect("square", center(0.0, 0.0), 1000, 500), (0, 0, 500, 500), "pushed to the right");
        assert_eq!(rect("square", center(1000.0, 10.0), 1000, 500), (500, 0, 500, 500), "pushed to the left");
        assert_eq!(rect("1:1", center(500.0, 900.0), 300, 900), (0, 600, 300, 300), "pushed up");
        for (x, y) in [(-1.0, 0.0), (0.0, 1000.5), (f64::NAN, 0.0), (0.0, f64::INFINITY)] {
            assert!(CropCenter::new(x, y).unwrap_err().to_string().contains("0 to 1000"));
        }
    }

    #[test]
    fn an_invalid_aspect_is_refused_with_examples() {
        for text in ["", "wide", "0:1", "1:0", "-1:1", "nan:1", "1:inf", "1000:1", "1:2:3"] {
            let error = text.parse::<Aspect>().unwrap_err().to_string();
            assert!(error.contains("16:9"), "{text}: {error}");
        }
    }
}
