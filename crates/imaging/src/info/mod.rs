//! Facts measured from a picture. The caller turns them into words.

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

/// Pictures are measured at one size, so that the values are comparable between a thumbnail and a poster.
const MEASURED_SIDE: u32 = 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Info {
    pub probe: Probe,
    /// Only for animations.
    pub animation: Option<AnimationInfo>,
    pub camera: Option<CameraInfo>,
    /// `None` for formats whose header can be read but whose pixels cannot be decoded.
    pub pixels: Option<PixelInfo>,
}

/// Facts that need the decoded pixels.
#[derive(Debug, Clone, PartialEq)]
pub struct PixelInfo {
    /// Bits per channel.
    pub depth: u32,
    pub gray: bool,
    /// Whether any pixel is transparent, not only whether there is an alpha channel.
    pub transparent: bool,
    pub profile: Option<String>,
    pub palette: Palette,
    /// `None` if the picture has no detail to judge.
    pub sharpness: Option<Sharpness>,
    pub exposure: Exposure,
    /// Lossy compression as for photos, so advice for photos applies.
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
        animation: animation::read_animation(bytes, probe.format),
        camera: CameraInfo::read(bytes, probe.format),
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
    let photo = picture.output_format() == Format::Jpeg;
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
        palette: colors::measure_palette(&pixels),
        sharpness: sharpness::measure(&luma),
        exposure: exposure::measure(&pixels),
        photo,
    })
}

/// The depth in the file, where it can differ from that of the decoded pixels.
fn stored_depth(bytes: &[u8], format: Format) -> Option<u32> {
    match format {
        Format::Png => bytes.get(24).map(|depth| u32::from(*depth)),
        #[cfg(feature = "heic")]
        Format::Heic => super::file::read_heic_depth(bytes),
        _ => None,
    }
}
