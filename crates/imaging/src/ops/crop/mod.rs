//! Cuts a picture to a region, to a shape, or free of its borders. Pixels only move; none is recomputed.

mod aspect;
#[cfg(test)]
mod tests;
mod trim;

pub use aspect::{Around, Aspect};
pub use trim::{Borders, Tolerance, borders};

use crate::{ImagingError, Picture, PixelRect, Region, Work, geometry};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CropTo {
    Region(Region),
    /// As large as fits, with `around` in the middle as far as the frame allows.
    Aspect {
        aspect: Aspect,
        around: Around,
    },
    /// Cuts off the borders of one colour, see [`borders`].
    Trim(Tolerance),
}

impl CropTo {
    /// What is kept of a picture of this size; trimming alone has to see the pixels first.
    pub(crate) fn rect(self, width: u32, height: u32) -> Option<PixelRect> {
        match self {
            Self::Region(region) => Some(region.to_pixels(width, height)),
            Self::Aspect { aspect, around } => Some(aspect.largest(around, width, height)),
            Self::Trim(_) => None,
        }
    }
}

pub fn crop(picture: Picture, to: CropTo, work: &Work) -> Result<Picture, ImagingError> {
    work.go_on()?;
    let (width, height) = (picture.width(), picture.height());
    let rect = match to {
        CropTo::Trim(tolerance) => borders(&picture, tolerance, work)?.inside(width, height),
        CropTo::Region(_) | CropTo::Aspect { .. } => to.rect(width, height),
    };
    let rect = rect.ok_or_else(|| ImagingError::failed("nothing left inside the borders"))?;
    picture.try_map(|pixels| geometry::cut(pixels, rect))
}
