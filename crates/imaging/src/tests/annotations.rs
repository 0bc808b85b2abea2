//! Annotations and watermarks are readable on any picture, stay in place, and leave the rest alone.

use image::{DynamicImage, GenericImageView as _, Rgb, RgbImage, Rgba, RgbaImage};
use proptest::prelude::*;

use super::highlights::{changed, noise};
use crate::ops::*;
use crate::*;

fn spot(x: f64, y: f64) -> RelativePoint {
    RelativePoint::new(x, y).unwrap()
}

fn text_annotation(text: &str, position: TextPosition) -> TextAnnotation {
    TextAnnotation {
        text: text.to_owned(),
        position,
        size: 60.0,
        color: Color::WHITE,
        backing: TextBacking::Outline,
        align: TextAlign::Center,
    }
}

fn path(kind: LineKind, points: &[(f64, f64)]) -> Annotation {
    let points = points.iter().map(|(x, y)| spot(*x, *y)).collect();
    Annotation::Line(LineAnnotation { kind, points, color: Color::RED, thickness: 12.0 })
}

fn pin(x: f64, y: f64) -> Annotation {
    Annotation::Pin(PinAnnotation { at: spot(x, y), number: 12, color: Color::RED, size: 100.0 })
}

fn on(before: &DynamicImage, annotations: &[Annotation]) -> Picture {
    annotate(Picture::new(before.clone(), Format::Png), annotations, &EditContext::default()).unwrap()
}

/// The smallest rectangle around all changed pixels: left, top, right, bottom.
fn extent(touched: &[(u32, u32)]) -> (u32, u32, u32, u32) {
    touched.iter().fold((u32::MAX, u32::MAX, 0, 0), |(l, t, r, b), &(x, y)| {
        (l.min(x), t.min(y), r.max(x + 1), b.max(y + 1))
    })
}

#[test]
fn an_arrow_reaches_from_start_to_tip() {
    let before = noise(400, 400);
    let after = on(&before, &[path(LineKind::Arrow, &[(200.0, 500.0), (800.0, 500.0)])]);
    let (left, top, right, bottom) = extent(&changed(&before, &after));
    assert!((72..=80).contains(&left) && (318..=323).contains(&right), "{left} to {right}");
    let pixels = after.pixels();
    let red = |x, y| pixels.get_pixel(x, y).0[..3] == [255, 0, 0];
    assert!(red(100, 200) && red(250, 200) && red(312, 200));
    // The head is wider than the shaft.
    let across = |x| (top..bottom).filter(|y| red(x, *y)).count();
    assert!(across(306) > 2 * across(150), "{} {}", across(306), across(150));
}

#[test]
fn a_filled_polygon_tints_its_inside_only() {
    let before = DynamicImage::from(RgbImage::from_pixel(200, 200, Rgb([0, 0, 200])));
    let corners = [(200.0, 200.0), (800.0, 200.0), (800.0, 800.0), (200.0, 800.0)];
    let after = on(&before, &[path(LineKind::Closed { fill: 0.5 }, &corners)]);
    assert_eq!(after.pixels().get_pixel(100, 100).0, [128, 0, 100, 255]);
    assert_eq!(after.pixels().get_pixel(20, 100).0, [0, 0, 200, 255]);
    let open = on(&before, &[path(LineKind::Open, &corners)]);
    assert_eq!(open.pixels().get_pixel(100, 100).0, [0, 0, 200, 255]);
    assert_eq!(open.pixels().get_pixel(40, 100).0, [0, 0, 200, 255], "the last side is left open");
    assert_eq!(open.pixels().get_pixel(160, 100).0, [255, 0, 0, 255]);
}

#[test]
fn a_pin_points_at_its_position_with_its_body_inside_the_frame() {
    let before = noise(300, 300);
    for (x, y) in [(500.0, 500.0), (0.0, 0.0), (1000.0, 0.0), (0.0, 1000.0), (1000.0, 1000.0), (500.0, 0.0)] {
        let after = on(&before, &[pin(x, y)]);
        let (left, top, right, bottom) = extent(&changed(&before, &after));
        let (tip_x, tip_y) = ((x * 0.3) as u32, (y * 0.3) as u32);
        let near = |tip: u32, from: u32, to: u32| from <= tip + 3 && tip <= to + 3;
        assert!(near(tip_x, left, right) && near(tip_y, top, bottom), "{x},{y}");
        let red = after.pixels().pixels().filter(|(.., p)| p.0[..3] == [255, 0, 0]).count();
        assert!(red > 350, "the body is whole at {x},{y}: {red}");
    }
}

