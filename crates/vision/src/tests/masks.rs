//! Cut-outs, erasing and enlarging.

use image::{GenericImageView as _, RgbImage, imageops};
use imaging::{PixelRect, StopFlag};

use super::picture;
use crate::{CutOut, Enlargement, Models};

fn alpha(cut: &CutOut, x: f64, y: f64) -> u8 {
    let (width, height) = cut.pixels.dimensions();
    cut.pixels.get_pixel((x * f64::from(width)) as u32, (y * f64::from(height)) as u32).0[3]
}

#[test]
fn a_person_is_cut_out_with_hair_and_without_the_background() {
    let pixels = picture("photo_astronaut.png");
    let cut = Models::default().portrait(&pixels, &StopFlag::default()).unwrap().unwrap();
    assert_eq!(cut.pixels.dimensions(), pixels.dimensions());
    for (x, y) in [(0.44, 0.25), (0.40, 0.60), (0.30, 0.80)] {
        assert_eq!(alpha(&cut, x, y), 255, "{x} {y} is the person");
    }
    for (x, y) in [(0.08, 0.12), (0.70, 0.06), (0.95, 0.30)] {
        assert_eq!(alpha(&cut, x, y), 0, "{x} {y} is the background");
    }
    assert!((0.40..0.75).contains(&cut.coverage), "{}", cut.coverage);
}

#[test]
fn what_stands_out_is_cut_out() {
    let pixels = picture("photo_rocket.jpg");
    let cut = Models::default().subject(&pixels, None, &StopFlag::default()).unwrap().unwrap();
    assert!((0.005..0.5).contains(&cut.coverage), "{}", cut.coverage);
    assert_eq!(alpha(&cut, 0.05, 0.05), 0, "the sky goes");
}

#[test]
fn a_plain_picture_has_no_subject() {
    let plain = RgbImage::from_pixel(300, 200, image::Rgb([120, 130, 140]));
    let cut = Models::default().subject(&plain, None, &StopFlag::default()).unwrap();
    assert!(cut.is_none_or(|cut| cut.coverage < 0.9), "a plain picture is not its own subject");
}

#[test]
fn erasing_changes_the_hole_and_a_thin_blend_alone() {
    let pixels = picture("photo_rocket.jpg");
    let part = PixelRect { x: 300, y: 60, width: 60, height: 220 };
    let filled = Models::default().erase(&pixels, &[part], &StopFlag::default()).unwrap();
    // Growth and blend are a few pixels of the model, which sees the part enlarged or reduced about once.
    let touched = part.grown(20, pixels.width(), pixels.height());
    let mut changed = 0;
    for (x, y, pixel) in filled.enumerate_pixels() {
        let same = pixel == pixels.get_pixel(x, y);
        assert!(same || touched.contains(x, y), "{x},{y} changed");
        changed += u32::from(!same);
    }
    assert!(changed > 500, "the hole is filled");
}

/// The mean squared difference of two pictures of one size.
fn squared_difference(one: &RgbImage, other: &RgbImage) -> f64 {
    assert_eq!(one.dimensions(), other.dimensions());
    let pairs = one.as_raw().iter().zip(other.as_raw());
    let sum: f64 = pairs.map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2)).sum();
    sum / one.as_raw().len() as f64
}

#[test]
fn enlarging_is_closer_to_the_original_than_bicubic_and_has_no_seams() {
    let original = picture("photo_astronaut.png").view(0, 0, 480, 480).to_image();
    let small = imageops::resize(&original, 240, 240, imageops::FilterType::CatmullRom);
    let larger = Models::default().upscale(&small, Enlargement::Twice, &StopFlag::default()).unwrap();
    let bicubic = imageops::resize(&small, 480, 480, imageops::FilterType::CatmullRom);
    let (ours, theirs) = (squared_difference(&original, &larger), squared_difference(&original, &bicubic));
    assert!(ours < theirs, "{ours} is not better than {theirs}");
    // 240 pixels take two tiles: the difference along their border is like elsewhere.
    let column = |x: u32| {
        let differs = |y: u32| {
            let (a, b) = (larger.get_pixel(x, y).0, original.get_pixel(x, y).0);
            (0..3).map(|channel| (f64::from(a[channel]) - f64::from(b[channel])).abs()).sum::<f64>()
        };
        (0..480).map(differs).sum::<f64>() / 480.0
    };
    let mean = (0..480).map(column).sum::<f64>() / 480.0;
    for x in 200..300 {
        assert!(column(x) < mean * 4.0 + 10.0, "a seam at {x}");
    }
}

#[test]
fn every_enlargement_has_its_size() {
    let small = picture("photo_astronaut.png").view(100, 100, 40, 30).to_image();
    for (enlargement, size) in [
        (Enlargement::Twice, (80, 60)),
        (Enlargement::ThreeTimes, (120, 90)),
        (Enlargement::FourTimes, (160, 120)),
    ] {
        let larger = Models::default().upscale(&small, enlargement, &StopFlag::default()).unwrap();
        assert_eq!(larger.dimensions(), size);
    }
}
