//! Golden images of everything drawn. To write them anew after an intended change: set `GOLDEN=write`, run these
//! tests, and look at the new images.

use std::path::PathBuf;

use image::RgbImage;

use super::read;
use crate::ops::*;
use crate::*;

/// Allowed mean difference of a sample, and allowed number of plainly different pixels.
const MAX_MEAN_DIFFERENCE: f64 = 1.0;
const MAX_DIFFERENT_PIXELS: usize = 40;

fn photo(name: &str) -> Picture {
    let context = EditContext::default();
    let photo = decode(&read(name), &context).unwrap();
    let small = resize(photo, ResizeTo::longest(240).unwrap(), &context).unwrap();
    Picture::new(small.pixels().to_rgb8().into(), Format::Png)
}

fn looks_like(name: &str, picture: &Picture) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/images/golden")
        .join(format!("{name}.png"));
    let pixels = picture.pixels().to_rgb8();
    if std::env::var("GOLDEN").is_ok_and(|target_size| target_size == "write") {
        std::fs::write(&path, encode(picture).unwrap().bytes).unwrap();
    }
    let wanted: RgbImage = image::open(&path).unwrap().to_rgb8();
    assert_eq!(wanted.dimensions(), pixels.dimensions());
    let off: Vec<_> = wanted.iter().zip(pixels.iter()).map(|(a, b)| a.abs_diff(*b)).collect();
    let mean = off.iter().map(|off| f64::from(*off)).sum::<f64>() / off.len() as f64;
    let plain = off.chunks(3).filter(|pixel| pixel.iter().any(|off| *off > 48)).count();
    assert!(
        mean <= MAX_MEAN_DIFFERENCE && plain <= MAX_DIFFERENT_PIXELS,
        "{name} differs: {mean} on average, {plain} pixels plainly"
    );
}

fn spot(x: f64, y: f64) -> RelativePoint {
    RelativePoint::new(x, y).unwrap()
}

#[test]
fn highlights() {
    let content = |l, t, r, b, label: &str, color: &str, shape| Highlight {
        label: Some(label.into()),
        color: Color::parse(color).unwrap(),
        shape,
        ..Highlight::new(Region::new(l, t, r, b).unwrap())
    };
    let marks = [
        content(300.0, 150.0, 560.0, 420.0, "face", "red", HighlightShape::Rectangle),
        content(620.0, 500.0, 980.0, 900.0, "مكوك", "yellow", HighlightShape::Ellipse),
        content(0.0, 700.0, 300.0, 1000.0, "דגל", "blue", HighlightShape::Spotlight),
    ];
    looks_like(
        "highlights",
        &highlight(photo("photo_astronaut.png"), &marks, &EditContext::default()).unwrap(),
    );
}

#[test]
fn annotations() {
    let path = |kind, points: &[(f64, f64)], color: &str| {
        let points = points.iter().map(|(x, y)| spot(*x, *y)).collect();
        Annotation::Line(LineAnnotation {
            kind,
            points,
            color: Color::parse(color).unwrap(),
            thickness: 14.0,
        })
    };
    let words = |text: &str, position, backing| {
        Annotation::Text(TextAnnotation {
            text: text.into(),
            position,
            size: 90.0,
            color: Color::WHITE,
            backing,
            align: TextAlign::Center,
        })
    };
    let pin = |x, y, number| {
        Annotation::Pin(PinAnnotation { at: spot(x, y), number, color: Color::RED, size: 140.0 })
    };
    let items = [
        path(LineKind::Closed { fill: 0.3 }, &[(600.0, 100.0), (900.0, 150.0), (800.0, 450.0)], "lime"),
        path(LineKind::Arrow, &[(100.0, 850.0), (420.0, 560.0)], "red"),
        words(
            "a very curious cat",
            TextPosition::In(Region::new(400.0, 700.0, 980.0, 980.0).unwrap()),
            TextBacking::Outline,
        ),
        words("قطة", TextPosition::At(spot(150.0, 120.0)), TextBacking::Plate),
        pin(350.0, 450.0, 1),
        pin(0.0, 1000.0, 12),
    ];
    looks_like(
        "annotations",
        &annotate(photo("photo_chelsea.png"), &items, &EditContext::default()).unwrap(),
    );
}

#[test]
fn watermarks() {
    let content = |position, opacity, size| Watermark {
        content: WatermarkContent::Text { text: "© Jane Doe".into(), color: Color::WHITE },
        position,
        opacity,
        size,
    };
    let context = EditContext::default();
    let tiled =
        watermark(photo("photo_rocket.jpg"), &content(WatermarkPosition::Tile, 0.3, 0.3), &context).unwrap();
    looks_like(
        "watermarks",
        &watermark(tiled, &content(WatermarkPosition::BottomRight, 0.7, 0.4), &context).unwrap(),
    );
}
