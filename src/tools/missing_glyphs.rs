//! Reports characters that no font has a glyph for. They are left out of the drawing, never drawn as a box.

use super::{ToolError, arguments::bad_argument, wording};
use imaging::Fonts;

const MAX_QUOTED_CHARS: usize = 60;

/// A sentence for the result if characters of these texts are missing. Refuses a text without any known character.
pub(super) fn note(fonts: &Fonts, texts: &[String]) -> Result<Option<String>, ToolError> {
    let mut left_out: Vec<String> = Vec::new();
    for text in texts {
        let missing = fonts.missing(text);
        if !missing.is_empty() && fonts.writable(text).trim().is_empty() {
            return Err(bad_argument(format!(
                "The text {:?} cannot be written: the available fonts have none of its characters. Use other \
                 words, or tell the person that a font can be added with images.fonts.",
                wording::shortened(text, MAX_QUOTED_CHARS)
            )));
        }
        left_out
            .extend(missing.into_iter().filter(|missing| !left_out.contains(missing)).collect::<Vec<_>>());
    }
    Ok((!left_out.is_empty()).then(|| {
        format!(
            "These characters have no glyph in the available fonts and were left out: {}. A person can add a font \
             with images.fonts.",
            wording::shortened(&left_out.join(" "), MAX_QUOTED_CHARS)
        )
    }))
}
