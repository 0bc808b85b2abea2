//! Highlights change their outline and their label, and nothing else.

use image::{DynamicImage, Rgb, RgbImage};
use proptest::prelude::*;

use crate::ops::*;
use crate::*;

pub(super) fn noise(width: u32, height: u32) -> DynamicImage {
    RgbImage::from_fn(width, height, |x, y| {
        let v = x.wrapping_mul(2_654_435_761).wrapping_add(y.wrapping_mul(40_503)) >> 7;
        Rgb([v as u8, (v >> 3) as u8, (v >> 6) as u8])
    })
    .into()
}

pub(super) fn changed(before: &DynamicImage, after: &Picture) -> Vec<(u32, u32)> {
    let (before, after) = (before.to_rgb8(), after.pixels().to_rgb8());
    assert_eq!(before.dimensions(), after.dimensions());
    before
        .enumerate_pixels()
        .filter(|(x, y, p)| after.get_pixel(*x, *y) != *p)
        .map(|(x, y, _)| (x, y))
        .collect()
}

fn region(left: f64, top: f64, right: f64, bottom: f64) -> Region {
    Region::new(left, top, right, bottom).unwrap()
}

#[test]
fn an_outline_surrounds_its_region_and_leaves_it_alone() {
    let before = noise(400, 300);
    let after = highlight(
        Picture::new(before.clone(), Format::Png),
        &[Highlight::new(region(250.0, 250.0, 750.0, 750.0))],
        &EditContext::default(),
    );
    let touched = changed(&before, &after.unwrap());
    assert!(!touched.is_empty());
    for (x, y) in touched {
        assert!(!((100..300).contains(&x) && (75..225).contains(&y)), "inside at {x},{y}");
        assert!((94..306).contains(&x) && (69..231).contains(&y), "far outside at {x},{y}");
    }
}

#[test]
fn the_outline_has_the_requested_colour_on_every_side() {
    let before = noise(400, 300);
    let mark = Highlight {
        color: Color::parse("lime").unwrap(),
        ..Highlight::new(region(250.0, 250.0, 750.0, 750.0))
    };
    let after = highlight(Picture::new(before, Format::Png), &[mark], &EditContext::default()).unwrap();
    let pixels = after.pixels().to_rgb8();
    let lime = |(x, y): &(u32, u32)| pixels.get_pixel(*x, *y).0 == [0, 255, 0];
    assert!([(97, 150), (302, 150), (200, 72), (200, 227)].iter().all(lime));
}

#[test]
fn labels_do_not_cover_each_other() {
    let before = noise(600, 400);
    let at = |left: f64, name: &str| Highlight {
        label: Some(name.into()),
        color: Color::parse(if name == "one" { "blue" } else { "yellow" }).unwrap(),
        ..Highlight::new(region(left, 400.0, left + 30.0, 500.0))
    };
    let after = highlight(
        Picture::new(before, Format::Png),
        &[at(400.0, "one"), at(410.0, "two")],
        &EditContext::default(),
    )
    .unwrap();
    let pixels = after.pixels().to_rgb8();
    let count = |color: [u8; 3]| pixels.pixels().filter(|p| p.0 == color).count();
    assert!(count([0, 0, 255]) > 600 && count([255, 255, 0]) > 600, "both plates are in full view");
}

#[test]
fn a_spotlight_darkens_everything_else() {
    let before = DynamicImage::from(RgbImage::from_pixel(300, 200, Rgb([200, 200, 200])));
    let mark =
        Highlight { shape: HighlightShape::Spotlight, ..Highlight::new(region(300.0, 300.0, 700.0, 700.0)) };
    let after = highlight(Picture::new(before, Format::Png), &[mark], &EditContext::default())
        .unwrap()
        .pixels()
        .to_rgb8();
    assert_eq!(after.get_pixel(150, 100).0, [200, 200, 200]);
    assert!(after.get_pixel(10, 10).0[0] < 100 && after.get_pixel(290, 190).0[0] < 100);
}

