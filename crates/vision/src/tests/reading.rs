//! Print and codes.

use imaging::ops::{Annotation, TextAlign, TextAnnotation, TextBacking, TextPosition, annotate};
use imaging::{Color, EditContext, Format, Picture, Region, StopFlag};

use super::picture;
use crate::Models;

/// Lines of print on white, one below the other.
fn printed(lines: &[&str]) -> image::RgbImage {
    let height = 100 * lines.len() as u32;
    let paper = image::RgbImage::from_pixel(1000, height, image::Rgb([255; 3]));
    let mut paper = Picture::new(paper.into(), Format::Png);
    for (row, line) in lines.iter().enumerate() {
        let middle = (row as f64 + 0.5) * 1000.0 / lines.len() as f64;
        let region = Region::new(
            50.0,
            middle - 400.0 / lines.len() as f64,
            950.0,
            middle + 400.0 / lines.len() as f64,
        );
        let text = TextAnnotation {
            text: (*line).to_owned(),
            position: TextPosition::In(region.unwrap()),
            size: 400.0 / lines.len() as f64,
            color: Color::BLACK,
            backing: TextBacking::None,
            align: TextAlign::default(),
        };
        paper = annotate(paper, &[Annotation::Text(text)], &EditContext::default()).unwrap();
    }
    paper.into_rgb8()
}

#[test]
fn print_is_read_with_its_spaces() {
    let lines = ["Invoice number 20341", "Call +49 30 1234567 today", "ann.lee@example.org"];
    let read = Models::default().text(&printed(&lines), &StopFlag::default()).unwrap();
    let texts: Vec<&str> = read.iter().map(|line| line.text.as_str()).collect();
    assert_eq!(texts, lines);
    let call = &read[1];
    let number = call.part(5..19).unwrap();
    assert!(
        number.left() > call.region.left() + 20.0 && number.right() < call.region.right() - 20.0,
        "{number:?}"
    );
}

#[test]
fn a_scanned_page_is_read() {
    let read = Models::default().text(&picture("photo_page.png"), &StopFlag::default()).unwrap();
    let text: Vec<&str> = read.iter().map(|line| line.text.as_str()).collect();
    let text = text.join(" ").to_lowercase();
    for word in ["region-based", "segmentation", "markers", "background", "histogram"] {
        assert!(text.contains(word), "{word} in {text}");
    }
}

#[test]
fn photos_without_print_have_next_to_none() {
    let models = Models::default();
    for name in ["photo_chelsea.png", "photo_flower.jpg"] {
        let read = models.text(&picture(name), &StopFlag::default()).unwrap();
        assert!(read.is_empty(), "{name}: {read:?}");
    }
}

#[test]
fn a_turned_qr_code_is_read() {
    let found = Models::default().codes(&picture("vision/qr.png"), &StopFlag::default()).unwrap();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].text.as_deref(), Some("https://example.org/photothread"));
    let region = found[0].region;
    assert!(region.left() > 400.0 && region.right() < 900.0 && region.bottom() > 500.0, "{region:?}");
    let none = Models::default().codes(&picture("photo_page.png"), &StopFlag::default()).unwrap();
    assert_eq!(none, []);
}
