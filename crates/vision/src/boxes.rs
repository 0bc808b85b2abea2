//! Boxes in pixels, and which of several boxes on the same thing to keep.

use imaging::Region;

/// A part of a picture in pixels, with how sure the model is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scored {
    pub left: f32,
    pub top: f32,
    pub right: f32,
    pub bottom: f32,
    pub score: f32,
}

impl Scored {
    pub fn width(&self) -> f32 {
        self.right - self.left
    }

    pub fn height(&self) -> f32 {
        self.bottom - self.top
    }

    pub fn area(&self) -> f32 {
        self.width().max(0.0) * self.height().max(0.0)
    }

    pub fn shared_area(&self, other: &Self) -> f32 {
        let width = self.right.min(other.right) - self.left.max(other.left);
        let height = self.bottom.min(other.bottom) - self.top.max(other.top);
        width.max(0.0) * height.max(0.0)
    }

    /// Intersection over union.
    pub fn overlap(&self, other: &Self) -> f32 {
        let shared = self.shared_area(other);
        shared / (self.area() + other.area() - shared).max(f32::MIN_POSITIVE)
    }

    /// How much of this box lies inside the other.
    pub fn share_inside(&self, other: &Self) -> f32 {
        self.shared_area(other) / self.area().max(f32::MIN_POSITIVE)
    }

    pub fn moved(self, x: f32, y: f32) -> Self {
        Self {
            left: self.left + x,
            right: self.right + x,
            top: self.top + y,
            bottom: self.bottom + y,
            ..self
        }
    }

    pub fn scaled(self, across: f32, down: f32) -> Self {
        Self {
            left: self.left * across,
            right: self.right * across,
            top: self.top * down,
            bottom: self.bottom * down,
            ..self
        }
    }

    /// The part inside a picture of this size, in thousandths. `None` if it is outside, or thinner than they can say.
    pub fn region(&self, width: u32, height: u32) -> Option<Region> {
        let thousandths = |value: f32, side: u32| {
            (f64::from(value) * 10_000.0 / f64::from(side.max(1))).round().clamp(0.0, 10_000.0) / 10.0
        };
        let (left, right) = (thousandths(self.left, width), thousandths(self.right, width));
        let (top, bottom) = (thousandths(self.top, height), thousandths(self.bottom, height));
        Region::new(left, top, right, bottom).ok()
    }
}

/// Keeps the best of the boxes for which `same` says that they are on the same thing, best first.
pub(crate) fn keep_best<T>(
    mut found: Vec<T>,
    score: impl Fn(&T) -> f32,
    same: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    found.sort_by(|one, other| score(other).total_cmp(&score(one)));
    let mut kept: Vec<T> = Vec::new();
    for candidate in found {
        if !kept.iter().any(|better| same(better, &candidate)) {
            kept.push(candidate);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(at: f32, side: f32, score: f32) -> Scored {
        Scored { left: at, top: at, right: at + side, bottom: at + side, score }
    }

    #[test]
    fn of_two_boxes_on_one_thing_the_better_stays() {
        let found = vec![square(0.0, 10.0, 0.5), square(1.0, 10.0, 0.9), square(50.0, 10.0, 0.4)];
        let kept = keep_best(found, |found| found.score, |a, b| a.overlap(b) > 0.4);
        assert_eq!(kept.iter().map(|found| found.score).collect::<Vec<_>>(), [0.9, 0.4]);
    }

    #[test]
    fn regions_are_clipped_to_the_picture() {
        let region = square(-5.0, 10.0, 1.0).region(100, 50).unwrap();
        assert_eq!((region.left(), region.top(), region.right(), region.bottom()), (0.0, 0.0, 50.0, 100.0));
        assert_eq!(square(-20.0, 10.0, 1.0).region(100, 100), None);
    }
}
