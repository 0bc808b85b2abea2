//! What can be told of a picture by looking at it: measured here, put into words elsewhere.

mod colors;
mod exposure;
mod motion;
mod sharpness;
mod shot;

use super::ops::{ResizeTo, resize};
use super::probe::probe;
use super::{Format, ImagingError, Picture, Probe, Work, decode, profile, view};

pub use colors::{NamedColor, Palette};
pub use exposure::{Exposure, Light};
pub use motion::Motion;
pub use sharpness::Sharpness;
pub use shot::Shot;

/// Measures are taken at one size, so that they mean the same for a thumbnail and a poster.
const MEASURED_SIDE: u32 = 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    pub probe: Probe,
    /// Of an animation.
    pub motion: Option<Motion>,
    pub shot: Option<Shot>,
    /// None where the format can be measured but not opened.
    pub look: Option<Look>,
}

/// What only the pixels tell.
#[derive(Debug, Clone, PartialEq)]
pub struct Look {
    /// Bits per channel.
    pub depth: u32,
    pub gray: bool,
    /// Whether anything shines through, not only whether it could.
    pub transparent: bool,
    pub profile: Option<String>,
    pub palette: Palette,
    /// None where there is nothing in it to be sharp.
    pub sharpness: Option<Sharpness>,
    pub exposure: Exposure,
    /// Compressed as photos are, so that advice for photos applies.
    pub photo: bool,
}

pub fn info(bytes: &[u8], work: &Work) -> Result<Info, ImagingError> {
    let probe = probe(bytes)?;
    let look = match decode(bytes, work) {
        Ok(picture) => Some(look(picture, stored_depth(bytes, probe.format), work)?),
        Err(ImagingError::NotEditableYet { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(Info { probe, motion: motion::of(bytes, probe.format), shot: Shot::of(bytes, probe.format), look })
}

fn look(picture: Picture, depth: Option<u32>, work: &Work) -> Result<Look, ImagingError> {
    let color = picture.pixels.color();
    let depth = depth.unwrap_or_else(|| u32::from(color.bytes_per_pixel() / color.channel_count()) * 8);
    let (gray, transparent) = (!color.has_color(), !view::is_opaque(&picture.pixels));
    let profile = picture.icc.as_deref().and_then(profile::name);
    let photo = picture.target() == Format::Jpeg;
    let small = if picture.width().max(picture.height()) > MEASURED_SIDE {
        resize(picture, ResizeTo::longest(MEASURED_SIDE)?, work)?
    } else {
        picture
    };
    work.go_on()?;
    let icc = small.icc.as_deref().filter(|icc| profile::fits(icc, &small.pixels));
    let pixels =
        icc.and_then(|icc| profile::to_srgb(&small.pixels, icc)).unwrap_or(small.pixels).into_rgba8();
    let luma = sharpness::Luma::of(&pixels);
    Ok(Look {
        depth,
        gray,
        transparent,
        profile,
        palette: colors::palette(&pixels),
        sharpness: sharpness::measure(&luma),
        exposure: exposure::measure(&pixels),
        photo,
    })
}

/// Where the file can be deeper or shallower than what it decodes to.
fn stored_depth(bytes: &[u8], format: Format) -> Option<u32> {
    match format {
        Format::Png => bytes.get(24).map(|depth| u32::from(*depth)),
        #[cfg(feature = "heic")]
        Format::Heic => super::heic::depth(bytes),
        _ => None,
    }
}
