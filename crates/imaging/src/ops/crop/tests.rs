//! Cropping and trimming pictures of any size.

use image::{DynamicImage, GrayImage, Luma, Rgb, RgbImage, Rgba, RgbaImage};
use proptest::prelude::*;

use super::*;
use crate::Format;

fn picture(pixels: impl Into<DynamicImage>) -> Picture {
    Picture::new(pixels.into(), Format::Png)
}

fn busy(x: u32, y: u32) -> Rgb<u8> {
    Rgb([(x * 7 + y * 13) as u8, (x * 31) as u8, (y * 17) as u8])
}

fn trim(pixels: impl Into<DynamicImage>) -> Result<Picture, ImagingError> {
    crop(picture(pixels), CropTo::Trim(TrimTolerance::default()), &EditContext::default())
}

#[test]
fn trimming_cuts_each_side_by_its_own_border() {
    let framed = RgbImage::from_fn(60, 50, |x, y| match (x, y) {
        (0..5, _) => Rgb([0, 0, 0]),
        (_, 0..8) => Rgb([250, 250, 250]),
        (_, 47..) => Rgb([9, 9, 9]),
        _ => busy(x, y),
    });
    let found =
        find_borders(&picture(framed.clone()), TrimTolerance::default(), &EditContext::default()).unwrap();
    assert_eq!(found, Borders { left: 5, top: 8, right: 0, bottom: 3 });
    assert_eq!(found.to_string(), "5 px off the left, 8 px off the top, 3 px off the bottom");
    let inside = DynamicImage::from(framed.clone()).crop_imm(5, 8, 55, 39);
    assert_eq!(trim(framed).unwrap().pixels(), &inside);
}

#[test]
fn jpeg_artefacts_in_a_border_are_tolerated() {
    let dirty = RgbImage::from_fn(40, 40, |x, y| {
        let noise = ((x * 7 + y * 3) % 6) as u8;
        if (10..30).contains(&x) && (10..30).contains(&y) { busy(x, y) } else { Rgb([240 + noise; 3]) }
    });
    let trimmed = trim(dirty).unwrap();
    assert_eq!((trimmed.width(), trimmed.height()), (20, 20));
}

#[test]
fn transparent_space_is_a_border_for_any_hidden_colour() {
    let drawing = RgbaImage::from_fn(30, 20, |x, y| {
        if (4..9).contains(&x) && (6..7).contains(&y) {
            Rgba([9, 9, 9, 255])
        } else {
            Rgba([x as u8 * 8, 200, 9, 0])
        }
    });
    let trimmed = trim(drawing).unwrap();
    assert_eq!((trimmed.width(), trimmed.height()), (5, 1));
}

#[test]
fn a_frame_inside_a_frame_stays() {
    let frames = GrayImage::from_fn(40, 40, |x, y| {
        let depth = x.min(y).min(39 - x).min(39 - y);
        Luma([if depth < 3 {
            0
        } else if depth < 6 {
            255
        } else {
            (x * 9 + y * 5) as u8
        }])
    });
    let trimmed = trim(frames).unwrap();
    assert_eq!((trimmed.width(), trimmed.height()), (34, 34));
}

#[test]
fn no_border_and_all_border_are_errors() {
    let error = trim(RgbImage::from_fn(30, 30, busy)).unwrap_err().to_string();
    assert!(error.contains("no border"), "{error}");
    for (width, height) in [(30, 30), (1, 1), (1, 50)] {
        let error = trim(RgbImage::from_pixel(width, height, Rgb([7, 8, 9]))).unwrap_err().to_string();
        assert!(error.contains("nothing would be left"), "{error}");
    }
    assert!(TrimTolerance::percent(51.0).is_err() && TrimTolerance::percent(f64::NAN).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_crop_keeps_its_pixels_bit_for_bit(
        width in 1..70u32, height in 1..70u32,
        (left, top) in (0.0..999.0f64, 0.0..999.0f64), (w, h) in (0.5..1000.0f64, 0.5..1000.0f64),
        (aspect_w, aspect_h) in (1.0..40.0f64, 1.0..40.0f64), (x, y) in (0.0..=1000.0f64, 0.0..=1000.0f64),
    ) {
        let whole = RgbImage::from_fn(width, height, busy);
        let region = Region::new(left, top, (left + w).min(1000.0), (top + h).min(1000.0)).unwrap();
        let aspect = Aspect::new(aspect_w, aspect_h).unwrap();
        for to in [CropTo::Region(region), CropTo::Aspect { aspect, center: CropCenter::new(x, y).unwrap() }] {
            let rect = to.rect(width, height).unwrap();
            prop_assert!(rect.right() <= width && rect.bottom() <= height && rect.width > 0 && rect.height > 0);
            let cropped = crop(picture(whole.clone()), to, &EditContext::default()).unwrap();
            let expected = DynamicImage::from(whole.clone()).crop_imm(rect.x, rect.y, rect.width, rect.height);
            prop_assert_eq!(cropped.pixels(), &expected);
        }
    }

    #[test]
    fn an_aspect_crop_fills_one_side_and_has_the_requested_shape(
        width in 1..4000u32, height in 1..4000u32, (w, h) in (1.0..50.0f64, 1.0..50.0f64),
    ) {
        let to = CropTo::Aspect { aspect: Aspect::new(w, h).unwrap(), center: CropCenter::default() };
        let rect = to.rect(width, height).unwrap();
        prop_assert!(rect.width == width || rect.height == height);
        // Exact to the pixel on the shorter side.
        let (ideal_w, ideal_h) = (f64::from(rect.height) * w / h, f64::from(rect.width) * h / w);
        let off = (f64::from(rect.width) - ideal_w).abs().min((f64::from(rect.height) - ideal_h).abs());
        prop_assert!(off <= 1.0, "{:?}", rect);
    }

    #[test]
    fn trimming_cuts_only_borders(
        width in 1..40u32, height in 1..40u32,
        (left, top, right, bottom) in (0..9u32, 0..9u32, 0..9u32, 0..9u32),
        percent in 0.0..20.0f64, gray in 0..=255u8,
    ) {
        let whole = GrayImage::from_fn(width, height, |x, y| {
            let inside = x >= left && y >= top && x + right < width && y + bottom < height;
            Luma([if inside { (x * 37 + y * 101) as u8 } else { gray }])
        });
        let found = find_borders(&picture(whole.clone()), TrimTolerance::percent(percent).unwrap(), &EditContext::default());
        if let Ok(found) = found {
            let kept = found.inside(width, height).unwrap();
            let most = (percent * 2.55 * 2.0).ceil() as u8 + 2;
            // Each cut row and column is within the tolerance of one colour.
            for y in (0..found.top).chain(kept.bottom()..height) {
                let row: Vec<u8> = (kept.x..kept.right()).map(|x| whole.get_pixel(x, y).0[0]).collect();
                prop_assert!(row.iter().max().unwrap() - row.iter().min().unwrap() <= most);
            }
            for x in (0..found.left).chain(kept.right()..width) {
                let column: Vec<u8> = (kept.y..kept.bottom()).map(|y| whole.get_pixel(x, y).0[0]).collect();
                prop_assert!(column.iter().max().unwrap() - column.iter().min().unwrap() <= most);
            }
        }
    }
}
