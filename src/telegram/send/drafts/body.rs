//! The text of a draft: the answer so far, and below it the running tool. Pure.

use crate::telegram::plan::{Formatted, MAX_TEXT_UNITS, render, split, units};
use teloxide::types::MessageEntity;

/// Ends a text that is not complete.
const MORE: &str = " …";

/// `None` if there is nothing to show. Fits into one message, however long the text is.
pub fn body(text: &str, doing: Option<&str>) -> Option<Formatted> {
    let below = doing.map_or(0, |doing| units(doing) + 2);
    let room = MAX_TEXT_UNITS.saturating_sub(below + units(MORE));
    let mut pieces = split(&render(text), room).into_iter();
    let mut body = pieces.next().unwrap_or_default();
    if !body.is_blank() && (doing.is_none() || pieces.next().is_some()) {
        body.text += MORE;
    }
    if let Some(doing) = doing {
        if !body.text.is_empty() {
            body.text += "\n\n";
        }
        body.entities.push(MessageEntity::italic(body.units(), units(doing)));
        body.text += doing;
    }
    (!body.is_blank()).then_some(body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn text(answer: &str, doing: Option<&str>) -> String {
        body(answer, doing).map(|body| body.text).unwrap_or_default()
    }

    #[test]
    fn the_running_tool_stands_below_the_text_in_italics() {
        assert_eq!(text("A pelican", None), "A pelican …");
        assert_eq!(text("", Some("cropping 3 photos…")), "cropping 3 photos…");
        let both = body("A 😀 **pelican**", Some("cropping…")).unwrap();
        assert_eq!(both.text, "A 😀 pelican\n\ncropping…");
        assert_eq!(both.entities, [MessageEntity::bold(5, 7), MessageEntity::italic(14, 9)]);
    }

    #[test]
    fn a_blank_draft_is_not_shown() {
        assert_eq!(body("", None), None);
        assert_eq!(body(" \n\u{200b}", None), None);
    }

    #[test]
    fn a_long_text_is_cut_at_the_end() {
        let long = "pelican ".repeat(2000);
        for doing in [None, Some("cropping 3 photos…")] {
            let body = body(&long, doing).unwrap();
            assert!(body.text.starts_with("pelican") && body.text.contains(MORE), "{}", body.text);
            assert!((4000..=MAX_TEXT_UNITS).contains(&body.units()), "{}", body.units());
        }
    }

    proptest! {
        #[test]
        fn a_draft_always_fits_into_one_message(answer in "\\PC{0,40}", times in 0usize..300, doing in proptest::option::of("[a-z ]{1,60}…")) {
            if let Some(body) = body(&answer.repeat(times), doing.as_deref()) {
                prop_assert!(body.units() <= MAX_TEXT_UNITS);
                for entity in &body.entities {
                    prop_assert!(entity.offset + entity.length <= body.units());
                }
            }
        }
    }
}
