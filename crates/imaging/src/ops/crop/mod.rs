//! Crops a picture to a region, to an aspect ratio, or to what lies inside its borders. Pixels only move; none is
//! recomputed.

mod aspect;
mod from_file;
#[cfg(test)]
mod tests;
mod trim;

pub use aspect::{Aspect, CropCenter};
pub use from_file::crop_file;
pub use trim::{Borders, TrimTolerance, find_borders};

use crate::{EditContext, ImagingError, Picture, PixelRect, Region, geometry};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum CropTo {
    Region(Region),
    /// As large as fits, centred on `center` as far as the frame allows.
    Aspect {
        aspect: Aspect,
        center: CropCenter,
    },
    /// Cuts off the borders of one colour, see [`find_borders`].
    Trim(TrimTolerance),
}

impl CropTo {
    /// The rectangle to keep. `None` for trimming, which needs the pixels.
    pub(crate) fn rect(self, width: u32, height: u32) -> Option<PixelRect> {
        match self {
            Self::Region(region) => Some(region.to_pixels(width, height)),
            Self::Aspect { aspect, center } => Some(aspect.largest_rect(center, width, height)),
            Self::Trim(_) => None,
        }
    }
}

pub fn crop(picture: Picture, to: CropTo, context: &EditContext) -> Result<Picture, ImagingError> {
    context.check_stopped()?;
    let (width, height) = (picture.width(), picture.height());
    let rect = match to {
        CropTo::Trim(tolerance) => find_borders(&picture, tolerance, context)?.inside(width, height),
        CropTo::Region(_) | CropTo::Aspect { .. } => to.rect(width, height),
    };
    let rect = rect.ok_or_else(|| ImagingError::failed("nothing left inside the borders"))?;
    picture.try_map(|pixels| geometry::crop(pixels, rect))
}
