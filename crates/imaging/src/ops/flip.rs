//! Mirrors a picture.

use serde::{Deserialize, Serialize};

use crate::{ImagingError, Picture, geometry};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Axis {
    /// Left becomes right.
    Horizontal,
    /// Top becomes bottom.
    Vertical,
}

pub fn flip(picture: Picture, axis: Axis) -> Result<Picture, ImagingError> {
    picture.try_map(|pixels| match axis {
        Axis::Horizontal => geometry::mirror(pixels),
        Axis::Vertical => geometry::upend(pixels),
    })
}
