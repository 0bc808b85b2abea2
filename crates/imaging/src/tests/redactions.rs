//! Redacted content is gone: tested by what can still tell two originals apart.

use std::collections::HashSet;

use image::{DynamicImage, GenericImageView as _, ImageBuffer, Luma, Rgb, RgbImage, Rgba, RgbaImage};
use proptest::prelude::*;

use super::adjustments::{any_picture, any_region};
use crate::ops::*;
use crate::*;

const STYLES: [RedactionStyle; 3] = [RedactionStyle::Fill, RedactionStyle::Pixelate, RedactionStyle::Blur];

fn region(left: f64, top: f64, right: f64, bottom: f64) -> Region {
    Region::new(left, top, right, bottom).unwrap()
}

fn redacted(pixels: impl Into<DynamicImage>, style: RedactionStyle, regions: &[Region]) -> DynamicImage {
    let redaction = Redaction { regions: regions.to_vec(), style, color: Color::BLACK };
    redact(Picture::new(pixels.into(), Format::Png), &redaction, &EditContext::default())
        .unwrap()
        .pixels()
        .clone()
}

/// A line of dark strokes on light paper. The bits of `text` choose its letters: each has its ink in its upper or its
/// lower half, and all have the same amount.
fn writing(text: u32) -> RgbImage {
    RgbImage::from_fn(400, 200, |x, y| {
        let upper = (text >> (x / 10 % 32)) & 1 == 1;
        let ink =
            (40..360).contains(&x) && if upper { (80..100).contains(&y) } else { (100..120).contains(&y) };
        Rgb([if ink { 20 } else { 235 }; 3])
    })
}

#[test]
fn a_fill_leaves_nothing_of_the_original() {
    let part = region(100.0, 400.0, 900.0, 600.0);
    let (one, other) = (writing(0b1011_0101), writing(!0b1011_0101));
    assert_ne!(one, other);
    assert_eq!(
        redacted(one.clone(), RedactionStyle::Fill, &[part]),
        redacted(other, RedactionStyle::Fill, &[part])
    );
    let done = redacted(one, RedactionStyle::Fill, &[part]).to_rgb8();
    for (x, y, pixel) in done.enumerate_pixels() {
        let covered = (38..362).contains(&x) && (78..122).contains(&y);
        assert_eq!(pixel.0 == [0; 3], covered, "{x},{y}");
    }
}

#[test]
fn different_texts_redact_to_the_same_pixels() {
    for style in STYLES {
        for part in [region(100.0, 400.0, 900.0, 600.0), Region::FULL] {
            let results: HashSet<_> = [0u32, 0xFFFF_FFFF, 0xAAAA_5555, 0x1234_5678, 0x0F0F_3C3C]
                .map(|text| redacted(writing(text), style, &[part]).into_bytes())
                .into();
            assert_eq!(results.len(), 1, "{style:?}");
        }
    }
}

#[test]
fn a_redacted_region_of_any_size_has_few_colours() {
    let noise = |width, height| {
        RgbImage::from_fn(width, height, |x, y| {
            Rgb([1, 7, 13]
                .map(|prime| ((x * 31 + y * 1_009 + prime).wrapping_mul(2_654_435_761) >> 24) as u8))
        })
    };
    for (width, height) in [(1200, 900), (900, 90), (60, 1000), (7, 7), (30, 12), (1, 1)] {
        let done = redacted(noise(width, height), RedactionStyle::Pixelate, &[Region::FULL]).to_rgb8();
        let colors: HashSet<_> = done.pixels().map(|pixel| pixel.0).collect();
        assert!(colors.len() <= 36, "{width}×{height}: {} colours", colors.len());
        // Blocks: few runs of equal pixels along any row and column.
        let row: Vec<_> = (0..width).map(|x| done.get_pixel(x, 0)).collect();
        let column: Vec<_> = (0..height).map(|y| done.get_pixel(0, y)).collect();
        let runs = |line: &[&Rgb<u8>]| line.chunk_by(|a, b| a == b).count();
        assert!(runs(&row) <= 12 && runs(&column) <= 12);
        assert!(runs(&row).min(runs(&column)) <= 6);
    }
}

