//! Flips a picture.

use serde::{Deserialize, Serialize};

use crate::{ImagingError, Picture, geometry};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FlipAxis {
    /// Left becomes right.
    Horizontal,
    /// Top becomes bottom.
    Vertical,
}

pub fn flip(picture: Picture, axis: FlipAxis) -> Result<Picture, ImagingError> {
    picture.try_map(|pixels| match axis {
        FlipAxis::Horizontal => geometry::flip_horizontal(pixels),
        FlipAxis::Vertical => geometry::flip_vertical(pixels),
    })
}
