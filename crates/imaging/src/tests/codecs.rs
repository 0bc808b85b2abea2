//! Every variant of a format decodes to the same colours, and output formats follow the source.

use image::{DynamicImage, Rgb, RgbImage};
use libjpeg_turbo_rs::{ColorSpace, Encoder, PixelFormat};
use moxcms::ColorProfile;

use super::read;
use crate::file::{Chroma, Compression};
use crate::ops::*;
use crate::*;

fn open(bytes: &[u8]) -> Picture {
    decode(bytes, &EditContext::default()).unwrap()
}

/// Red, green, blue and cream, a quarter each: the colours of every file in `made`.
const QUARTERS: [(u32, u32, [u8; 3]); 4] =
    [(12, 8, [200, 40, 40]), (36, 8, [40, 160, 60]), (12, 24, [40, 70, 190]), (36, 24, [225, 220, 210])];

fn shows_the_quarters(name: &str, picture: &Picture, tolerance: u8) {
    assert_eq!((picture.width(), picture.height()), (48, 32), "{name}");
    let pixels = picture.pixels().to_rgb8();
    for (x, y, wanted) in QUARTERS {
        let found = pixels.get_pixel(x, y).0;
        let near = found.iter().zip(wanted).all(|(a, b)| a.abs_diff(b) <= tolerance);
        assert!(near, "{name} at {x},{y}: {found:?}, not {wanted:?}");
    }
}

#[test]
fn every_variant_shows_the_same_colours() {
    for name in [
        "progressive.jpg",
        "full_chroma.jpg",
        "rgb.jpg",
        "cmyk.jpg",
        "gain_map.jpg",
        "interlaced.png",
        "deep.png",
        "palette.png",
        "animated.png",
        "lossless.webp",
        "animated.webp",
        "pages.tif",
        "cmyk.tif",
    ] {
        shows_the_quarters(name, &open(&read(&format!("made/{name}"))), 6);
    }
}

#[test]
fn ycck_is_not_decoded_inverted() {
    // Stored as Adobe does: 255 is no ink.
    let inks: Vec<u8> = open(&read("made/interlaced.png"))
        .pixels()
        .to_rgb8()
        .pixels()
        .flat_map(|p| [p.0[0], p.0[1], p.0[2], 255])
        .collect();
    let file = Encoder::new(&inks, 48, 32, PixelFormat::Cmyk)
        .quality(95)
        .colorspace(ColorSpace::Ycck)
        .write_adobe_marker(true)
        .encode()
        .unwrap();
    shows_the_quarters("ycck", &open(&file), 8);
}

