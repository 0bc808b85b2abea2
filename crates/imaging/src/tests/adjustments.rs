//! Filters and adjustments: measurable effects, and no change outside their region.

use image::{DynamicImage, ImageBuffer, Luma, LumaA, Rgb, RgbImage, Rgba, RgbaImage};
use proptest::prelude::*;

use super::read;
use crate::ops::*;
use crate::pixels::luma;
use crate::*;

fn photo() -> Picture {
    let photo = decode(&read("photo_rocket.jpg"), &EditContext::default()).unwrap();
    resize(photo, ResizeTo::longest(160).unwrap(), &EditContext::default()).unwrap()
}

fn filtered(picture: Picture, filtering: impl Into<FilterSettings>) -> Picture {
    filter(picture, filtering, &EditContext::default()).unwrap()
}

fn adjusted(picture: Picture, adjustment: Adjustment) -> Picture {
    adjust(picture, &adjustment, &EditContext::default()).unwrap()
}

fn png(pixels: impl Into<DynamicImage>) -> Picture {
    Picture::new(pixels.into(), Format::Png)
}

fn one(pixel: [u8; 4]) -> Picture {
    png(RgbaImage::from_pixel(2, 2, Rgba(pixel)))
}

fn seen(picture: &Picture) -> [u8; 4] {
    picture.pixels().to_rgba8().get_pixel(1, 1).0
}

/// Every gray from black to white.
fn ramp() -> Picture {
    png(RgbImage::from_fn(256, 4, |x, _| Rgb([x as u8; 3])))
}

fn grays(picture: &Picture) -> Vec<u8> {
    (0..256).map(|x| picture.pixels().to_luma8().get_pixel(x, 1).0[0]).collect()
}

fn mean(picture: &Picture) -> f64 {
    let pixels = picture.pixels().to_rgb8();
    let sum: f64 = pixels.pixels().map(|pixel| f64::from(luma(&pixel.0))).sum();
    sum / f64::from(pixels.width() * pixels.height())
}

fn spread(picture: &Picture) -> f64 {
    let pixels = picture.pixels().to_rgb8();
    let middle = mean(picture);
    let sum: f64 = pixels.pixels().map(|pixel| (f64::from(luma(&pixel.0)) - middle).powi(2)).sum();
    (sum / f64::from(pixels.width() * pixels.height())).sqrt()
}

/// Mean difference between neighbours.
fn roughness(picture: &Picture) -> f64 {
    let pixels = picture.pixels().to_luma8();
    let pairs = pixels.rows().flat_map(|row| {
        let row: Vec<_> = row.map(|pixel| pixel.0[0]).collect();
        row.windows(2).map(|pair| f64::from(pair[0].abs_diff(pair[1]))).collect::<Vec<_>>()
    });
    pairs.sum()
}

fn colorfulness(picture: &Picture) -> f64 {
    let pixels = picture.pixels().to_rgb8();
    pixels.pixels().map(|Rgb([r, g, b])| f64::from(r.max(g).max(b) - r.min(g).min(b))).sum()
}

#[test]
fn colour_filters_leave_alpha() {
    assert_eq!(seen(&filtered(one([255, 0, 10, 77]), Filter::Invert)), [0, 255, 245, 77]);
    let [r, g, b, a] = seen(&filtered(one([0, 200, 0, 77]), Filter::Grayscale));
    assert!(r == g && g == b && (120..170).contains(&g) && a == 77);
    assert_eq!(seen(&filtered(one([255, 255, 255, 77]), Filter::Sepia)), [255, 255, 239, 77]);
    let [r, g, b, _] = seen(&filtered(one([100, 100, 100, 255]), Filter::Sepia));
    assert!(r > g && g > b);
    let half = FilterSettings { strength: Some(50.0), ..Filter::Invert.into() };
    let [r, g, b, a] = seen(&filtered(one([255, 55, 0, 77]), half));
    assert!([r, g, b].iter().all(|value| (127..=128).contains(value)) && a == 77);
}

#[test]
fn grayscale_is_the_same_in_a_region_and_in_the_whole() {
    let part = FilterSettings { region: Some(Region::FULL), ..Filter::Grayscale.into() };
    let (whole, part) = (filtered(photo(), Filter::Grayscale), filtered(photo(), part));
    assert!(!whole.pixels().color().has_color() && part.pixels().color().has_color());
    for (a, b) in whole.pixels().to_rgb8().pixels().zip(part.pixels().to_rgb8().pixels()) {
        assert!(a.0.iter().zip(b.0).all(|(a, b)| a.abs_diff(b) <= 1));
    }
}

