//! What drawing looks like, held against small pictures of it. To make them anew after a wanted change: set
//! `GOLDEN=write`, run these tests, and look at what they wrote.

use std::path::PathBuf;

use image::RgbImage;

use super::read;
use crate::ops::*;
use crate::*;

/// Mean difference of a sample that is not yet visible, and how many pixels may differ plainly.
const MEAN: f64 = 1.0;
const PLAIN: usize = 40;

fn photo(name: &str) -> Picture {
    let work = Work::default();
    let photo = decode(&read(name), &work).unwrap();
    let small = resize(photo, ResizeTo::longest(240).unwrap(), &work).unwrap();
    Picture::new(small.pixels().to_rgb8().into(), Format::Png)
}

fn looks_like(name: &str, picture: &Picture) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests/images/golden")
        .join(format!("{name}.png"));
    let pixels = picture.pixels().to_rgb8();
    if std::env::var("GOLDEN").is_ok_and(|wish| wish == "write") {
        std::fs::write(&path, encode(picture).unwrap().bytes).unwrap();
    }
    let wanted: RgbImage = image::open(&path).unwrap().to_rgb8();
    assert_eq!(wanted.dimensions(), pixels.dimensions());
    let off: Vec<_> = wanted.iter().zip(pixels.iter()).map(|(a, b)| a.abs_diff(*b)).collect();
    let mean = off.iter().map(|off| f64::from(*off)).sum::<f64>() / off.len() as f64;
    let plain = off.chunks(3).filter(|pixel| pixel.iter().any(|off| *off > 48)).count();
    assert!(mean <= MEAN && plain <= PLAIN, "{name} differs: {mean} on average, {plain} pixels plainly");
}

fn spot(x: f64, y: f64) -> Spot {
    Spot::new(x, y).unwrap()
}

#[test]
fn highlights() {
    let mark = |l, t, r, b, label: &str, color: &str, shape| Highlight {
        label: Some(label.into()),
        color: Color::parse(color).unwrap(),
        shape,
        ..Highlight::new(Region::new(l, t, r, b).unwrap())
    };
    let marks = [
        mark(300.0, 150.0, 560.0, 420.0, "face", "red", Shape::Rectangle),
        mark(620.0, 500.0, 980.0, 900.0, "مكوك", "yellow", Shape::Ellipse),
        mark(0.0, 700.0, 300.0, 1000.0, "דגל", "blue", Shape::Spotlight),
    ];
    looks_like("highlights", &highlight(photo("photo_astronaut.png"), &marks, &Work::default()).unwrap());
}

#[test]
fn annotations() {
    let path = |kind, points: &[(f64, f64)], color: &str| {
        let points = points.iter().map(|(x, y)| spot(*x, *y)).collect();
        Annotation::Path(Path { kind, points, color: Color::parse(color).unwrap(), thickness: 14.0 })
    };
    let words = |text: &str, place, backing| {
        Annotation::Words(Words {
            text: text.into(),
            place,
            size: 90.0,
            color: Color::WHITE,
            backing,
            align: TextAlign::Center,
        })
    };
    let pin = |x, y, number| Annotation::Pin(Pin { at: spot(x, y), number, color: Color::RED, size: 140.0 });
    let items = [
        path(PathKind::Closed { fill: 0.3 }, &[(600.0, 100.0), (900.0, 150.0), (800.0, 450.0)], "lime"),
        path(PathKind::Arrow, &[(100.0, 850.0), (420.0, 560.0)], "red"),
        words(
            "a very curious cat",
            Place::In(Region::new(400.0, 700.0, 980.0, 980.0).unwrap()),
            Backing::Outline,
        ),
        words("قطة", Place::At(spot(150.0, 120.0)), Backing::Plate),
        pin(350.0, 450.0, 1),
        pin(0.0, 1000.0, 12),
    ];
    looks_like("annotations", &annotate(photo("photo_chelsea.png"), &items, &Work::default()).unwrap());
}

#[test]
fn watermarks() {
    let mark = |position, opacity, size| Watermark {
        mark: Mark::Text { text: "© Jane Doe".into(), color: Color::WHITE },
        position,
        opacity,
        size,
    };
    let work = Work::default();
    let tiled = watermark(photo("photo_rocket.jpg"), &mark(Position::Tile, 0.3, 0.3), &work).unwrap();
    looks_like("watermarks", &watermark(tiled, &mark(Position::BottomRight, 0.7, 0.4), &work).unwrap());
}
