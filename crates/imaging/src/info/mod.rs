//! What can be told of a picture by looking at it: measured here, put into words elsewhere.

mod animation;
mod camera;
mod colors;
mod exposure;
mod sharpness;

use super::ops::{ResizeTo, resize};
use super::{EditContext, Format, ImagingError, Picture, Probe, color_profile, decode, probe};

pub use animation::AnimationInfo;
pub use camera::CameraInfo;
pub use colors::{NamedColor, Palette};
pub use exposure::{Brightness, Exposure};
pub use sharpness::Sharpness;

/// Measures are taken at one size, so that they mean the same for a thumbnail and a poster.
const MEASURED_SIDE: u32 = 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    pub probe: Probe,
    /// Of an animation.
    pub animation: Option<AnimationInfo>,
    pub camera: Option<CameraInfo>,
    /// None where the format can be measured but not opened.
    pub pixels: Option<PixelInfo>,
}

/// What only the pixels tell.
#[derive(Debug, Clone, PartialEq)]
pub struct PixelInfo {
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

pub fn info(bytes: &[u8], context: &EditContext) -> Result<Info, ImagingError> {
    let probe = probe(bytes)?;
    let pixels = match decode(bytes, context) {
        Ok(picture) => Some(measure_pixels(picture, stored_depth(bytes, probe.format), context)?),
        Err(ImagingError::NotEditableYet { .. }) => None,
        Err(error) => return Err(error),
    };
    Ok(Info {
        probe,
        animation: animation::of(bytes, probe.format),
        camera: CameraInfo::of(bytes, probe.format),
        pixels,
    })
}

fn measure_pixels(
    picture: Picture,
    depth: Option<u32>,
    context: &EditContext,
) -> Result<PixelInfo, ImagingError> {
    let color = picture.pixels.color();
    let depth = depth.unwrap_or_else(|| u32::from(color.bytes_per_pixel() / color.channel_count()) * 8);
    let (gray, transparent) = (!color.has_color(), !picture.is_opaque());
    let profile = picture.icc.as_deref().and_then(color_profile::name);
    let photo = picture.target() == Format::Jpeg;
    let small = if picture.width().max(picture.height()) > MEASURED_SIDE {
        resize(picture, ResizeTo::longest(MEASURED_SIDE)?, context)?
    } else {
        picture
    };
    context.check_stopped()?;
    let icc = small.icc.as_deref().filter(|icc| color_profile::fits(icc, &small.pixels));
    let pixels =
        icc.and_then(|icc| color_profile::to_srgb(&small.pixels, icc)).unwrap_or(small.pixels).into_rgba8();
    let luma = sharpness::Luma::of(&pixels);
    Ok(PixelInfo {
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
        Format::Heic => super::file::heic_depth(bytes),
        _ => None,
    }
}