#[test]
fn colour_can_be_drawn_on_gray_and_16_bit_pictures() {
    for pixels in [
        DynamicImage::new_luma8(90, 90),
        DynamicImage::new_luma_a8(90, 90),
        DynamicImage::new_luma16(90, 90),
        DynamicImage::new_rgba16(90, 90),
    ] {
        let mark =
            Highlight { label: Some("x".into()), ..Highlight::new(region(200.0, 400.0, 800.0, 800.0)) };
        let done = highlight(Picture::new(pixels, Format::Png), &[mark], &EditContext::default()).unwrap();
        assert!(done.pixels().to_rgba8().pixels().any(|p| p.0 == [255, 0, 0, 255]));
    }
}

#[test]
fn arguments_out_of_range_are_refused() {
    let picture = || Picture::new(noise(50, 50), Format::Png);
    assert!(matches!(highlight(picture(), &[], &EditContext::default()), Err(ImagingError::BadArgument(_))));
    for thickness in [0.0, -1.0, f64::NAN, 500.0] {
        let mark = Highlight { thickness: Some(thickness), ..Highlight::new(Region::FULL) };
        let error = highlight(picture(), &[mark], &EditContext::default()).unwrap_err().to_string();
        assert!(error.contains("1 to 100"), "{error}");
    }
}

