//! Similarity, changed regions and the pictures that show them.

use bytes::Bytes;
use image::{DynamicImage, GenericImageView as _, ImageBuffer, Luma, Rgb, Rgba};
use proptest::prelude::*;

use super::*;
use crate::encode;
use crate::tests::read;

fn file(pixels: DynamicImage) -> Bytes {
    encode(&Picture::new(pixels, Format::Png)).unwrap().bytes.into()
}

fn photo() -> RgbImage {
    image::load_from_memory(&read("photo_astronaut.png")).unwrap().into_rgb8()
}

fn between(a: Bytes, b: Bytes) -> Comparison {
    compare(&Sources::new(vec![a, b]), CompareMode::Both, &EditContext::default()).unwrap()
}

#[test]
fn equal_pixels_are_identical_for_any_file_format() {
    let png = file(photo().into());
    let mut bmp = std::io::Cursor::new(Vec::new());
    photo().write_to(&mut bmp, image::ImageFormat::Bmp).unwrap();
    let same = between(png, bmp.into_inner().into());
    assert!(same.identical && same.similarity == 1.0 && same.changed == 0.0 && same.regions.is_empty());
    assert_eq!((same.scaled_to, same.cropped), (None, false));
}

#[test]
fn changes_are_found_where_they_are() {
    let mut changed = photo();
    for y in 100..140 {
        for x in 50..110 {
            changed.put_pixel(x, y, Rgb([0, 255, 0]));
        }
    }
    changed.put_pixel(400, 450, Rgb([0, 255, 0]));
    changed.put_pixel(401, 450, Rgb([0, 255, 0]));
    for x in 300..350 {
        changed.put_pixel(x, 300, Rgb([255, 0, 255]));
    }
    let result = between(file(photo().into()), file(changed.into()));
    assert!(!result.identical && result.similarity > 0.9 && result.similarity < 1.0, "{}", result.similarity);
    assert!((0.009..0.012).contains(&result.changed), "{}", result.changed);
    let near = |region: &Region, expected: [f64; 4]| {
        let sides = [region.left(), region.top(), region.right(), region.bottom()];
        sides.iter().zip(expected).all(|(side, expected)| (side - expected).abs() < 8.0)
    };
    assert!(near(&result.regions[0], [97.0, 195.0, 215.0, 274.0]), "{:?}", result.regions);
    assert!(near(&result.regions[1], [586.0, 585.0, 684.0, 588.0]), "{:?}", result.regions);
    let shown = result.difference.unwrap();
    let is_gray = |x, y| {
        let [r, g, b, _] = shown.pixels().get_pixel(x, y).0;
        r.abs_diff(g) <= 1 && g.abs_diff(b) <= 1
    };
    assert!(!is_gray(80, 120) && is_gray(250, 50) && is_gray(450, 300));
    let both = result.side_by_side.unwrap();
    assert!(both.width() > 2 * both.height() - 20 && both.width() <= 2048);
}

#[test]
fn compression_alone_is_no_visible_change() {
    let picture = Picture::new(photo().into(), Format::Jpeg);
    let result = between(file(photo().into()), encode(&picture).unwrap().bytes.into());
    assert!(!result.identical && result.similarity > 0.97, "{}", result.similarity);
    assert!(result.changed < 0.01, "{}", result.changed);
}

#[test]
fn similarity_falls_with_the_strength_of_an_edit() {
    let likeness = |pixels: DynamicImage| between(file(photo().into()), file(pixels)).similarity;
    let mut brighter = photo();
    brighter.pixels_mut().for_each(|pixel| pixel.0 = pixel.0.map(|sample| sample.saturating_add(12)));
    let brighter = likeness(brighter.into());
    let blurred = likeness(DynamicImage::from(photo()).blur(4.0));
    let other = likeness(image::load_from_memory(&read("photo_page.png")).unwrap());
    assert!(
        brighter > 0.8 && brighter > blurred && blurred > other && other < 0.4,
        "{brighter} {blurred} {other}"
    );
}

#[test]
fn other_sizes_are_scaled_and_other_shapes_cropped_and_reported() {
    let half = DynamicImage::from(photo()).resize_exact(256, 256, image::imageops::FilterType::Lanczos3);
    let result = between(file(photo().into()), file(half));
    assert_eq!((result.scaled_to, result.cropped), (Some((512, 512)), false));
    assert!(result.similarity > 0.8);
    let wide = between(file(photo().into()), file(DynamicImage::from(photo()).crop_imm(0, 100, 512, 200)));
    assert!(wide.cropped && wide.scaled_to.is_some());
}

#[test]
fn each_mode_returns_its_pictures() {
    let sources = Sources::new(vec![file(photo().into()), file(photo().into())]);
    let made = |mode| {
        let made = compare(&sources, mode, &EditContext::default()).unwrap();
        (made.side_by_side.is_some(), made.difference.is_some())
    };
    assert_eq!(made(CompareMode::SideBySide), (true, false));
    assert_eq!(made(CompareMode::Difference), (false, true));
    assert_eq!(made(CompareMode::Both), (true, true));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_two_pictures_can_be_compared(
        w in prop_oneof![Just(1u32), 1..40u32, Just(400)], h in prop_oneof![Just(1u32), 1..40u32],
        v in prop_oneof![Just(1u32), 1..40u32, Just(400)], g in prop_oneof![Just(1u32), 1..40u32],
        sample: u8,
    ) {
        let a = file(ImageBuffer::from_pixel(w, h, Rgba([sample, 0, 90, sample])).into());
        let b = file(ImageBuffer::from_pixel(v, g, Luma([u16::from(sample) * 200])).into());
        let result = between(a, b);
        prop_assert!((0.0..=1.0).contains(&result.similarity) && (0.0..=1.0).contains(&result.changed));
    }
}