#[test]
fn each_filter_does_what_its_name_says() {
    let before = photo();
    assert!(roughness(&filtered(before.clone(), Filter::Blur)) < roughness(&before) * 0.6);
    assert!(roughness(&filtered(before.clone(), Filter::Sharpen)) > roughness(&before) * 1.2);
    assert!(mean(&filtered(before.clone(), Filter::Edges)) < 0.4);
    assert!(mean(&filtered(before.clone(), Filter::Sketch)) > 0.7);

    let values = |picture: &Picture| {
        picture.pixels().to_rgb8().into_raw().into_iter().collect::<std::collections::HashSet<_>>().len()
    };
    assert!(values(&filtered(before.clone(), Filter::Posterize)) <= 6);

    let white = filtered(png(RgbImage::from_pixel(90, 60, Rgb([200; 3]))), Filter::Vignette);
    let at = |x, y| white.pixels().to_rgb8().get_pixel(x, y).0[0];
    assert_eq!(at(45, 30), 200);
    assert!(at(0, 0) < 140 && at(89, 59) == at(0, 0) && at(0, 30) > at(0, 0));

    let tones = grays(&filtered(
        ramp(),
        FilterSettings { colors: [Color::BLACK, Color::WHITE], ..Filter::Duotone.into() },
    ));
    assert!(tones.is_sorted());
    let two =
        FilterSettings { colors: [Color::rgb(9, 8, 70), Color::rgb(250, 200, 3)], ..Filter::Duotone.into() };
    let two = filtered(ramp(), two).pixels().to_rgb8();
    assert_eq!((two.get_pixel(0, 0).0, two.get_pixel(255, 0).0), ([9, 8, 70], [250, 200, 3]));

    let blocks =
        filtered(png(RgbImage::from_fn(200, 200, |x, y| Rgb([x as u8, y as u8, 0]))), Filter::Pixelate);
    let blocks = blocks.pixels().to_rgb8();
    assert_eq!(blocks.get_pixel(0, 0), blocks.get_pixel(4, 4));
    assert_ne!(blocks.get_pixel(4, 4), blocks.get_pixel(5, 5));
}

#[test]
fn grain_is_deterministic_and_keeps_mean_brightness() {
    let flat = || png(RgbImage::from_pixel(512, 512, Rgb([120, 130, 140])));
    let grainy = filtered(flat(), Filter::Grain);
    assert_eq!(grainy.pixels(), filtered(flat(), Filter::Grain).pixels());
    assert!((mean(&grainy) - mean(&flat())).abs() < 0.001);
    assert!((0.02..0.08).contains(&spread(&grainy)), "{}", spread(&grainy));
    for black_or_white in [0, 255] {
        let plain = png(RgbImage::from_pixel(64, 64, Rgb([black_or_white; 3])));
        assert_eq!(filtered(plain.clone(), Filter::Grain).pixels(), plain.pixels());
    }
}

#[test]
fn hidden_colours_do_not_bleed() {
    let half =
        RgbaImage::from_fn(64, 64, |x, _| if x < 32 { Rgba([0, 200, 0, 255]) } else { Rgba([255, 0, 0, 0]) });
    for kind in [Filter::Blur, Filter::Pixelate, Filter::Sharpen] {
        let strong = FilterSettings { strength: Some(100.0), ..kind.into() };
        let done = filtered(png(half.clone()), strong);
        for (before, after) in half.pixels().zip(done.pixels().as_rgba8().unwrap().pixels()) {
            assert_eq!(before.0[3], after.0[3]);
            assert!(after.0[3] == 0 || after.0 == [0, 200, 0, 255], "{kind:?}: {after:?}");
        }
    }
}