#[test]
fn text_in_a_region_stays_in_it() {
    let before = noise(500, 300);
    let region = Region::new(100.0, 200.0, 500.0, 700.0).unwrap();
    let text = text_annotation("The quick brown fox jumps over the lazy dog", TextPosition::In(region));
    for backing in [TextBacking::Outline, TextBacking::Plate, TextBacking::None] {
        let after = on(&before, &[Annotation::Text(TextAnnotation { backing, ..text.clone() })]);
        let (left, top, right, bottom) = extent(&changed(&before, &after));
        assert!(left >= 49 && right <= 251 && top >= 59 && bottom <= 211, "{left} {top} {right} {bottom}");
        assert!(right - left > 100 && bottom - top > 30, "and fills it");
    }
}

#[test]
fn text_is_readable_on_white_and_on_black() {
    for shade in [0, 255] {
        let before = DynamicImage::from(RgbImage::from_pixel(300, 200, Rgb([shade; 3])));
        let after = on(
            &before,
            &[Annotation::Text(TextAnnotation {
                size: 200.0,
                ..text_annotation("eagle", TextPosition::At(spot(500.0, 500.0)))
            })],
        );
        let pixels = after.pixels().to_rgb8();
        let count = |of: fn(u8) -> bool| pixels.pixels().filter(|p| of(p.0[0])).count();
        assert!(count(|v| v > 230) > 100 && count(|v| v < 40) > 100, "on {shade}");
    }
}

#[test]
fn annotations_draw_on_gray_16_bit_and_transparent_pictures() {
    for pixels in [
        DynamicImage::new_luma8(120, 90),
        DynamicImage::new_luma_a8(120, 90),
        DynamicImage::new_rgb16(120, 90),
        DynamicImage::new_rgba16(120, 90),
    ] {
        let deep = pixels.color().bytes_per_pixel() / pixels.color().channel_count() == 2;
        let after = on(
            &pixels,
            &[
                Annotation::Text(text_annotation("hi", TextPosition::At(spot(500.0, 300.0)))),
                path(LineKind::Open, &[(100.0, 800.0), (900.0, 800.0)]),
                pin(800.0, 600.0),
            ],
        );
        assert!(after.pixels().to_rgba8().pixels().any(|p| p.0 == [255, 0, 0, 255]));
        assert_eq!(after.pixels().color().has_alpha(), pixels.color().has_alpha());
        let color = after.pixels().color();
        assert_eq!(color.bytes_per_pixel() / color.channel_count() == 2, deep);
    }
}

fn signed(before: &DynamicImage, content: WatermarkContent, position: WatermarkPosition) -> Picture {
    let content = Watermark { content, position, opacity: 0.6, size: 0.25 };
    watermark(Picture::new(before.clone(), Format::Png), &content, &EditContext::default()).unwrap()
}

fn text_mark() -> WatermarkContent {
    WatermarkContent::Text { text: "© Jane Doe".to_owned(), color: Color::WHITE }
}

#[test]
fn a_watermark_is_in_its_corner_with_margin_and_requested_width() {
    let before = noise(400, 300);
    for (position, (left, top)) in [
        (WatermarkPosition::TopLeft, (true, true)),
        (WatermarkPosition::TopRight, (false, true)),
        (WatermarkPosition::BottomLeft, (true, false)),
        (WatermarkPosition::BottomRight, (false, false)),
    ] {
        let reach = extent(&changed(&before, &signed(&before, text_mark(), position)));
        assert!((90..=102).contains(&(reach.2 - reach.0)), "{position:?}: {reach:?}");
        let margins = if left { reach.0 } else { 400 - reach.2 };
        assert!((6..=14).contains(&margins), "{position:?}: {reach:?}");
        let margins = if top { reach.1 } else { 300 - reach.3 };
        assert!((6..=16).contains(&margins), "{position:?}: {reach:?}");
    }
}

#[test]
fn a_tiled_watermark_covers_every_part_of_the_picture() {
    let before = noise(400, 300);
    let touched = changed(&before, &signed(&before, text_mark(), WatermarkPosition::Tile));
    for (column, row) in [(0, 0), (1, 0), (2, 0), (0, 1), (1, 1), (2, 1), (0, 2), (1, 2), (2, 2)] {
        let here = touched.iter().filter(|(x, y)| x * 3 / 400 == column && y * 3 / 300 == row).count();
        assert!(here > 100, "{column},{row}: {here}");
    }
    assert!(touched.len() < 400 * 300 / 2, "and leaves most of it alone");
}

