//! ICC colour profiles: plausibility, names, and conversion of pixels when their profile no longer fits. Profiles
//! come from untrusted files: a parser that fails or panics never costs the picture.

use std::panic::{AssertUnwindSafe, catch_unwind};

use image::DynamicImage;
use moxcms::{
    CicpColorPrimaries, CicpProfile, ColorProfile, DataColorSpace, Layout, MatrixCoefficients, ProfileText,
    TransferCharacteristics, TransformOptions,
};

/// Whether the bytes may be a profile: the right signature and a reasonable size. Profiles are copied into output
/// files, so arbitrary bytes must not pass.
pub(crate) fn is_plausible(profile: &[u8]) -> bool {
    (128..=4 << 20).contains(&profile.len()) && profile[36..40] == *b"acsp"
}

/// Whether the profile describes pixels of this kind. A CMYK profile does not fit decoded RGB pixels, nor a gray
/// profile a picture that became colour.
pub(crate) fn fits(profile: &[u8], pixels: &DynamicImage) -> bool {
    let wanted: &[u8] = if pixels.color().has_color() { b"RGB " } else { b"GRAY" };
    profile.get(16..20) == Some(wanted)
}

/// The name of the profile, such as "Display P3".
pub(crate) fn name(profile: &[u8]) -> Option<String> {
    let name = match catch_panic(|| parse_profile(profile)?.description)? {
        ProfileText::PlainString(text) => text,
        ProfileText::Localizable(texts) => texts.into_iter().next()?.value,
        ProfileText::Description(text) => text.ascii_string,
    };
    let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

pub(crate) fn is_cmyk(profile: &[u8]) -> bool {
    profile.get(16..20) == Some(b"CMYK")
}

/// A profile for files that name their colour space by the codes of ITU-T H.273. `None` for sRGB and for unknown
/// codes.
#[cfg(feature = "heic")]
pub(crate) fn from_codes(primaries: u16, transfer: u16) -> Option<Vec<u8>> {
    const SDR_TRANSFERS: [u16; 6] = [1, 2, 6, 13, 14, 15];
    let is_sdr = SDR_TRANSFERS.contains(&transfer);
    let made = match primaries {
        1 | 2 | 5 | 6 if is_sdr => return None,
        12 if is_sdr => ColorProfile::new_display_p3(),
        _ => ColorProfile::new_from_cicp(CicpProfile {
            color_primaries: CicpColorPrimaries::try_from(u8::try_from(primaries).ok()?).ok()?,
            transfer_characteristics: TransferCharacteristics::try_from(u8::try_from(transfer).ok()?).ok()?,
            matrix_coefficients: MatrixCoefficients::Bt709,
            full_range: true,
        }),
    };
    catch_panic(|| made.encode().ok())
}

/// Converts grays of a gray or RGB profile to sRGB. `None` if nothing would change: most profiles agree with sRGB on
/// gray.
pub(crate) fn grays_to_srgb(pixels: &DynamicImage, profile: &[u8]) -> Option<DynamicImage> {
    if !matches!(profile.get(16..20), Some(b"GRAY" | b"RGB ")) {
        return None;
    }
    let levels =
        if pixels.color().bytes_per_pixel() / pixels.color().channel_count() == 2 { 65536 } else { 256 };
    let curve = compute_gray_curve(profile, levels)?;
    let alike = curve.iter().enumerate().all(|(from, to)| from.abs_diff(usize::from(*to)) * 256 <= levels);
    if alike {
        return None;
    }
    let mut pixels = pixels.clone();
    let channels = usize::from(pixels.color().channel_count());
    let colors = if pixels.color().has_alpha() { channels - 1 } else { channels };
    match &mut pixels {
        DynamicImage::ImageLuma8(b) => map_samples(b, channels, colors, |v| curve[usize::from(v)] as u8),
        DynamicImage::ImageLumaA8(b) => map_samples(b, channels, colors, |v| curve[usize::from(v)] as u8),
        DynamicImage::ImageRgb8(b) => map_samples(b, channels, colors, |v| curve[usize::from(v)] as u8),
        DynamicImage::ImageRgba8(b) => map_samples(b, channels, colors, |v| curve[usize::from(v)] as u8),
        DynamicImage::ImageLuma16(b) => map_samples(b, channels, colors, |v| curve[usize::from(v)]),
        DynamicImage::ImageLumaA16(b) => map_samples(b, channels, colors, |v| curve[usize::from(v)]),
        DynamicImage::ImageRgb16(b) => map_samples(b, channels, colors, |v| curve[usize::from(v)]),
        DynamicImage::ImageRgba16(b) => map_samples(b, channels, colors, |v| curve[usize::from(v)]),
        _ => return None,
    }
    Some(pixels)
}

/// Converts to 8-bit sRGB, for files that cannot carry a profile. `None` if the profile cannot be used.
pub(crate) fn to_srgb(pixels: &DynamicImage, profile: &[u8]) -> Option<DynamicImage> {
    if !pixels.color().has_color() {
        return grays_to_srgb(pixels, profile);
    }
    catch_panic(|| {
        let srgb = ColorProfile::new_srgb();
        let options = TransformOptions::default();
        let transform =
            parse_profile(profile)?.create_transform_8bit(Layout::Rgba, &srgb, Layout::Rgba, options).ok()?;
        let source = pixels.to_rgba8();
        let mut shown = image::RgbaImage::new(source.width(), source.height());
        transform.transform(&source, &mut shown).ok()?;
        Some(DynamicImage::ImageRgba8(shown))
    })
}

/// Converts sRGB pixels to the colour space of a profile. `None` if the profile cannot be used.
pub(crate) fn from_srgb(pixels: &DynamicImage, profile: &[u8]) -> Option<DynamicImage> {
    catch_panic(|| {
        let wanted = parse_profile(profile).filter(|profile| profile.color_space == DataColorSpace::Rgb)?;
        let srgb = ColorProfile::new_srgb();
        let options = TransformOptions::default();
        let transform = srgb.create_transform_8bit(Layout::Rgba, &wanted, Layout::Rgba, options).ok()?;
        let source = pixels.to_rgba8();
        let mut meant = image::RgbaImage::new(source.width(), source.height());
        transform.transform(&source, &mut meant).ok()?;
        Some(DynamicImage::ImageRgba8(meant))
    })
}

fn map_samples<S: Copy>(samples: &mut [S], channels: usize, colors: usize, map: impl Fn(S) -> S) {
    for pixel in samples.chunks_exact_mut(channels) {
        for sample in &mut pixel[..colors] {
            *sample = map(*sample);
        }
    }
}

/// The sRGB gray for each of `levels` grays of the profile.
fn compute_gray_curve(profile: &[u8], levels: usize) -> Option<Vec<u16>> {
    catch_panic(|| {
        let source = parse_profile(profile)?;
        let layout = if source.color_space == DataColorSpace::Gray { Layout::Gray } else { Layout::Rgb };
        let channels = if layout == Layout::Gray { 1 } else { 3 };
        let step = 65535 / (levels - 1);
        let ramp: Vec<u16> =
            (0..levels).flat_map(|level| std::iter::repeat_n((level * step) as u16, channels)).collect();
        let srgb = ColorProfile::new_srgb();
        let transform =
            source.create_transform_16bit(layout, &srgb, Layout::Rgb, TransformOptions::default()).ok()?;
        let mut shown = vec![0; levels * 3];
        transform.transform(&ramp, &mut shown).ok()?;
        Some(shown.chunks_exact(3).map(|rgb| ((usize::from(rgb[1]) + step / 2) / step) as u16).collect())
    })
}

fn parse_profile(profile: &[u8]) -> Option<ColorProfile> {
    ColorProfile::new_from_slice(profile).ok()
}

fn catch_panic<T>(read: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok().flatten()
}
