//! Text is shaped as its script needs, fits its area, and reports characters that no font has.

use cosmic_text::Wrap;
use image::{Rgb, RgbImage};
use proptest::prelude::*;

use super::block::layout;
use super::*;
use crate::{Color, Fonts, PixelRect};

fn one_line(size: f32, width: f32) -> TextStyle {
    TextStyle { size, area: (width, 1000.0), lines: Lines::One, align: Align::Center, edge: 0.0 }
}

/// The id of each glyph, its offset in the text and its x position.
fn glyphs(text: &str) -> Vec<(u16, usize, f32)> {
    Fonts::default().with_engine(|engine| {
        let lines = layout(engine, text, &one_line(20.0, 1000.0), Wrap::Word);
        let glyphs = lines.layout_runs().flat_map(|run| run.glyphs);
        glyphs.map(|glyph| (glyph.glyph_id, glyph.start, glyph.x)).collect()
    })
}

fn block(text: &str, style: &TextStyle) -> Option<TextBlock> {
    TextBlock::new(&Fonts::default(), text, style)
}

/// Black on white, on a canvas with a margin.
fn drawn(block: &TextBlock) -> RgbImage {
    let (width, height) = (block.width() + 20, block.height() + 20);
    let mut canvas = RgbImage::from_pixel(width, height, Rgb([255, 255, 255]));
    block.draw(&mut canvas, (10, 10), PixelRect { x: 0, y: 0, width, height }, Color::BLACK);
    canvas
}

#[test]
fn arabic_letters_are_joined() {
    let word = "سلام";
    let joined: Vec<_> = glyphs(word).into_iter().map(|glyph| glyph.0).collect();
    let alone: Vec<_> =
        word.chars().flat_map(|letter| glyphs(&letter.to_string())).map(|glyph| glyph.0).collect();
    assert_eq!(alone.len(), 4);
    let kept = joined.iter().filter(|id| alone.contains(id)).count();
    assert!(kept <= 1, "only the last letter may keep its own form: {joined:?} {alone:?}");
    assert!(!joined.contains(&0));
}

#[test]
fn joined_letters_show_no_seam() {
    // The stroke that joins the letters is solid from end to end in at least one row.
    let canvas = drawn(&block("ـــــ", &one_line(40.0, 1000.0)).unwrap());
    let solid = |y: u32| (12..canvas.width() - 12).all(|x| canvas.get_pixel(x, y).0[0] < 40);
    assert!((0..canvas.height()).any(solid));
}

#[test]
fn hebrew_runs_from_right_to_left_and_latin_within_it_does_not() {
    let order = |text: &str| {
        let mut glyphs = glyphs(text);
        glyphs.sort_by(|a, b| a.2.total_cmp(&b.2));
        glyphs.into_iter().map(|glyph| glyph.1).collect::<Vec<_>>()
    };
    assert_eq!(order("אבג"), [4, 2, 0]);
    assert_eq!(order("abc"), [0, 1, 2]);
    // Visual order: "ab" comes after the Hebrew letters, so it is to their left.
    assert_eq!(order("אב ab"), [5, 6, 4, 2, 0]);
    // A number before the words is to their right.
    assert_eq!(order("2 אב"), [4, 2, 1, 0]);
}

#[test]
fn long_text_ends_in_an_ellipsis_and_fits() {
    for text in ["a golden eagle over the valley", "נשר זהוב מעל העמק הרחב", "نسر ذهبي فوق الوادي الكبير"]
    {
        let whole = block(text, &one_line(20.0, 10_000.0)).unwrap();
        let short = block(text, &one_line(20.0, 120.0)).unwrap();
        assert!(whole.width() > 200 && (60..=121).contains(&short.width()), "{text}: {}", short.width());
    }
}

#[test]
fn text_without_visible_characters_gives_no_block() {
    for text in ["", "  \n\t ", "\u{7}", "🦅", "\u{fe0f}", "你好"] {
        assert!(block(text, &one_line(20.0, 500.0)).is_none(), "{text:?}");
    }
    assert!(block("eagle", &one_line(20.0, 0.0)).is_none(), "no space");
}

