//! Small copies to look at, for models and pages: all of a picture or a part of it, with or without a grid. Never the
//! source of an edit.

use image::DynamicImage;

use super::encode::{jpeg, png};
use super::ops::{ResizeTo, resized};
use super::{Encoded, ImagingError, Picture, Region, Work, decode, grid, reuse};

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
pub fn view_file(bytes: &[u8], view: &View, work: &Work) -> Result<Encoded, ImagingError> {
    let picture = decode(bytes, work)?;
    let seen = self::view(&picture, view, work);
    reuse(picture);
    seen
}

/// The same for a picture already decoded.
pub fn view(picture: &Picture, view: &View, work: &Work) -> Result<Encoded, ImagingError> {
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
        seen = Some(resized(seen.as_ref().unwrap_or(picture), to, work)?);
    }
    if view.grid {
        let below = seen.unwrap_or_else(|| picture.clone());
        seen = Some(grid::draw(below, &region, whole, work)?);
    }
    let seen = seen.as_ref().unwrap_or(picture);
    if is_opaque(&seen.pixels) { jpeg(seen, VIEW_QUALITY) } else { png(seen) }
}

/// Many files carry an alpha channel that hides nothing.
pub(super) fn is_opaque(pixels: &DynamicImage) -> bool {
    match pixels {
        DynamicImage::ImageRgba8(buffer) => buffer.pixels().all(|p| p.0[3] == u8::MAX),
        DynamicImage::ImageLumaA8(buffer) => buffer.pixels().all(|p| p.0[1] == u8::MAX),
        DynamicImage::ImageRgba16(buffer) => buffer.pixels().all(|p| p.0[3] == u16::MAX),
        DynamicImage::ImageLumaA16(buffer) => buffer.pixels().all(|p| p.0[1] == u16::MAX),
        _ => true,
    }
}
