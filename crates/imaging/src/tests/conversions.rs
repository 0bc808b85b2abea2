//! Conversions keep what they can and report what is lost.

use image::{Rgba, RgbaImage};

use super::read;
use crate::*;

fn to(to: ConversionFormat) -> Conversion {
    Conversion { to, quality: None, max_bytes: None, metadata: MetadataPolicy::Strip, lossless: false }
}

fn converted(name: &str, wanted: Conversion) -> (Encoded, String) {
    let made = convert(&read(name), &wanted, &EditContext::default())
        .unwrap_or_else(|error| panic!("{name}: {error:?}"));
    let note = made.note.clone().unwrap_or_default();
    (made, note)
}

fn open(bytes: &[u8]) -> Picture {
    decode(bytes, &EditContext::default()).unwrap()
}

/// Mean difference over all channels, 0 to 255.
fn difference(a: &Picture, b: &Picture) -> f64 {
    let (a, b) = (a.pixels().to_rgba8(), b.pixels().to_rgba8());
    assert_eq!(a.dimensions(), b.dimensions());
    let sum: u64 = a.iter().zip(b.iter()).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / a.len() as f64
}

#[test]
fn every_file_converts_to_every_format_or_is_refused() {
    let manifest = String::from_utf8(read("manifest.tsv")).unwrap();
    for name in manifest.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        // Large files prove nothing more here and are slow without optimisation.
        let small = !name.starts_with("wide_") && !name.starts_with("exif_") && name != "photo_arrow.heic";
        let opens = decode(&read(name), &EditContext::default()).is_ok();
        for target in
            [ConversionFormat::Jpeg, ConversionFormat::Png, ConversionFormat::WebP, ConversionFormat::Gif]
        {
            for metadata in [MetadataPolicy::Strip, MetadataPolicy::Keep] {
                if !small
                    && opens
                    && (target == ConversionFormat::Png
                        || target == ConversionFormat::Gif
                        || metadata == MetadataPolicy::Keep)
                {
                    continue;
                }
                let made =
                    convert(&read(name), &Conversion { metadata, ..to(target) }, &EditContext::default());
                match made {
                    Ok(made) => {
                        assert!(opens, "{name} to {target:?}");
                        let back = probe(&made.bytes).unwrap();
                        assert_eq!(
                            (back.format, made.mime),
                            (target.format(), target.format().mime()),
                            "{name}"
                        );
                        let before = probe(&read(name)).unwrap();
                        assert_eq!((back.width, back.height), (before.width, before.height), "{name}");
                        decode(&made.bytes, &EditContext::default()).unwrap();
                    }
                    // Wider than WebP allows.
                    Err(ImagingError::BadArgument(_)) => assert!(name.starts_with("wide_"), "{name}"),
                    Err(error) => assert!(!opens, "{name} to {target:?}: {error:?}"),
                }
            }
        }
    }
}

#[test]
fn a_converted_picture_looks_the_same_in_every_format() {
    let source = open(&read("photo_chelsea.png"));
    for (target, most) in [
        (ConversionFormat::Jpeg, 4.0),
        (ConversionFormat::Png, 0.0),
        (ConversionFormat::WebP, 4.0),
        (ConversionFormat::Gif, 8.0),
    ] {
        let (made, _) = converted("photo_chelsea.png", to(target));
        let distance = difference(&source, &open(&made.bytes));
        assert!(distance <= most, "{target:?}: {distance}");
    }
    let lossless = Conversion { lossless: true, ..to(ConversionFormat::WebP) };
    assert_eq!(difference(&source, &open(&converted("photo_chelsea.png", lossless).0.bytes)), 0.0);
}