#[test]
fn characters_without_a_font_are_left_out_and_reported() {
    let fonts = Fonts::default();
    assert_eq!(fonts.missing("bald 🦅 eagle, 你好 你好"), ["🦅", "你好"]);
    assert_eq!(fonts.missing("a family 👨‍👩‍👧!"), ["👨‍👩‍👧"]);
    assert_eq!(fonts.writable("a family 👨‍👩‍👧!"), "a family !");
    assert!(fonts.missing("Größe Адлер ωμέγα نسر נשר ½ € → ✓ می\u{200c}خواهم\n\t").is_empty());
    let pixels = |text| drawn(&block(text, &one_line(20.0, 500.0)).unwrap());
    assert_eq!(pixels(" bald\n 🦅 eagle "), pixels("bald eagle"));
}

#[test]
fn wrapped_text_keeps_its_width_and_shrinks_to_its_height() {
    let text = "The quick brown fox jumps over the lazy dog\nand does it again";
    let style = TextStyle {
        size: 30.0,
        area: (200.0, 2000.0),
        lines: Lines::Wrapped,
        align: Align::Left,
        edge: 0.05,
    };
    let tall = block(text, &style).unwrap();
    assert!(tall.width() <= 200 && tall.height() > 120, "{}×{}", tall.width(), tall.height());
    let fitted =
        TextBlock::fitted(&Fonts::default(), text, &TextStyle { area: (200.0, 90.0), ..style }, 5.0).unwrap();
    assert!(fitted.height() <= 91 && fitted.height() > 50 && fitted.width() <= 201);
    let cramped = TextStyle { area: (200.0, 40.0), ..style };
    assert!(TextBlock::largest(&Fonts::default(), text, &cramped, 30.0).is_none());
    assert!(TextBlock::fitted(&Fonts::default(), text, &cramped, 30.0).unwrap().height() <= 44);
}

#[test]
fn an_error_names_the_file_that_is_not_a_font() {
    let error = Fonts::with_files([("fonts/readme.ttf".to_owned(), b"hello".to_vec())]).unwrap_err();
    assert!(error.to_string().starts_with("fonts/readme.ttf is not a font"));
    assert!(Fonts::with_files([]).unwrap().missing("eagle").is_empty());
}

#[test]
fn an_edge_contrasts_on_all_sides_of_every_letter() {
    let style = TextStyle { edge: 0.1, ..one_line(40.0, 500.0) };
    let edged = block("il", &style).unwrap();
    let mut canvas = RgbImage::from_pixel(edged.width(), edged.height(), Rgb([128, 128, 128]));
    let whole = PixelRect { x: 0, y: 0, width: edged.width(), height: edged.height() };
    edged.draw(&mut canvas, (0, 0), whole, Color::BLACK);
    let row: Vec<_> = (0..canvas.width()).map(|x| canvas.get_pixel(x, canvas.height() / 2).0[0]).collect();
    let bright = |part: &[u8]| part.iter().any(|v| *v > 220);
    let ink: Vec<_> = row.iter().enumerate().filter(|(_, v)| **v < 30).map(|(x, _)| x).collect();
    assert!(bright(&row[..ink[0]]) && bright(&row[ink[ink.len() - 1]..]), "{row:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_text_fits_any_area_without_panic(
        text in "(\\PC|[\u{590}-\u{6ff}]|[\u{900}-\u{97f}]|\n|[\u{200b}-\u{200f}\u{202a}-\u{202e}]| ){0,60}",
        size in 1.0..60.0f32, width in 0.0..400.0f32, height in 0.0..200.0f32, wrapped: bool, edge in 0.0..0.2f32,
    ) {
        let lines = if wrapped { Lines::Wrapped } else { Lines::One };
        let style = TextStyle { size, area: (width, height), lines, align: Align::Right, edge };
        let fonts = Fonts::default();
        for block in [TextBlock::new(&fonts, &text, &style), TextBlock::fitted(&fonts, &text, &style, 5.0)] {
            let Some(block) = block else { continue };
            // Accents and slanted letters may reach out a little, never by a whole letter or line.
            prop_assert!((block.width() as f32) <= width + size * 1.6, "{} of {width}", block.width());
            let one = size * 3.0;
            prop_assert!((block.height() as f32) <= height.max(size) + one, "{} of {height}", block.height());
            drawn(&block);
        }
    }
}