#[test]
fn every_adjustment_changes_what_it_names() {
    let none = Adjustment::default();
    let before = photo();
    let with = |adjustment| adjusted(photo(), adjustment);
    for (more, less) in [
        (Adjustment { brightness: 40.0, ..none }, Adjustment { brightness: -40.0, ..none }),
        (Adjustment { exposure: 40.0, ..none }, Adjustment { exposure: -40.0, ..none }),
        (Adjustment { shadows: 40.0, ..none }, Adjustment { shadows: -40.0, ..none }),
        (Adjustment { highlights: 40.0, ..none }, Adjustment { highlights: -40.0, ..none }),
    ] {
        assert!(mean(&with(more)) > mean(&before) && mean(&with(less)) < mean(&before), "{more:?}");
        assert!(grays(&adjusted(ramp(), more)).is_sorted() && grays(&adjusted(ramp(), less)).is_sorted());
        assert_eq!(grays(&adjusted(ramp(), more))[0], 0);
        assert_eq!(grays(&adjusted(ramp(), more))[255], 255);
    }
    for (measure, more, less) in [
        (
            spread as fn(&Picture) -> f64,
            Adjustment { contrast: 40.0, ..none },
            Adjustment { contrast: -40.0, ..none },
        ),
        (colorfulness, Adjustment { saturation: 40.0, ..none }, Adjustment { saturation: -40.0, ..none }),
        (roughness, Adjustment { sharpness: 60.0, ..none }, Adjustment { sharpness: -60.0, ..none }),
    ] {
        let (more_of_it, less_of_it) = (measure(&with(more)), measure(&with(less)));
        assert!(more_of_it > measure(&before) * 1.03 && less_of_it < measure(&before) * 0.97, "{more:?}");
    }
    assert_eq!(colorfulness(&with(Adjustment { saturation: -100.0, ..none })), 0.0);
    let shadows = grays(&adjusted(ramp(), Adjustment { shadows: 60.0, ..none }));
    assert!(shadows[40] > 60 && shadows[230] < 234);
    let highlights = grays(&adjusted(ramp(), Adjustment { highlights: -60.0, ..none }));
    assert!(highlights[215] < 200 && highlights[30] > 27);
}

#[test]
fn warmth_tints_gray_and_keeps_its_brightness() {
    for (warmth, warmer) in [(60.0, true), (-60.0, false)] {
        let [r, g, b, _] =
            seen(&adjusted(one([128, 128, 128, 255]), Adjustment { warmth, ..Default::default() }));
        assert_eq!(r > g && g > b, warmer);
        assert_eq!(r < g && g < b, !warmer);
        assert!((luma(&[r, g, b]) - 128.0 / 255.0).abs() < 0.02);
    }
}

#[test]
fn adjustments_of_light_keep_hues() {
    let hue = |[r, g, b, _]: [u8; 4]| {
        let (r, g, b) = (f64::from(r), f64::from(g), f64::from(b));
        (3f64.sqrt() * (g - b)).atan2(2.0 * r - g - b).to_degrees()
    };
    let none = Adjustment::default();
    for color in [[180, 90, 40, 255], [60, 140, 200, 255], [230, 200, 90, 255], [90, 30, 120, 255]] {
        for adjustment in [
            Adjustment { exposure: 70.0, ..none },
            Adjustment { exposure: -40.0, ..none },
            Adjustment { brightness: 60.0, contrast: 50.0, ..none },
            Adjustment { saturation: 80.0, ..none },
            Adjustment { shadows: 80.0, highlights: -80.0, ..none },
        ] {
            let after = seen(&adjusted(one(color), adjustment));
            assert!((hue(after) - hue(color)).abs() < 3.0, "{color:?} {adjustment:?}: {after:?}");
        }
    }
}

#[test]
fn auto_levels_fill_the_range_without_a_colour_cast() {
    let dull = png(RgbImage::from_fn(256, 64, |x, _| Rgb([(60 + x / 3) as u8; 3])));
    let done = adjusted(dull, Adjustment { auto_levels: true, ..Default::default() });
    let done = grays(&done);
    assert!(done[0] <= 2 && done[255] >= 253 && done.is_sorted());
    for flat in [0, 128, 255] {
        let flat = png(RgbImage::from_pixel(20, 20, Rgb([flat, flat, 90])));
        let done = adjusted(flat.clone(), Adjustment { auto_levels: true, ..Default::default() });
        assert_eq!(done.pixels(), flat.pixels());
    }
    let gray = png(RgbaImage::from_fn(2, 2, |x, y| {
        Rgba(if x == y { [90, 90, 90, 255] } else { [150, 150, 150, 255] })
    }));
    let [r, g, b, _] = seen(&adjusted(gray, Adjustment { auto_levels: true, ..Default::default() }));
    assert!(r == g && g == b);
}

