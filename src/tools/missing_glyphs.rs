//! What the fonts cannot write is said, never drawn as a box and never dropped in silence.

use super::{ToolError, arguments::refused, wording};
use imaging::Fonts;

const MOST_SHOWN: usize = 60;

/// A sentence for the result if parts of these texts cannot be written. A text of which nothing can be is refused.
pub(super) fn note(fonts: &Fonts, texts: &[String]) -> Result<Option<String>, ToolError> {
    let mut left_out: Vec<String> = Vec::new();
    for text in texts {
        let missing = fonts.missing(text);
        if !missing.is_empty() && fonts.writable(text).trim().is_empty() {
            return Err(refused(format!(
                "The text {:?} cannot be written: the available fonts have none of its characters. Use other \
                 words, or tell the person that a font can be added with images.fonts.",
                wording::shortened(text, MOST_SHOWN)
            )));
        }
        left_out
            .extend(missing.into_iter().filter(|missing| !left_out.contains(missing)).collect::<Vec<_>>());
    }
    Ok((!left_out.is_empty()).then(|| {
        format!(
            "These characters have no glyph in the available fonts and were left out: {}. A person can add a font \
             with images.fonts.",
            wording::shortened(&left_out.join(" "), MOST_SHOWN)
        )
    }))
}