#[test]
fn a_picture_watermark_keeps_its_transparency() {
    let mut logo = RgbaImage::from_pixel(50, 50, Rgba([0, 255, 0, 255]));
    (0..50).for_each(|x| (0..25).for_each(|y| logo.put_pixel(x, y, Rgba([0, 255, 0, 0]))));
    let content =
        WatermarkContent::picture(Picture::new(logo.into(), Format::Png), &EditContext::default()).unwrap();
    let before = DynamicImage::from(RgbImage::from_pixel(400, 400, Rgb([100, 100, 100])));
    let after = signed(&before, content, WatermarkPosition::Center);
    assert_eq!(after.pixels().get_pixel(200, 170).0, [100, 100, 100, 255]);
    assert_eq!(after.pixels().get_pixel(200, 230).0, [40, 193, 40, 255]);
    assert_eq!(after.pixels().get_pixel(260, 230).0, [100, 100, 100, 255]);
}

#[test]
fn a_stopped_edit_draws_nothing_more() {
    let stop = StopFlag::default();
    let context = EditContext::new(Limits::default(), stop.clone());
    stop.stop();
    let picture = || Picture::new(noise(50, 50), Format::Png);
    assert_eq!(annotate(picture(), &[pin(1.0, 1.0)], &context).unwrap_err(), ImagingError::Stopped);
    let content =
        Watermark { content: text_mark(), position: WatermarkPosition::Tile, opacity: 1.0, size: 0.5 };
    assert_eq!(watermark(picture(), &content, &context).unwrap_err(), ImagingError::Stopped);
    let spot = Highlight { shape: HighlightShape::Spotlight, ..Highlight::new(Region::FULL) };
    assert_eq!(highlight(picture(), &[spot], &context).unwrap_err(), ImagingError::Stopped);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn anything_drawn_anywhere_on_any_size_never_panics(
        width in 1..130u32, height in 1..130u32,
        points in proptest::collection::vec((0.0..=1000.0f64, 0.0..=1000.0f64), 2..8),
        text in "(\\PC|[\u{590}-\u{6ff}]|\n){1,30}",
        thickness in 1.0..=100.0f64, size in 10.0..=500.0f64, number in 0..1000u32, tile: bool,
    ) {
        let before = noise(width, height);
        let spots: Vec<_> = points.iter().map(|(x, y)| spot(*x, *y)).collect();
        let stroke = |kind| {
            Annotation::Line(LineAnnotation { kind, points: spots.clone(), color: Color::RED, thickness })
        };
        let at = TextPosition::At(spots[0]);
        let plate = TextAnnotation { size, backing: TextBacking::Plate, ..text_annotation(&text, at) };
        let annotations = [
            stroke(LineKind::Open),
            stroke(LineKind::Arrow),
            stroke(LineKind::Closed { fill: 0.4 }),
            Annotation::Pin(PinAnnotation { at: spots[1], number, color: Color::WHITE, size }),
            Annotation::Text(TextAnnotation { size, ..text_annotation(&text, at) }),
            Annotation::Text(plate),
        ];
        let drawn = annotate(Picture::new(before.clone(), Format::Png), &annotations, &EditContext::default());
        match drawn {
            Ok(after) => prop_assert_eq!((after.width(), after.height()), (width, height)),
            Err(ImagingError::BadArgument(why)) => prop_assert!(why.contains("no room for a readable letter"), "{}", why),
            Err(other) => prop_assert!(false, "{other:?}"),
        }
        let position = if tile { WatermarkPosition::Tile } else { WatermarkPosition::BottomRight };
        let content = WatermarkContent::Text { text, color: Color::BLACK };
        let content = Watermark { content, position, opacity: 1.0, size: (size / 500.0) as f32 };
        watermark(Picture::new(before, Format::Png), &content, &EditContext::default()).unwrap();
    }

    #[test]
    fn a_line_touches_only_what_is_near_it(
        x1 in 0.0..=1000.0f64, y1 in 0.0..=1000.0f64, x2 in 0.0..=1000.0f64, y2 in 0.0..=1000.0f64,
    ) {
        let before = noise(150, 150);
        let after = on(&before, &[path(LineKind::Open, &[(x1, y1), (x2, y2)])]);
        let (a, b) = ((x1 * 0.15, y1 * 0.15), (x2 * 0.15, y2 * 0.15));
        let touched = changed(&before, &after);
        prop_assert!(!touched.is_empty());
        for (x, y) in touched {
            let (px, py) = (f64::from(x) + 0.5, f64::from(y) + 0.5);
            let (dx, dy) = (b.0 - a.0, b.1 - a.1);
            let along = ((px - a.0) * dx + (py - a.1) * dy) / (dx * dx + dy * dy).max(1e-9);
            let along = along.clamp(0.0, 1.0);
            let off = (px - a.0 - dx * along).hypot(py - a.1 - dy * along);
            prop_assert!(off <= 3.5, "{off} at {x},{y}");
        }
    }
}