#[test]
fn a_file_gets_under_its_size_limit_and_notes_how() {
    for (name, target, kb) in [
        ("photo_astronaut.png", ConversionFormat::Jpeg, 40),
        ("photo_astronaut.png", ConversionFormat::Jpeg, 4),
        ("photo_astronaut.png", ConversionFormat::WebP, 20),
        ("photo_astronaut.png", ConversionFormat::Png, 100),
        ("photo_chelsea.png", ConversionFormat::Gif, 20),
        ("photo_flower.jpg", ConversionFormat::Jpeg, 60),
    ] {
        let (made, note) = converted(name, Conversion { max_bytes: Some(kb * 1000), ..to(target) });
        assert!(made.bytes.len() as u64 <= kb * 1000, "{name} {target:?} {kb}: {}", made.bytes.len());
        assert!(
            made.bytes.len() as u64 > kb * 600,
            "the size limit is used: {name} {target:?} {}",
            made.bytes.len()
        );
        assert!(note.contains("Quality") || note.contains("Scaled down"), "{note}");
    }
    let (_, note) =
        converted("photo_astronaut.png", Conversion { max_bytes: Some(4000), ..to(ConversionFormat::Jpeg) });
    assert!(note.contains("Scaled down from 512×512"), "{note}");
    let (made, note) =
        converted("photo_flower.jpg", Conversion { max_bytes: Some(900_000), ..to(ConversionFormat::Jpeg) });
    assert!(note.contains("not touched"), "{note}");
    assert!(open(&made.bytes).pixels() == open(&read("photo_flower.jpg")).pixels());
}

#[test]
fn an_impossible_size_limit_is_refused_with_advice() {
    let wanted = Conversion { max_bytes: Some(60), ..to(ConversionFormat::Jpeg) };
    let error = convert(&read("photo_flower.jpg"), &wanted, &EditContext::default()).unwrap_err().to_string();
    assert!(error.contains("max_kb") && error.contains("Allow more"), "{error}");
}

#[test]
fn the_requested_quality_is_used() {
    let size = |quality, target| {
        converted("photo_chelsea.png", Conversion { quality: Some(quality), ..to(target) }).0.bytes.len()
    };
    for target in [ConversionFormat::Jpeg, ConversionFormat::WebP] {
        assert!(size(20, target) * 2 < size(90, target), "{target:?}");
    }
}

#[test]
fn transparency_becomes_white_in_a_jpeg_and_stays_elsewhere() {
    let pixels =
        RgbaImage::from_fn(40, 40, |x, _| if x < 20 { Rgba([200, 0, 0, 255]) } else { Rgba([0, 0, 0, 0]) });
    let png = encode(&Picture::new(pixels.into(), Format::Png)).unwrap().bytes;
    let made = |target| convert(&png, &to(target), &EditContext::default()).unwrap();
    let jpeg = made(ConversionFormat::Jpeg);
    assert!(jpeg.note.as_deref().unwrap_or_default().contains("white"), "{:?}", jpeg.note);
    let flat = open(&jpeg.bytes).pixels().to_rgb8();
    assert!(flat.get_pixel(35, 20).0.iter().all(|c| *c > 250) && flat.get_pixel(5, 20).0[0] > 180);
    for target in [ConversionFormat::WebP, ConversionFormat::Gif, ConversionFormat::Png] {
        let shown = open(&made(target).bytes).pixels().to_rgba8();
        assert_eq!((shown.get_pixel(35, 20).0[3], shown.get_pixel(5, 20).0[3]), (0, 255), "{target:?}");
    }
}

