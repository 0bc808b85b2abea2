//! Colour profiles: which are believed, what they are called, and what becomes of pixels whose kind an edit
//! changed, so that the profile they came with no longer fits. Files may carry anything here, so whatever reads a
//! profile may fail or panic without harm to the picture.

use std::panic::{AssertUnwindSafe, catch_unwind};

use image::DynamicImage;
use moxcms::{
    CicpColorPrimaries, CicpProfile, ColorProfile, DataColorSpace, Layout, MatrixCoefficients, ProfileText,
    TransferCharacteristics, TransformOptions,
};

/// A profile is copied into what we write, so it must at least look like one: a header with its signature, and
/// no more bytes than a colour profile has use for.
pub(crate) fn is_plausible(profile: &[u8]) -> bool {
    (128..=4 << 20).contains(&profile.len()) && profile[36..40] == *b"acsp"
}

/// A profile describes pixels of one kind: a CMYK profile on the RGB we decoded to, or a gray one on a picture
/// that gained colour, would be wrong.
pub(crate) fn fits(profile: &[u8], pixels: &DynamicImage) -> bool {
    let wanted: &[u8] = if pixels.color().has_color() { b"RGB " } else { b"GRAY" };
    profile.get(16..20) == Some(wanted)
}

/// Its name, as in "Display P3".
pub(crate) fn name(profile: &[u8]) -> Option<String> {
    let name = match guarded(|| parse(profile)?.description)? {
        ProfileText::PlainString(text) => text,
        ProfileText::Localizable(texts) => texts.into_iter().next()?.value,
        ProfileText::Description(text) => text.ascii_string,
    };
    let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
    Some(name.trim().to_owned()).filter(|name| !name.is_empty())
}

pub(crate) fn is_of_inks(profile: &[u8]) -> bool {
    profile.get(16..20) == Some(b"CMYK")
}

/// For files that name their colours by the codes of ITU-T H.273 instead. None where that is sRGB or unknown.
#[cfg(feature = "heic")]
pub(crate) fn from_codes(primaries: u16, transfer: u16) -> Option<Vec<u8>> {
    const USUAL_TRANSFERS: [u16; 6] = [1, 2, 6, 13, 14, 15];
    let usual = USUAL_TRANSFERS.contains(&transfer);
    let made = match primaries {
        1 | 2 | 5 | 6 if usual => return None,
        12 if usual => ColorProfile::new_display_p3(),
        _ => ColorProfile::new_from_cicp(CicpProfile {
            color_primaries: CicpColorPrimaries::try_from(u8::try_from(primaries).ok()?).ok()?,
            transfer_characteristics: TransferCharacteristics::try_from(u8::try_from(transfer).ok()?).ok()?,
            matrix_coefficients: MatrixCoefficients::Bt709,
            full_range: true,
        }),
    };
    guarded(|| made.encode().ok())
}

/// The pixels as sRGB shows them, where a profile of the other kind says how bright each gray is meant. None where
/// nothing would change: most profiles agree with sRGB on gray.
pub(crate) fn grays_to_srgb(pixels: &DynamicImage, profile: &[u8]) -> Option<DynamicImage> {
    if !matches!(profile.get(16..20), Some(b"GRAY" | b"RGB ")) {
        return None;
    }
    let levels =
        if pixels.color().bytes_per_pixel() / pixels.color().channel_count() == 2 { 65536 } else { 256 };
    let curve = gray_curve(profile, levels)?;
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

/// The pixels with 8 bits per channel as sRGB shows them, for files that cannot carry a profile. None where that
/// cannot be told.
pub(crate) fn to_srgb(pixels: &DynamicImage, profile: &[u8]) -> Option<DynamicImage> {
    if !pixels.color().has_color() {
        return grays_to_srgb(pixels, profile);
    }
    guarded(|| {
        let srgb = ColorProfile::new_srgb();
        let options = TransformOptions::default();
        let transform =
            parse(profile)?.create_transform_8bit(Layout::Rgba, &srgb, Layout::Rgba, options).ok()?;
        let source = pixels.to_rgba8();
        let mut shown = image::RgbaImage::new(source.width(), source.height());
        transform.transform(&source, &mut shown).ok()?;
        Some(DynamicImage::ImageRgba8(shown))
    })
}

/// The way back: sRGB pixels in the colours of a profile. None where that cannot be told.
pub(crate) fn from_srgb(pixels: &DynamicImage, profile: &[u8]) -> Option<DynamicImage> {
    guarded(|| {
        let wanted = parse(profile).filter(|profile| profile.color_space == DataColorSpace::Rgb)?;
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

/// Which sRGB gray each gray of the profile is, for so many levels.
fn gray_curve(profile: &[u8], levels: usize) -> Option<Vec<u16>> {
    guarded(|| {
        let source = parse(profile)?;
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

fn parse(profile: &[u8]) -> Option<ColorProfile> {
    ColorProfile::new_from_slice(profile).ok()
}

fn guarded<T>(read: impl FnOnce() -> Option<T>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(read)).ok().flatten()
}
