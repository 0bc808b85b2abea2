//! Rotation by any angle, for any size.

use image::{DynamicImage, GrayImage, Luma, Rgb, RgbImage};
use proptest::prelude::*;

use super::*;
use crate::{Limits, StopFlag};

fn gradient(source: Format) -> Picture {
    let pixels = RgbImage::from_fn(60, 40, |x, y| Rgb([x as u8 * 4, y as u8 * 6, 90]));
    Picture::new(pixels.into(), source)
}

fn turned(source: Format, degrees: f64) -> Picture {
    rotate(gradient(source), degrees, RotateCorners::Kept, &EditContext::default()).unwrap()
}

#[test]
fn four_quarter_turns_give_back_every_bit() {
    let mut picture = gradient(Format::Jpeg);
    for _ in 0..4 {
        picture = rotate(picture, 90.0, RotateCorners::Kept, &EditContext::default()).unwrap();
    }
    assert_eq!(picture.pixels(), gradient(Format::Jpeg).pixels());
    assert_eq!(turned(Format::Jpeg, -90.0).pixels(), turned(Format::Jpeg, 270.0).pixels());
    assert_eq!(turned(Format::Jpeg, 450.0).pixels(), turned(Format::Jpeg, 90.0).pixels());
    assert_eq!(turned(Format::Jpeg, 180.0).pixels(), &gradient(Format::Jpeg).pixels().rotate180());
}

#[test]
fn other_angles_keep_every_corner_and_rotate_clockwise() {
    let picture = turned(Format::Png, 30.0);
    assert_eq!((picture.width(), picture.height()), (72, 65));
    let reference = turned(Format::Png, 90.0).into_alpha();
    let almost = turned(Format::Png, 89.999);
    let (DynamicImage::ImageRgba8(a), DynamicImage::ImageRgba8(b)) = (almost.pixels(), reference.pixels())
    else {
        panic!("PNG gains alpha");
    };
    for (x, y) in [(5, 5), (20, 50), (35, 30)] {
        for c in 0..4 {
            assert!(a.get_pixel(x, y).0[c].abs_diff(b.get_pixel(x, y).0[c]) <= 6, "at {x},{y}");
        }
    }
}

#[test]
fn new_corners_are_transparent_in_png_and_white_in_jpeg() {
    let png = turned(Format::Png, 45.0);
    assert_eq!(png.pixels().as_rgba8().unwrap().get_pixel(0, 0).0[3], 0);
    let jpeg = turned(Format::Jpeg, 45.0);
    assert_eq!(jpeg.pixels().as_rgb8().unwrap().get_pixel(0, 0).0, [255, 255, 255]);
    let (x, y) = (jpeg.width() / 2, jpeg.height() / 2);
    let [r, g, b] = jpeg.pixels().as_rgb8().unwrap().get_pixel(x, y).0;
    assert!(r.abs_diff(118) < 8 && g.abs_diff(117) < 8 && b == 90, "the centre stays: {r} {g} {b}");
}

#[test]
fn a_canvas_over_the_limits_is_refused_before_allocation() {
    let line = Picture::new(RgbImage::new(30_000, 10).into(), Format::Jpeg);
    assert!(matches!(
        rotate(line, 45.0, RotateCorners::Kept, &EditContext::default()),
        Err(ImagingError::TooLarge { .. })
    ));
    assert!(matches!(
        rotate(gradient(Format::Png), f64::NAN, RotateCorners::Cut, &EditContext::default()),
        Err(ImagingError::BadArgument(_))
    ));
}

#[test]
fn straightening_leaves_no_empty_corner() {
    let bright = || RgbImage::from_pixel(300, 200, Rgb([10, 20, 30]));
    for source in [Format::Jpeg, Format::Png] {
        let picture = Picture::new(bright().into(), source);
        let straight = rotate(picture, 3.0, RotateCorners::Cut, &EditContext::default()).unwrap();
        assert_eq!((straight.width(), straight.height()), (290, 185));
        let pixels = straight.pixels().as_rgb8().expect("no alpha is needed");
        assert!(pixels.pixels().all(|pixel| pixel.0 == [10, 20, 30]));
    }
}

#[test]
fn a_rotation_stops_when_the_flag_is_set() {
    let stop = StopFlag::default();
    let context = EditContext::new(Limits::default(), stop.clone());
    stop.stop();
    assert!(matches!(
        rotate(gradient(Format::Png), 10.0, RotateCorners::Kept, &context),
        Err(ImagingError::Stopped)
    ));
}

#[test]
fn sharp_edges_of_16_bit_and_alpha_pictures_stay_in_range() {
    let deep = image::ImageBuffer::from_fn(40, 40, |x, _| Luma([if x < 20 { 0u16 } else { 65535 }]));
    let turned =
        rotate(Picture::new(deep.into(), Format::Png), 7.0, RotateCorners::Cut, &EditContext::default())
            .unwrap();
    let DynamicImage::ImageLuma16(pixels) = turned.pixels() else { panic!("16 bits stay 16") };
    let (left, right) = (pixels.get_pixel(2, 15).0[0], pixels.get_pixel(pixels.width() - 3, 15).0[0]);
    assert_eq!((left, right), (0, 65535));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_angle_and_size_gives_the_expected_frame(
        width in 1..60u32, height in 1..60u32, degrees in -720.0..720.0f64,
    ) {
        let flat = || Picture::new(GrayImage::from_pixel(width, height, Luma([77])).into(), Format::Jpeg);
        let kept = rotate(flat(), degrees, RotateCorners::Kept, &EditContext::default()).unwrap();
        let (sin, cos) = degrees.to_radians().sin_cos();
        let across = f64::from(width) * cos.abs() + f64::from(height) * sin.abs();
        let down = f64::from(width) * sin.abs() + f64::from(height) * cos.abs();
        prop_assert!((f64::from(kept.width()) - across).abs() < 1.001, "{} for {across}", kept.width());
        prop_assert!((f64::from(kept.height()) - down).abs() < 1.001, "{} for {down}", kept.height());

        let cut = rotate(flat(), degrees, RotateCorners::Cut, &EditContext::default()).unwrap();
        prop_assert!(cut.width() <= kept.width() && cut.height() <= kept.height());
        // A frame of one pixel may be larger than the inscribed rectangle, and then contains an edge.
        if cut.width() > 1 && cut.height() > 1 {
            prop_assert!(cut.pixels().as_luma8().unwrap().pixels().all(|pixel| pixel.0 == [77]), "an empty corner");
        }
    }

    #[test]
    fn right_angles_four_times_are_nothing(width in 1..200u32, height in 1..200u32, left in any::<bool>()) {
        let pixels: DynamicImage = RgbImage::from_fn(width, height, |x, y| Rgb([x as u8, y as u8, (x ^ y) as u8])).into();
        let mut picture = Picture::new(pixels.clone(), Format::Png);
        for _ in 0..4 {
            picture = rotate(picture, if left { -90.0 } else { 90.0 }, RotateCorners::Cut, &EditContext::default()).unwrap();
        }
        prop_assert_eq!(picture.pixels(), &pixels);
    }
}
