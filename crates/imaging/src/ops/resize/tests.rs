//! Output sizes, and artefacts that must not appear after scaling.

use image::{GrayImage, Luma, Rgb, RgbImage, Rgba, RgbaImage};
use proptest::prelude::*;

use super::*;
use crate::Format;

fn to(width: impl Into<Option<i32>>, height: impl Into<Option<i32>>, fit: Fit) -> ResizeTo {
    ResizeTo::new(width.into().map(f64::from), height.into().map(f64::from), None, None, Some(fit)).unwrap()
}

#[test]
fn every_kind_of_target_size_gives_that_size() {
    assert_eq!(to(320, None, Fit::Fit).apply(640, 427), (320, 214));
    assert_eq!(to(None, 100, Fit::Fit).apply(640, 400), (160, 100));
    assert_eq!(to(100, 100, Fit::Fit).apply(640, 320), (100, 50));
    assert_eq!(to(100, 100, Fit::Fill).apply(640, 320), (100, 100));
    assert_eq!(to(100, 10, Fit::Stretch).apply(640, 320), (100, 10));
    assert_eq!(ResizeTo::longest(64).unwrap().apply(320, 640), (32, 64));
    assert_eq!(ResizeTo::new(None, None, None, Some(50.0), None).unwrap().apply(641, 1), (321, 1));
}

#[test]
fn ambiguous_target_sizes_are_refused() {
    for (w, h, l, p) in [
        (None, None, None, None),
        (Some(5.0), None, Some(5.0), None),
        (Some(0.0), None, None, None),
        (Some(f64::NAN), None, None, None),
        (None, None, None, Some(0.5)),
        (None, None, Some(-3.0), None),
    ] {
        assert!(matches!(ResizeTo::new(w, h, l, p, None), Err(ImagingError::BadArgument(_))), "{w:?} {h:?}");
    }
}

#[test]
fn hidden_colours_do_not_bleed_into_edges() {
    let half =
        RgbaImage::from_fn(64, 64, |x, _| if x < 32 { Rgba([0, 255, 0, 255]) } else { Rgba([255, 0, 0, 0]) });
    let small =
        resize(Picture::new(half.into(), Format::Png), to(9, 9, Fit::Stretch), &EditContext::default())
            .unwrap();
    for pixel in small.pixels().as_rgba8().unwrap().pixels() {
        assert!(pixel.0[3] < 8 || pixel.0[0] < 8, "red bled in: {pixel:?}");
    }
}

#[test]
fn fill_crops_both_sides_equally() {
    let stripes =
        RgbaImage::from_fn(90, 30, |x, _| Rgba([if (30..60).contains(&x) { 255 } else { 0 }, 0, 0, 255]));
    let square =
        resize(Picture::new(stripes.into(), Format::Png), to(30, 30, Fit::Fill), &EditContext::default())
            .unwrap();
    assert!(square.pixels().as_rgba8().unwrap().pixels().all(|p| p.0[0] > 200));
}

#[test]
fn an_output_over_the_limits_is_refused_before_allocation() {
    let dot = || Picture::new(RgbaImage::new(10, 10).into(), Format::Png);
    for target_size in [to(50_000, 1, Fit::Stretch), to(20_000, 20_000, Fit::Stretch)] {
        assert!(matches!(
            resize(dot(), target_size, &EditContext::default()),
            Err(ImagingError::TooLarge { .. })
        ));
    }
}

#[test]
fn halving_first_looks_like_filtering_at_once() {
    let waves = RgbImage::from_fn(601, 403, |x, y| {
        let wave = |at: u32, length: f32| ((at as f32 / length).sin() * 100.0 + 128.0) as u8;
        Rgb([wave(x, 9.0), wave(y, 13.0), wave(x + y, 21.0)])
    });
    let to = to(97, 66, Fit::Stretch);
    let halved =
        resize(Picture::new(waves.clone().into(), Format::Png), to, &EditContext::default()).unwrap();
    let alpha = DynamicImage::from(waves).into_rgba8();
    let filtered = resize(Picture::new(alpha.into(), Format::Png), to, &EditContext::default()).unwrap();
    let (halved, filtered) = (halved.pixels().to_rgb8(), filtered.pixels().to_rgb8());
    let worst = halved.iter().zip(filtered.iter()).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(worst < Some(12), "{worst:?}");
}

#[test]
fn halving_does_not_shift_the_picture() {
    // A line in the middle of an odd width stays in the middle.
    for side in [401u32, 400, 403] {
        let middle = f64::from(side) / 2.0;
        let line = GrayImage::from_fn(side, side, |x, _| {
            Luma([if (f64::from(x) + 0.5 - middle).abs() < 30.0 { 255 } else { 0 }])
        });
        let small =
            resize(Picture::new(line.into(), Format::Png), to(50, 50, Fit::Stretch), &EditContext::default())
                .unwrap();
        let small = small.pixels().to_luma8();
        for x in 0..25 {
            let (left, right) = (small.get_pixel(x, 20).0[0], small.get_pixel(49 - x, 20).0[0]);
            assert!(left.abs_diff(right) <= 4, "{side}: {left} and {right} at {x}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_size_can_be_resized_to_any_size(
        (width, height) in (1..300u32, 1..300u32), (to_width, to_height) in (1..80i32, 1..80i32), fit in 0..3,
    ) {
        let fit = [Fit::Fit, Fit::Fill, Fit::Stretch][fit as usize];
        let to = to(to_width, to_height, fit);
        let flat = Picture::new(RgbImage::from_pixel(width, height, Rgb([7, 130, 250])).into(), Format::Png);
        let scaled = resize(flat, to, &EditContext::default()).unwrap();
        prop_assert_eq!((scaled.width(), scaled.height()), to.apply(width, height));
        prop_assert!(scaled.width() <= to_width as u32 && scaled.height() <= to_height as u32);
        let exact = scaled.width() == to_width as u32 || scaled.height() == to_height as u32;
        prop_assert!(exact, "one side is as asked for");
        for pixel in scaled.pixels().to_rgb8().pixels() {
            prop_assert!(pixel.0.iter().zip([7u8, 130, 250]).all(|(a, b)| a.abs_diff(b) <= 1), "{:?}", pixel);
        }
    }
}