#[test]
fn a_blur_depends_on_the_blocks_alone() {
    // Two pictures with the same blocks but nothing else in common.
    let coarse =
        RgbImage::from_fn(
            480,
            480,
            |x, y| if (x / 80 + y / 80) % 2 == 0 { Rgb([240; 3]) } else { Rgb([10; 3]) },
        );
    let fine = RgbImage::from_fn(480, 480, |x, y| {
        let light = (x / 80 + y / 80) % 2 == 0;
        let dot = (x * 7 + y * 3) % 16 == 0;
        Rgb([if light {
            if dot { 120 } else { 250 }
        } else if dot {
            130
        } else {
            2
        }; 3])
    });
    let blurred = |pixels| redacted(pixels, RedactionStyle::Blur, &[Region::FULL]);
    assert_eq!(blurred(coarse.clone()), blurred(fine));
    assert_ne!(blurred(coarse), blurred(RgbImage::new(480, 480)));
}

#[test]
fn colours_and_outlines_hidden_by_alpha_are_redacted() {
    let secret =
        RgbaImage::from_fn(
            100,
            100,
            |x, y| if (x + y) % 7 < 3 { Rgba([250, 10, 10, 0]) } else { Rgba([0; 4]) },
        );
    for style in STYLES {
        let part = region(200.0, 200.0, 800.0, 800.0);
        let done = redacted(secret.clone(), style, &[part]);
        let plain = redacted(RgbaImage::new(100, 100), style, &[part]);
        for (x, y, pixel) in done.to_rgba8().enumerate_pixels() {
            let covered = (18..82).contains(&x) && (18..82).contains(&y);
            assert_eq!(pixel.0[3], if covered { 255 } else { 0 });
            assert!(!covered || *pixel == plain.get_pixel(x, y), "{style:?} {x},{y}: {pixel:?}");
        }
    }
}

#[test]
fn every_pixel_kind_is_kept_unless_a_fill_adds_colour() {
    let deep: DynamicImage = ImageBuffer::from_pixel(50, 50, Luma([40_000u16])).into();
    for style in STYLES {
        assert_eq!(redacted(deep.clone(), style, &[Region::FULL]).color(), image::ColorType::L16);
    }
    let redaction = Redaction { regions: vec![Region::FULL], style: RedactionStyle::Fill, color: Color::RED };
    let done = redact(Picture::new(deep, Format::Png), &redaction, &EditContext::default()).unwrap();
    assert_eq!(done.pixels().as_rgb16().unwrap().get_pixel(9, 9).0, [65_535, 0, 0]);
    let none = Redaction { regions: Vec::new(), ..redaction };
    assert!(redact(done, &none, &EditContext::default()).is_err());
}

proptest! {
    #[test]
    fn a_redaction_covers_its_regions_and_changes_nothing_beyond_the_margin(
        picture in any_picture(), regions in proptest::collection::vec(any_region(), 1..4), style in 0..3usize,
    ) {
        let (width, height) = (picture.width(), picture.height());
        let redaction = Redaction { regions: regions.clone(), style: STYLES[style], color: Color::BLACK };
        let done = redact(picture.clone(), &redaction, &EditContext::default()).unwrap();
        prop_assert_eq!(done.pixels().color(), picture.pixels().color());
        let (before, after) = (picture.pixels().to_rgba16(), done.pixels().to_rgba16());
        let parts: Vec<_> = regions.iter().map(|region| region.to_pixels(width, height)).collect();
        for (x, y, pixel) in before.enumerate_pixels() {
            let now = after.get_pixel(x, y);
            let covered = parts.iter().any(|part| part.contains(x, y));
            prop_assert!(!covered || now.0[3] == 65_535);
            prop_assert!(!covered || style != 0 || now.0 == [0, 0, 0, 65_535]);
            let near = parts.iter().any(|part| part.grown(2, width, height).contains(x, y));
            prop_assert!(near || pixel == now, "{},{} changed", x, y);
        }
    }
}
