//! A validated part of a picture in thousandths of its upright width and height, and the pixels it covers.

use serde::{Deserialize, Serialize};

/// Always inside 0..=1000 and never empty, so users of a region need not check it again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RegionCorners", into = "RegionCorners")]
pub struct Region {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum RegionError {
    #[error(
        "{field} is {value}, but must be a number from 0 to 1000 \
         (thousandths of the picture, measured from its top left corner)."
    )]
    OutOfRange { field: &'static str, value: f64 },
    #[error("{far} ({far_value}) must be greater than {near} ({near_value}); both go from 0 to 1000.")]
    Empty { near: &'static str, near_value: f64, far: &'static str, far_value: f64 },
}

#[derive(Serialize, Deserialize)]
struct RegionCorners {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// Whole pixels inside a picture; never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PixelRect {
    pub x: u32,
    pub y: u32,
    pub width: u32,
    pub height: u32,
}

impl Region {
    pub const FULL: Self = Self { left: 0.0, top: 0.0, right: 1000.0, bottom: 1000.0 };

    pub fn new(left: f64, top: f64, right: f64, bottom: f64) -> Result<Self, RegionError> {
        for (field, value) in [("left", left), ("top", top), ("right", right), ("bottom", bottom)] {
            if !(0.0..=1000.0).contains(&value) {
                return Err(RegionError::OutOfRange { field, value });
            }
        }
        for (near, near_value, far, far_value) in
            [("left", left, "right", right), ("top", top, "bottom", bottom)]
        {
            if near_value >= far_value {
                return Err(RegionError::Empty { near, near_value, far, far_value });
            }
        }
        Ok(Self { left, top, right, bottom })
    }

    pub fn left(&self) -> f64 {
        self.left
    }

    pub fn top(&self) -> f64 {
        self.top
    }

    pub fn right(&self) -> f64 {
        self.right
    }

    pub fn bottom(&self) -> f64 {
        self.bottom
    }

    /// `width` and `height` are those of the upright picture, at least 1.
    pub fn to_pixels(self, width: u32, height: u32) -> PixelRect {
        let (x, width) = span(self.left, self.right, width);
        let (y, height) = span(self.top, self.bottom, height);
        PixelRect { x, y, width, height }
    }
}

/// Start and length of a side in pixels. A region too thin for one pixel keeps the pixel it lies on.
fn span(near: f64, far: f64, side: u32) -> (u32, u32) {
    let pixels = |thousandths: f64| (thousandths * f64::from(side) / 1000.0).round() as u32;
    let start = pixels(near).min(side.saturating_sub(1));
    let end = pixels(far).clamp(start + 1, side.max(start + 1));
    (start, end - start)
}

impl PixelRect {
    pub fn right(&self) -> u32 {
        self.x + self.width
    }

    pub fn bottom(&self) -> u32 {
        self.y + self.height
    }

    pub fn contains(&self, x: u32, y: u32) -> bool {
        (self.x..self.right()).contains(&x) && (self.y..self.bottom()).contains(&y)
    }

    /// The rectangle grown by this many pixels on every side, clipped to a frame of this size.
    pub fn grown(&self, by: u32, width: u32, height: u32) -> Self {
        let (x, y) = (self.x.saturating_sub(by), self.y.saturating_sub(by));
        let right = self.right().saturating_add(by).min(width);
        let bottom = self.bottom().saturating_add(by).min(height);
        Self { x, y, width: right.saturating_sub(x), height: bottom.saturating_sub(y) }
    }

    pub fn intersects(&self, other: &Self) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }
}

impl TryFrom<RegionCorners> for Region {
    type Error = RegionError;

    fn try_from(c: RegionCorners) -> Result<Self, RegionError> {
        Self::new(c.left, c.top, c.right, c.bottom)
    }
}

impl From<Region> for RegionCorners {
    fn from(r: Region) -> Self {
        Self { left: r.left, top: r.top, right: r.right, bottom: r.bottom }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_error_names_the_field_its_value_and_the_range() {
        let text = Region::new(0.0, 0.0, 1200.0, 10.0).unwrap_err().to_string();
        assert!(text.contains("right is 1200") && text.contains("0 to 1000"), "{text}");
        let text = Region::new(300.0, 0.0, 100.0, 10.0).unwrap_err().to_string();
        assert!(text.contains("right (100)") && text.contains("left (300)"), "{text}");
        assert!(Region::new(f64::NAN, 0.0, 1.0, 1.0).unwrap_err().to_string().contains("left is NaN"));
        assert!(Region::new(5.0, 5.0, 5.0, 9.0).is_err(), "no area");
        assert!(Region::new(-1.0, 0.0, 5.0, 9.0).is_err());
        assert!(Region::new(0.0, 0.0, f64::INFINITY, 9.0).is_err());
    }

    #[test]
    fn json_is_validated_like_new() {
        let region: Region = serde_json::from_str(r#"{"left":1,"top":2,"right":300.5,"bottom":4}"#).unwrap();
        assert_eq!(region, Region::new(1.0, 2.0, 300.5, 4.0).unwrap());
        assert_eq!(serde_json::to_value(region).unwrap()["right"], 300.5);
        let error = serde_json::from_str::<Region>(r#"{"left":9,"top":2,"right":3,"bottom":4}"#).unwrap_err();
        assert!(error.to_string().contains("right (3) must be greater than left (9)"), "{error}");
    }

    proptest! {
        #[test]
        fn pixel_rects_are_never_empty_and_never_outside(
            l in 0.0..1000.0f64, t in 0.0..1000.0f64, r in 0.0..=1000.0f64, b in 0.0..=1000.0f64,
            width in 1..5000u32, height in 1..5000u32,
        ) {
            if let Ok(region) = Region::new(l, t, r, b) {
                let rect = region.to_pixels(width, height);
                prop_assert!(rect.width >= 1 && rect.height >= 1);
                prop_assert!(rect.right() <= width && rect.bottom() <= height);
            }
        }
    }
}
