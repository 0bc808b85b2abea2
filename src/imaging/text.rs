//! One line of text in the bundled font: measuring, shortening and drawing it. No wrapping, no shaping.

use std::sync::LazyLock;

use ab_glyph::{Font, FontRef, GlyphId, PxScale, ScaleFont, point};
use image::{ImageBuffer, Pixel};

use super::picture::Sample;
use super::{Color, PixelRect, paint};

static FONT: LazyLock<Option<FontRef<'static>>> =
    LazyLock::new(|| FontRef::try_from_slice(include_bytes!("../../assets/fonts/DejaVuSans-Bold.ttf")).ok());

const ELLIPSIS: char = '…';

/// Text that is known to fit and to have something to show.
#[derive(Debug, Clone)]
pub(super) struct Line {
    /// Each glyph with its distance from the start of the line.
    glyphs: Vec<(GlyphId, f32)>,
    size: f32,
    width: f32,
    ascent: f32,
}

impl Line {
    /// `size` is the height of the line in pixels. Text wider than `max_width` ends in an ellipsis; `None` if
    /// there is nothing to show or no room for even that.
    pub fn new(text: &str, size: f32, max_width: f32) -> Option<Self> {
        let font = FONT.as_ref()?;
        let mut characters: Vec<char> = printable(text, font).collect();
        let mut line = Self::of(&characters, font, size);
        while line.width > max_width {
            if characters.last() == Some(&ELLIPSIS) {
                characters.pop();
            }
            characters.pop()?;
            while characters.last() == Some(&' ') {
                characters.pop();
            }
            characters.push(ELLIPSIS);
            line = Self::of(&characters, font, size);
        }
        (!line.glyphs.is_empty()).then_some(line)
    }

    fn of(characters: &[char], font: &FontRef<'static>, size: f32) -> Self {
        let scaled = font.as_scaled(PxScale::from(size));
        let mut pen = 0.0;
        let mut previous = None;
        let mut glyphs = Vec::with_capacity(characters.len());
        for &character in characters {
            let glyph = scaled.glyph_id(character);
            if let Some(previous) = previous {
                pen += scaled.kern(previous, glyph);
            }
            glyphs.push((glyph, pen));
            pen += scaled.h_advance(glyph);
            previous = Some(glyph);
        }
        Self { glyphs, size, width: pen, ascent: scaled.ascent() }
    }

    pub fn width(&self) -> f32 {
        self.width
    }

    pub fn size(&self) -> f32 {
        self.size
    }

    /// Draws with the top left of the line at `x`, `y`, never beyond `within`.
    pub fn draw<P: Pixel>(
        &self,
        canvas: &mut ImageBuffer<P, Vec<P::Subpixel>>,
        x: f32,
        y: f32,
        within: PixelRect,
        color: Color,
    ) where
        P::Subpixel: Sample,
    {
        let Some(font) = FONT.as_ref() else { return };
        for &(glyph, offset) in &self.glyphs {
            let placed =
                glyph.with_scale_and_position(PxScale::from(self.size), point(x + offset, y + self.ascent));
            let Some(outline) = font.outline_glyph(placed) else {
                continue;
            };
            let corner = outline.px_bounds().min;
            outline.draw(|column, row, coverage| {
                let (x, y) = (corner.x as i64 + i64::from(column), corner.y as i64 + i64::from(row));
                let (Ok(x), Ok(y)) = (u32::try_from(x), u32::try_from(y)) else {
                    return;
                };
                if within.contains(x, y) && x < canvas.width() && y < canvas.height() {
                    paint::lay(canvas.get_pixel_mut(x, y), color, coverage);
                }
            });
        }
    }
}

/// Line breaks become spaces. Symbols the font lacks (emoji, mostly) are left out, but letters it lacks stay
/// and show as boxes: a label that silently loses its words would be worse.
fn printable<'a>(text: &'a str, font: &'a FontRef<'static>) -> impl Iterator<Item = char> + 'a {
    text.split_whitespace()
        .map(move |word| {
            word.chars().filter(|&c| !is_invisible(c) && (font.glyph_id(c).0 != 0 || c.is_alphanumeric()))
        })
        .map(|word| word.collect::<String>())
        .filter(|word| !word.is_empty())
        .enumerate()
        .flat_map(|(index, word)| {
            let space = (index > 0).then_some(' ');
            space.into_iter().chain(word.chars().collect::<Vec<_>>())
        })
}

/// Controls, joiners, direction marks and variation selectors: what is left of an emoji without its picture.
fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2060}'..='\u{206F}')
        || matches!(c, '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_ends_in_an_ellipsis_and_fits() {
        let whole = Line::new("a golden eagle over the valley", 20.0, 10_000.0).unwrap();
        let short = Line::new("a golden eagle over the valley", 20.0, 120.0).unwrap();
        assert!(short.width() <= 120.0 && short.glyphs.len() < whole.glyphs.len());
        let ellipsis = FONT.as_ref().unwrap().glyph_id(ELLIPSIS);
        assert_eq!(short.glyphs.last().unwrap().0, ellipsis);
        assert_ne!(whole.glyphs.last().unwrap().0, ellipsis);
    }

    #[test]
    fn text_with_nothing_to_show_is_no_line() {
        for text in ["", "  \n\t ", "\u{7}", "🦅", "\u{fe0f}"] {
            assert!(Line::new(text, 20.0, 500.0).is_none(), "{text:?}");
        }
        assert!(Line::new("eagle", 20.0, 3.0).is_none(), "no room");
    }

    #[test]
    fn breaks_become_spaces_and_emoji_are_left_out() {
        let glyphs = |text| Line::new(text, 20.0, 500.0).unwrap().glyphs;
        assert_eq!(glyphs(" bald\n 🦅 eagle "), glyphs("bald eagle"));
        assert_eq!(glyphs("Адлер Ä ω").len(), 9);
    }
}
