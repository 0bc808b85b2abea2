//! The facts reported about a picture are true.

use super::read;
use crate::info::{Brightness, Info, Sharpness, info};
use crate::*;

fn info_of(name: &str) -> Info {
    info(&read(name), &EditContext::default()).unwrap_or_else(|error| panic!("{name}: {error:?}"))
}

#[test]
fn every_file_has_info_or_the_same_error_as_decoding() {
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
            (Err(info_of), Err(opened)) => assert_eq!(info_of, opened, "{name}"),
            (info, opened) => panic!("{name}: {info:?} {:?}", opened.map(|p| p.width())),
        }
    }
}

#[test]
fn a_gps_position_is_reported_but_never_returned() {
    let camera = info_of("jpeg_exif_gps.jpg").camera.unwrap();
    assert!(camera.position);
    assert!(info_of("photo_rocket.jpg").camera.is_none_or(|camera| !camera.position));
}

#[cfg(feature = "heic")]
#[test]
fn camera_details_of_an_iphone_photo_are_read() {
    let info = info_of("photo_arrow.heic");
    let camera = info.camera.unwrap();
    assert!(camera.camera.as_deref().is_some_and(|camera| camera.contains("iPhone")), "{camera:?}");
    assert!(camera.exposure.as_deref().is_some_and(|e| e.contains("f/") && e.contains("ISO")), "{camera:?}");
    let pixels = info.pixels.unwrap();
    assert_eq!((pixels.depth, pixels.profile.as_deref()), (8, Some("Display P3")));
}

#[test]
fn animations_are_counted_and_timed() {
    assert_eq!(info_of("anim.gif").animation.unwrap().frames, 42);
    let webp = info_of("made/animated.webp").animation.unwrap();
    assert_eq!((webp.frames, webp.milliseconds), (2, 500));
    let png = info_of("made/animated.png").animation.unwrap();
    assert_eq!((png.frames, png.milliseconds), (2, 500));
    assert_eq!(info_of("made/lossless.webp").animation, None);
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
        assert_eq!(info_of(name).pixels.unwrap().sharpness, Some(Sharpness::Sharp), "{name}");
    }
    for name in ["photo_chelsea.png", "photo_rocket.jpg", "photo_astronaut.png"] {
        assert_eq!(blurred(name, 4.0), Some(Sharpness::Blurred), "{name}");
    }
    let plain = Picture::new(image::RgbImage::new(50, 50).into(), Format::Png);
    let plain = info(&encode(&plain).unwrap().bytes, &EditContext::default()).unwrap();
    assert_eq!(plain.pixels.unwrap().sharpness, None);
}

#[test]
fn brightness_is_judged_by_clipping() {
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
fn transparency_and_depth_are_reported() {
    let pixels = |name| info_of(name).pixels.unwrap();
    assert!(pixels("webp_alpha.webp").transparent && !pixels("photo_chelsea.png").transparent);
    assert_eq!(pixels("png_16bit_gray_trns.png").depth, 16);
    assert_eq!(pixels("wide_40MP_1bit.png").depth, 1);
    assert!(pixels("jpeg_gray.jpg").gray && pixels("jpeg_gray.jpg").photo);
}