#[test]
fn rare_variants_decode_or_are_refused_with_advice() {
    for name in ["made/palette.tif", "made/float_gray.tif"] {
        match decode(&read(name), &EditContext::default()) {
            Ok(picture) => assert_eq!(picture.width(), 48, "{name}"),
            Err(error @ ImagingError::NotEditableYet { .. }) => {
                assert!(error.to_string().contains("export it as JPEG or PNG"), "{error}");
            }
            Err(other) => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn the_compression_of_the_source_is_recognised() {
    let of = |name: &str| open(&read(name)).compression;
    let Compression::Jpeg(traits) = of("made/progressive.jpg") else { panic!("no JPEG") };
    assert_eq!((traits.quality, traits.chroma), (85, Chroma::Subsampled));
    let Compression::Jpeg(traits) = of("made/full_chroma.jpg") else { panic!("no JPEG") };
    assert_eq!((traits.quality, traits.chroma), (93, Chroma::Full));
    assert_eq!(of("made/lossless.webp"), Compression::Lossless);
    assert_eq!(of("made/animated.webp"), Compression::Lossless);
    assert_eq!(of("webp_orientation_6.webp"), Compression::Lossy);
    assert_eq!(of("photo.bmp"), Compression::Lossless);
    for quality in [1, 30, 50, 75, 92, 100] {
        let file = Encoder::new(&[90; 768], 16, 16, PixelFormat::Rgb).quality(quality).encode().unwrap();
        let Compression::Jpeg(traits) = open(&file).compression else { panic!("no JPEG") };
        assert_eq!(traits.quality, quality);
    }
}

#[test]
fn an_edited_jpeg_keeps_its_quality_and_its_chroma() {
    let edited = |name: &str| {
        let flipped = flip(open(&read(name)), FlipAxis::Horizontal).unwrap();
        open(&encode(&flipped).unwrap().bytes).compression
    };
    assert_eq!(edited("made/progressive.jpg"), open(&read("made/progressive.jpg")).compression);
    assert_eq!(edited("made/full_chroma.jpg"), open(&read("made/full_chroma.jpg")).compression);
    let coarse = Encoder::new(&[90; 768], 16, 16, PixelFormat::Rgb).quality(20).encode().unwrap();
    let Compression::Jpeg(traits) = open(&encode(&open(&coarse)).unwrap().bytes).compression else {
        panic!("no JPEG")
    };
    assert_eq!(traits.quality, 80, "a second loss does not add to the first");
}

#[test]
fn a_lossless_graphic_does_not_become_a_jpeg() {
    assert_eq!(encode(&open(&read("made/lossless.webp"))).unwrap().mime, "image/png");
    assert_eq!(encode(&open(&read("webp_orientation_6.webp"))).unwrap().mime, "image/jpeg");
}

#[test]
fn gray_stays_gray_and_16_bit_stays_16_bit() {
    for (name, color) in [
        ("photo_page.png", image::ColorType::L8),
        ("png_16bit_gray_trns.png", image::ColorType::La16),
        ("made/deep.png", image::ColorType::Rgb16),
    ] {
        let before = open(&read(name));
        let after = open(&encode(&before).unwrap().bytes);
        assert_eq!((after.pixels().color(), after.pixels()), (color, before.pixels()), "{name}");
    }
}

#[cfg(feature = "heic")]
#[test]
fn an_iphone_photo_is_upright_and_keeps_its_wide_gamut() {
    let arrow = open(&read("photo_arrow.heic"));
    assert_eq!((arrow.width(), arrow.height()), (3024, 4032));
    let profile = arrow.icc.as_deref().and_then(color_profile::name);
    assert_eq!(profile.as_deref(), Some("Display P3"));
    let file = encode(&arrow).unwrap();
    assert_eq!(file.mime, "image/jpeg");
    assert_eq!(open(&file.bytes).icc, arrow.icc);
}

#[cfg(feature = "heic")]
#[test]
fn a_heic_photo_over_the_limit_is_refused_before_decoding() {
    let context =
        EditContext::new(Limits { max_pixels: 12_000_000, ..Limits::default() }, StopFlag::default());
    assert!(matches!(decode(&read("photo_arrow.heic"), &context), Err(ImagingError::TooLarge { .. })));
}

#[cfg(feature = "heic")]
#[test]
fn a_corrupted_heic_photo_never_panics() {
    let file = read("bad_corrupted.heic");
    for at in (0..file.len()).step_by(97) {
        let mut bent = file.clone();
        bent[at] ^= 0x55;
        let _ = decode(&bent, &EditContext::default());
        let _ = decode(&file[..at], &EditContext::default());
    }
}

#[test]
fn an_unsupported_format_error_says_what_to_do_instead() {
    let error = decode(&read("photo.avif"), &EditContext::default()).unwrap_err().to_string();
    assert!(
        error.contains("AVIF") && error.contains("as a photo") && error.contains("JPEG or PNG"),
        "{error}"
    );
}

/// The sRGB value of a sample of a gray profile with this gamma.
fn as_srgb(sample: u8, gamma: f64) -> u8 {
    let linear = (f64::from(sample) / 255.0).powf(gamma);
    let v = if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 };
    (v * 255.0).round() as u8
}

#[test]
fn grays_keep_their_brightness_when_their_profile_is_dropped() {
    let profile = ColorProfile::new_gray_with_gamma(1.0).encode().unwrap();
    let gray = image::GrayImage::from_fn(16, 1, |x, _| image::Luma([x as u8 * 16]));
    let picture = Picture::new(gray.clone().into(), Format::Png).with_icc(Some(profile));
    assert_eq!(
        open(&encode(&picture).unwrap().bytes).pixels(),
        &gray.clone().into(),
        "carried where it fits"
    );
    let colored = picture.into_color();
    assert!(colored.icc.is_none());
    for (x, sample) in gray.iter().enumerate() {
        let shown = colored.pixels().to_rgb8().get_pixel(x as u32, 0).0;
        assert!(shown.iter().all(|c| c.abs_diff(as_srgb(*sample, 1.0)) <= 2), "{sample}: {shown:?}");
    }
}

#[test]
fn a_grayscale_photo_keeps_the_brightness_of_its_profile() {
    let profile = ColorProfile::new_pro_photo_rgb().encode().unwrap();
    let gray = image::GrayImage::from_pixel(4, 4, image::Luma([100]));
    let picture = Picture::new(gray.into(), Format::Png).with_icc(Some(profile));
    let shown = open(&encode(&picture).unwrap().bytes).pixels().to_luma8().get_pixel(0, 0).0[0];
    assert!(shown.abs_diff(as_srgb(100, 1.8)) <= 3, "{shown}");
}

#[test]
fn a_profile_is_read_from_webp_and_tiff_too() {
    let profile = ColorProfile::new_display_p3().encode().unwrap();
    let pixels: DynamicImage = RgbImage::from_pixel(8, 8, Rgb([200, 10, 10])).into();
    let tiff = open(&read("made/profile.tif"));
    shows_the_quarters("profile.tif", &tiff, 0);
    assert_eq!(tiff.icc.as_deref().and_then(color_profile::name).as_deref(), Some("sRGB built-in"));
    let wanted = Conversion {
        to: ConversionFormat::WebP,
        quality: None,
        max_bytes: None,
        metadata: MetadataPolicy::Strip,
        lossless: true,
    };
    let png = encode(&Picture::new(pixels, Format::Png).with_icc(Some(profile.clone()))).unwrap();
    let webp = convert(&png.bytes, &wanted, &EditContext::default()).unwrap();
    assert_eq!(open(&webp.bytes).icc, Some(profile));
}