#[test]
fn stripping_metadata_does_not_change_pixels() {
    let contains = |bytes: &[u8], word: &[u8]| bytes.windows(word.len()).any(|w| w == word);
    for (name, target) in [
        ("exif_landscape_1.jpg", ConversionFormat::Jpeg),
        ("jpeg_exif_gps.jpg", ConversionFormat::Jpeg),
        ("made/gain_map.jpg", ConversionFormat::Jpeg),
        ("made/progressive.jpg", ConversionFormat::Jpeg),
        ("photo_rocket.jpg", ConversionFormat::Jpeg),
        ("photo_astronaut.png", ConversionFormat::Png),
        ("webp_alpha.webp", ConversionFormat::WebP),
        ("made/animated.webp", ConversionFormat::WebP),
        ("made/animated.png", ConversionFormat::Png),
        ("anim.gif", ConversionFormat::Gif),
    ] {
        let (made, note) = converted(name, to(target));
        assert!(note.contains("not touched"), "{name}: {note}");
        let (before, after) = (open(&read(name)), open(&made.bytes));
        assert!(before.pixels() == after.pixels() && before.icc == after.icc, "{name}");
        assert_eq!(probe(&made.bytes).unwrap().animated, probe(&read(name)).unwrap().animated, "{name}");
        for word in [&b"Exif\0\0"[..], b"eXIf", b"EXIF", b"http://ns.adobe.com/xap", b"MPF\0"] {
            assert!(!contains(&made.bytes, word), "{name} leaks {}", String::from_utf8_lossy(word));
        }
    }
}

#[test]
fn stripping_a_rotated_photo_rotates_its_pixels() {
    let (made, _) = converted("exif_landscape_6.jpg", to(ConversionFormat::Jpeg));
    let upright = open(&made.bytes);
    assert_eq!((upright.width(), upright.height()), (1800, 1200));
    assert!(file::read_exif_block(&made.bytes, Format::Jpeg).is_none());
}

#[test]
fn kept_metadata_is_corrected_and_a_gps_position_is_noted() {
    for (name, gps) in [("jpeg_exif_gps.jpg", true), ("exif_landscape_6.jpg", false)] {
        for target in [ConversionFormat::Png, ConversionFormat::WebP, ConversionFormat::Jpeg] {
            let wanted = Conversion { metadata: MetadataPolicy::Keep, quality: None, ..to(target) };
            let (made, note) = converted(name, wanted);
            assert!(note.contains("Exif data kept"), "{name} {target:?}: {note}");
            assert_eq!(note.contains("GPS"), gps, "{name} {target:?}: {note}");
            let block = file::read_exif_block(&made.bytes, target.format()).expect("the block is there");
            let exif = file::read_exif(block).expect("it can be read");
            assert_eq!(file::has_position(&exif), gps);
            let turn = exif.get_field(exif::Tag::Orientation, exif::In::PRIMARY);
            assert!(turn.is_none_or(|field| field.value.get_uint(0) == Some(1)), "{name} {target:?}");
            let (before, after) = (probe(&read(name)).unwrap(), probe(&made.bytes).unwrap());
            assert_eq!((before.width, before.height), (after.width, after.height));
        }
    }
}

#[test]
fn losses_are_noted() {
    let said = |name: &str, target| converted(name, to(target)).1;
    assert!(said("anim.gif", ConversionFormat::Png).contains("first frame"));
    assert!(said("made/deep.png", ConversionFormat::Jpeg).contains("16 bits"));
    assert!(!said("photo_chelsea.png", ConversionFormat::Jpeg).contains("white"));
}

#[test]
fn a_picture_of_few_colours_is_exact_as_a_gif() {
    let (made, _) = converted("made/interlaced.png", to(ConversionFormat::Gif));
    assert_eq!(difference(&open(&read("made/interlaced.png")), &open(&made.bytes)), 0.0);
}

#[test]
fn wide_gamut_is_converted_to_srgb_for_formats_without_profile() {
    let profile = moxcms::ColorProfile::new_display_p3().encode().unwrap();
    let pixels = image::RgbImage::from_pixel(4, 4, image::Rgb([128, 100, 60]));
    let png = encode(&Picture::new(pixels.into(), Format::Png).with_icc(Some(profile))).unwrap();
    let gif = convert(&png.bytes, &to(ConversionFormat::Gif), &EditContext::default()).unwrap();
    let [r, g, b, _] = open(&gif.bytes).pixels().to_rgba8().get_pixel(0, 0).0;
    assert!(r > 130 && g.abs_diff(99) < 4 && b < 57, "{r} {g} {b}");
}
