//! Views: small copies of a picture or a part of it, for models and web pages, with an optional grid. Never the
//! source of an edit.

use super::codecs::{encode_jpeg, encode_png};
use super::ops::{ResizeTo, resized};
use super::{EditContext, Encoded, ImagingError, Picture, Region, decode, grid};

/// At this quality, artefacts are invisible to a model or in a thumbnail.
const VIEW_QUALITY: u8 = 85;
/// How many times a close-up may be enlarged. More would only show interpolation.
const MAX_ENLARGEMENT: u32 = 2;

/// Which part of a picture is shown, and how large.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct View {
    /// The longer side is at most this long.
    pub longest: u32,
    /// `None` shows the whole picture.
    pub region: Option<Region>,
    /// Draws lines and numbers in thousandths of the whole picture, also over a part of it.
    pub grid: bool,
}

impl View {
    pub fn whole(longest: u32) -> Self {
        Self { longest, region: None, grid: false }
    }

    /// Whether this is more than a thumbnail. Only such views of tiny parts are enlarged.
    fn is_closer(&self) -> bool {
        self.region.is_some() || self.grid
    }
}

/// Encodes a view as JPEG, or as PNG if any pixel is transparent. Only close-ups are enlarged.
pub fn view_file(bytes: &[u8], view: &View, context: &EditContext) -> Result<Encoded, ImagingError> {
    let picture = decode(bytes, context)?;
    let seen = self::view(&picture, view, context);
    picture.recycle();
    seen
}

/// The same for a decoded picture.
pub fn view(picture: &Picture, view: &View, context: &EditContext) -> Result<Encoded, ImagingError> {
    let (whole, mut seen) = ((picture.width(), picture.height()), None);
    let region = view.region.unwrap_or(Region::FULL);
    let part = region.to_pixels(whole.0, whole.1);
    if (part.width, part.height) != whole {
        let pixels = picture.pixels.crop_imm(part.x, part.y, part.width, part.height);
        seen = Some(picture.with_pixels(pixels));
    }
    let length = part.width.max(part.height);
    let most = if view.is_closer() { length.saturating_mul(MAX_ENLARGEMENT) } else { length };
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