#[test]
fn a_highlight_deserializes_with_defaults() {
    let json = r#"{"left":1,"top":2,"right":300,"bottom":400,"label":"eagle","shape":"ellipse"}"#;
    let mark: Highlight = serde_json::from_str(json).unwrap();
    assert_eq!((mark.shape, mark.color, mark.thickness), (HighlightShape::Ellipse, Color::RED, None));
    assert_eq!(serde_json::from_value::<Highlight>(serde_json::to_value(&mark).unwrap()).unwrap(), mark);
    assert!(serde_json::from_str::<Highlight>(r#"{"left":5,"top":2,"right":3,"bottom":4}"#).is_err());
}

#[test]
fn numbers_are_in_round_plates_or_before_labels() {
    let before = noise(600, 400);
    let mark = |number, label: Option<&str>| Highlight {
        number: Some(number),
        label: label.map(Into::into),
        ..Highlight::new(region(300.0, 300.0, 700.0, 700.0))
    };
    let edit = |mark| {
        let picture = Picture::new(before.clone(), Format::Png);
        highlight(picture, &[mark], &EditContext::default()).unwrap().pixels().to_rgb8()
    };
    let numbered = edit(mark(1, None));
    let plain = edit(Highlight { number: None, ..mark(1, None) });
    let plate: Vec<_> = numbered
        .enumerate_pixels()
        .filter(|(x, y, p)| plain.get_pixel(*x, *y) != *p)
        .map(|(x, y, _)| (f64::from(x) - 180.0, f64::from(y) - 120.0))
        .collect();
    assert!(plate.len() > 150, "there is a plate on the corner");
    assert!(plate.iter().all(|(x, y)| x.hypot(*y) < 20.0), "and it is round");
    assert_ne!(numbered, edit(mark(2, None)));
    let both = Highlight { number: None, label: Some("1 eagle".into()), ..mark(1, None) };
    assert_eq!(edit(mark(1, Some("eagle"))), edit(both));
}

#[test]
fn a_right_to_left_label_is_complete_for_any_region() {
    let before = DynamicImage::from(RgbImage::from_pixel(300, 200, Rgb([90, 120, 90])));
    let whites = |left: f64, top: f64| {
        let mark = Highlight {
            label: Some("نسر ذهبي".into()),
            ..Highlight::new(region(left, top, left + 20.0, top + 20.0))
        };
        let picture = Picture::new(before.clone(), Format::Png);
        let after = highlight(picture, &[mark], &EditContext::default()).unwrap().pixels().to_rgb8();
        after.pixels().filter(|p| p.0 == [255, 255, 255]).count()
    };
    let middle = whites(500.0, 500.0);
    assert!(middle > 60, "{middle}");
    for (left, top) in [(0.0, 0.0), (980.0, 0.0), (0.0, 980.0), (980.0, 980.0)] {
        assert_eq!(whites(left, top), middle, "at {left},{top}");
    }
}

#[test]
fn the_surroundings_of_a_spotlight_have_no_seams_at_any_depth() {
    for before in [
        DynamicImage::from(RgbImage::from_pixel(120, 80, Rgb([200, 100, 50]))),
        DynamicImage::from(RgbImage::from_pixel(120, 80, Rgb([200, 100, 50]))).into_rgba8().into(),
        DynamicImage::from(RgbImage::from_pixel(120, 80, Rgb([200, 100, 50]))).into_rgb16().into(),
        DynamicImage::from(RgbImage::from_pixel(120, 80, Rgb([200, 100, 50]))).into_rgba16().into(),
    ] {
        let lit = |l, r| Highlight {
            shape: HighlightShape::Spotlight,
            ..Highlight::new(region(l, 300.0, r, 700.0))
        };
        let picture = Picture::new(before.clone(), Format::Png);
        let after =
            highlight(picture, &[lit(200.0, 500.0), lit(400.0, 800.0)], &EditContext::default()).unwrap();
        let after = after.pixels().to_rgba8();
        for (x, y) in [(2, 2), (118, 40), (60, 78), (5, 40)] {
            assert_eq!(after.get_pixel(x, y).0, [64, 32, 16, 255], "{x},{y}");
        }
        assert_eq!(after.get_pixel(40, 40).0, [200, 100, 50, 255]);
        assert_eq!(after.get_pixel(80, 40).0, [200, 100, 50, 255]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_highlight_changes_only_its_outline_and_label(
        width in 1..160u32, height in 1..160u32,
        l in 0.0..999.0f64, t in 0.0..999.0f64, w in 0.001..1000.0f64, h in 0.001..1000.0f64,
        label in proptest::option::of(".{0,30}"),
        thickness in proptest::option::of(1.0..=100.0f64),
    ) {
        let region = region(l, t, (l + w).min(1000.0), (t + h).min(1000.0));
        let before = noise(width, height);
        let mark = Highlight { label, thickness, ..Highlight::new(region) };
        let plain = Highlight { label: None, ..mark.clone() };
        let picture = || Picture::new(before.clone(), Format::Png);

        // Without a label: changes stay within the reach of the outline around the region (or around where the frame
        // moved it).
        let outlined = highlight(picture(), &[plain], &EditContext::default()).unwrap();
        let shorter = f64::from(width.min(height));
        let reach = (thickness.unwrap_or(7.0) * shorter / 1000.0).round().max(2.0) * 1.5 + 2.0;
        let rect = region.to_pixels(width, height);
        for (x, y) in changed(&before, &outlined) {
            let beyond = |at: u32, start: u32, end: u32| f64::from(start.saturating_sub(at).max(at.saturating_sub(end - 1)));
            prop_assert!(beyond(x, rect.x, rect.right()) <= 2.0 * reach, "outline at {x},{y}");
            prop_assert!(beyond(y, rect.y, rect.bottom()) <= 2.0 * reach, "outline at {x},{y}");
            let deep = |at: u32, start: u32, end: u32| f64::from((at + 1).saturating_sub(start).min(end.saturating_sub(at)));
            let depth = deep(x, rect.x, rect.right()).min(deep(y, rect.y, rect.bottom()));
            prop_assert!(depth <= 2.0 * reach, "inside at {x},{y}");
        }

        // With a label: all other changes fit one plate that is no taller than its text needs.
        let labelled = highlight(picture(), &[mark], &EditContext::default()).unwrap();
        let plate = changed(outlined.pixels(), &labelled);
        if let (Some(top), Some(bottom)) = (plate.iter().map(|p| p.1).min(), plate.iter().map(|p| p.1).max()) {
            prop_assert!(bottom - top < 40, "plate from {top} to {bottom}");
        }
    }

    #[test]
    fn ellipses_and_spotlights_never_panic(
        width in 1..120u32, height in 1..120u32,
        l in 0.0..999.0f64, t in 0.0..999.0f64, w in 0.001..1000.0f64, h in 0.001..1000.0f64,
    ) {
        let region = region(l, t, (l + w).min(1000.0), (t + h).min(1000.0));
        for shape in [HighlightShape::Ellipse, HighlightShape::Spotlight] {
            let mark = Highlight { shape, label: Some("a label".into()), ..Highlight::new(region) };
            prop_assert!(highlight(Picture::new(noise(width, height), Format::Png), &[mark], &EditContext::default()).is_ok());
        }
    }
}
