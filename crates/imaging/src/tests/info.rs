//! What is told of a picture is true of it.

use super::read;
use crate::info::{Brightness, Info, Sharpness, info};
use crate::*;

fn told(name: &str) -> Info {
    info(&read(name), &EditContext::default()).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

#[test]
fn every_file_is_told_about_or_refused_as_when_opened() {
    let manifest = String::from_utf8(read("manifest.tsv")).unwrap();
    for name in manifest.lines().skip(1).filter_map(|line| line.split('\t').next()) {
        let opened = decode(&read(name), &EditContext::default());
        match (info(&read(name), &EditContext::default()), opened) {
            (Ok(info), Ok(picture)) => {
                assert_eq!(
                    (info.probe.width, info.probe.height),
                    (picture.width(), picture.height()),
                    "{name}"
                );
                let pixels = info.pixels.unwrap();
                assert!(pixels.palette.len() <= 5 && !pixels.palette.is_empty(), "{name}");
            }
            (Ok(info), Err(ImagingError::NotEditableYet { .. })) => assert!(info.pixels.is_none(), "{name}"),
            (Err(told), Err(opened)) => assert_eq!(told, opened, "{name}"),
            (info, opened) => panic!("{name}: {info:?} {:?}", opened.map(|p| p.width())),
        }
    }
}

#[test]
fn a_position_is_noticed_and_never_told() {
    let camera = told("jpeg_exif_gps.jpg").camera.unwrap();
    assert!(camera.position);
    assert!(told("photo_rocket.jpg").camera.is_none_or(|camera| !camera.position));
}

#[cfg(feature = "heic")]
#[test]
fn an_iphone_says_what_it_noted() {
    let info = told("photo_arrow.heic");
    let camera = info.camera.unwrap();
    assert!(camera.camera.as_deref().is_some_and(|camera| camera.contains("iPhone")), "{camera:?}");
    assert!(camera.exposure.as_deref().is_some_and(|e| e.contains("f/") && e.contains("ISO")), "{camera:?}");
    let pixels = info.pixels.unwrap();
    assert_eq!((pixels.depth, pixels.profile.as_deref()), (8, Some("Display P3")));
}

#[test]
fn animations_are_counted_and_timed() {
    assert_eq!(told("anim.gif").animation.unwrap().frames, 42);
    let webp = told("made/animated.webp").animation.unwrap();
    assert_eq!((webp.frames, webp.milliseconds), (2, 500));
    let png = told("made/animated.png").animation.unwrap();
    assert_eq!((png.frames, png.milliseconds), (2, 500));
    assert_eq!(told("made/lossless.webp").animation, None);
}

fn blurred(name: &str, sigma: f32) -> Option<Sharpness> {
    let picture = decode(&read(name), &EditContext::default()).unwrap();
    let soft = Picture::new(picture.pixels().fast_blur(sigma), Format::Png);
    info(&encode(&soft).unwrap().bytes, &EditContext::default()).unwrap().pixels.unwrap().sharpness
}

#[test]
fn sharp_photos_are_sharp_and_blurred_ones_are_not() {
    for name in
        ["photo_chelsea.png", "photo_rocket.jpg", "photo_flower.jpg", "photo_astronaut.png", "photo_page.png"]
    {
        assert_eq!(told(name).pixels.unwrap().sharpness, Some(Sharpness::Sharp), "{name}");
    }
    for name in ["photo_chelsea.png", "photo_rocket.jpg", "photo_astronaut.png"] {
        assert_eq!(blurred(name, 4.0), Some(Sharpness::Blurred), "{name}");
    }
    let plain = Picture::new(image::RgbImage::new(50, 50).into(), Format::Png);
    let plain = info(&encode(&plain).unwrap().bytes, &EditContext::default()).unwrap();
    assert_eq!(plain.pixels.unwrap().sharpness, None);
}

#[test]
fn light_is_judged_by_what_is_lost() {
    let verdict = |factor: f32, lift: f32| {
        let mut pixels =
            decode(&read("photo_chelsea.png"), &EditContext::default()).unwrap().pixels().to_rgb8();
        pixels.iter_mut().for_each(|v| *v = (f32::from(*v) * factor + lift).clamp(0.0, 255.0) as u8);
        let file = encode(&Picture::new(pixels.into(), Format::Png)).unwrap();
        info(&file.bytes, &EditContext::default()).unwrap().pixels.unwrap().exposure.verdict
    };
    assert_eq!(verdict(1.0, 0.0), Brightness::Balanced);
    assert_eq!(verdict(0.3, 0.0), Brightness::Underexposed);
    assert_eq!(verdict(1.6, 60.0), Brightness::Overexposed);
}

#[test]
fn transparency_and_depth_are_told_as_they_are() {
    let pixels = |name| told(name).pixels.unwrap();
    assert!(pixels("webp_alpha.webp").transparent && !pixels("photo_chelsea.png").transparent);
    assert_eq!(pixels("png_16bit_gray_trns.png").depth, 16);
    assert_eq!(pixels("wide_40MP_1bit.png").depth, 1);
    assert!(pixels("jpeg_gray.jpg").gray && pixels("jpeg_gray.jpg").photo);
}