#[test]
fn pictures_of_16_bits_stay_16_bits_and_smooth() {
    let deep = ImageBuffer::from_fn(4096, 2, |x, _| Rgb([(x * 16) as u16, (x * 15) as u16, (x * 14) as u16]));
    let done = adjusted(png(deep), Adjustment { brightness: 50.0, contrast: 20.0, ..Default::default() });
    let row: Vec<_> =
        done.pixels().as_rgb16().unwrap().rows().next().unwrap().map(|pixel| pixel.0[0]).collect();
    let values: std::collections::HashSet<_> = row.iter().collect();
    assert!(row.is_sorted() && values.len() > 3500, "{}", values.len());
    let deep = ImageBuffer::from_pixel(2, 2, Rgb([1000u16, 30000, 60000]));
    let inverted = filtered(png(deep), Filter::Invert);
    assert_eq!(inverted.pixels().as_rgb16().unwrap().get_pixel(0, 0).0, [64535, 35535, 5535]);
}

#[test]
fn amounts_out_of_range_are_refused() {
    for strength in [0.0, -1.0, 101.0, f64::NAN] {
        let error = filter(
            photo(),
            FilterSettings { strength: Some(strength), ..Filter::Blur.into() },
            &EditContext::default(),
        );
        assert!(error.unwrap_err().to_string().contains("strength is"));
    }
    for warmth in [-101.0, 100.5, f64::NAN] {
        let error = adjust(photo(), &Adjustment { warmth, ..Default::default() }, &EditContext::default());
        assert!(error.unwrap_err().to_string().contains("warmth is"));
    }
}

/// A picture of any pixel kind, with some content.
pub fn any_picture() -> impl Strategy<Value = Picture> {
    (0..8u32, 1..40u32, 1..40u32, any::<u32>()).prop_map(|(kind, width, height, seed)| {
        let value = |x: u32, y: u32, channel: u32| {
            let mixed = (x * 31 + y * 17 + channel * 101).wrapping_add(seed).wrapping_mul(2_654_435_761);
            (mixed >> 16) as u16
        };
        let small = |x, y, channel| (value(x, y, channel) >> 8) as u8;
        let pixels: DynamicImage = match kind {
            0 => ImageBuffer::from_fn(width, height, |x, y| Luma([small(x, y, 0)])).into(),
            1 => ImageBuffer::from_fn(width, height, |x, y| LumaA([0, 3].map(|c| small(x, y, c)))).into(),
            2 => ImageBuffer::from_fn(width, height, |x, y| Rgb([0, 1, 2].map(|c| small(x, y, c)))).into(),
            3 => {
                ImageBuffer::from_fn(width, height, |x, y| Rgba([0, 1, 2, 3].map(|c| small(x, y, c)))).into()
            }
            4 => ImageBuffer::from_fn(width, height, |x, y| Luma([value(x, y, 0)])).into(),
            5 => ImageBuffer::from_fn(width, height, |x, y| LumaA([0, 3].map(|c| value(x, y, c)))).into(),
            6 => ImageBuffer::from_fn(width, height, |x, y| Rgb([0, 1, 2].map(|c| value(x, y, c)))).into(),
            _ => {
                ImageBuffer::from_fn(width, height, |x, y| Rgba([0, 1, 2, 3].map(|c| value(x, y, c)))).into()
            }
        };
        png(pixels)
    })
}

pub fn any_region() -> impl Strategy<Value = Region> {
    (0.0..990.0f64, 0.0..990.0f64, 1.0..1000.0f64, 1.0..1000.0f64).prop_map(|(left, top, width, height)| {
        Region::new(left, top, (left + width).min(1000.0), (top + height).min(1000.0)).unwrap()
    })
}

proptest! {
    #[test]
    fn nothing_outside_the_region_changes_and_alpha_never_does(
        picture in any_picture(), region in any_region(), kind in 0..14usize, amount in 1.0..100.0f64,
    ) {
        let done = match Filter::ALL.get(kind) {
            Some(kind) => filtered(
                picture.clone(),
                FilterSettings { strength: Some(amount), region: Some(region), ..(*kind).into() },
            ),
            None => adjusted(picture.clone(), Adjustment {
                brightness: amount, contrast: -amount, warmth: amount, exposure: amount - 50.0,
                sharpness: if kind == 12 { amount } else { -amount },
                auto_levels: true, region: Some(region), ..Default::default()
            }),
        };
        let part = region.to_pixels(picture.width(), picture.height());
        let (before, after) = (picture.pixels().to_rgba16(), done.pixels().to_rgba16());
        prop_assert_eq!(before.dimensions(), after.dimensions());
        for (x, y, pixel) in before.enumerate_pixels() {
            let now = after.get_pixel(x, y);
            prop_assert_eq!(pixel.0[3], now.0[3]);
            prop_assert!(part.contains(x, y) || pixel == now, "{},{} changed", x, y);
        }
    }
}
