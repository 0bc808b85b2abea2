//! Small copies to look at, for models and pages: all of a picture or a part of it, with or without a grid. Never the
//! source of an edit.

use super::codecs::{encode_jpeg, encode_png};
use super::ops::{ResizeTo, resized};
use super::{EditContext, Encoded, ImagingError, Picture, Region, decode, grid};

/// Artefacts at this quality are below what a model or a thumbnail shows.
const VIEW_QUALITY: u8 = 85;
/// How many times a closer look may enlarge. More would only show its own blur.
const MOST_ENLARGED: u32 = 2;

/// What is looked at, and how large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// No side is longer than this.
    pub longest: u32,
    /// None is all of it.
    pub region: Option<Region>,
    /// Lines and numbers in thousandths of the whole picture, also over a part of it.
    pub grid: bool,
}

impl View {
    pub fn whole(longest: u32) -> Self {
        Self { longest, region: None, grid: false }
    }

    /// Whether this is more than a thumbnail, and worth being enlarged where it is tiny.
    fn is_closer(&self) -> bool {
        self.region.is_some() || self.grid
    }
}

/// A JPEG, or a PNG where something shines through. Only a closer look at something tiny is enlarged.
pub fn view_file(bytes: &[u8], view: &View, context: &EditContext) -> Result<Encoded, ImagingError> {
    let picture = decode(bytes, context)?;
    let seen = self::view(&picture, view, context);
    picture.recycle();
    seen
}

/// The same for a picture already decoded.
pub fn view(picture: &Picture, view: &View, context: &EditContext) -> Result<Encoded, ImagingError> {
    let (whole, mut seen) = ((picture.width(), picture.height()), None);
    let region = view.region.unwrap_or(Region::FULL);
    let part = region.to_pixels(whole.0, whole.1);
    if (part.width, part.height) != whole {
        let pixels = picture.pixels.crop_imm(part.x, part.y, part.width, part.height);
        seen = Some(picture.with_pixels(pixels));
    }
    let length = part.width.max(part.height);
    let most = if view.is_closer() { length.saturating_mul(MOST_ENLARGED) } else { length };
    if view.longest.min(most) != length {
        let to = ResizeTo::longest(view.longest.min(most))?;
        seen = Some(resized(seen.as_ref().unwrap_or(picture), to, context)?);
    }
    if view.grid {
        let below = seen.unwrap_or_else(|| picture.clone());
        seen = Some(grid::draw(below, &region, whole, context)?);
    }
    let seen = seen.as_ref().unwrap_or(picture);
    if seen.is_opaque() { encode_jpeg(seen, VIEW_QUALITY) } else { encode_png(seen) }
}
