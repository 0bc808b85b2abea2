//! What a draft says: the text so far, and below it what is being done. Pure.

use crate::telegram::plan::{Formatted, MAX_TEXT_UNITS, render, split, units};
use teloxide::types::MessageEntity;

/// There is more to come.
const MORE: &str = " …";

/// None if there is nothing to show. Always one message, however long the text is by now.
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

    fn text(said: &str, doing: Option<&str>) -> String {
        body(said, doing).map(|body| body.text).unwrap_or_default()
    }

    #[test]
    fn text_goes_on_and_work_stands_below_it_in_italics() {
        assert_eq!(text("A pelican", None), "A pelican …");
        assert_eq!(text("", Some("cropping 3 photos…")), "cropping 3 photos…");
        let both = body("A 😀 **pelican**", Some("cropping…")).unwrap();
        assert_eq!(both.text, "A 😀 pelican\n\ncropping…");
        assert_eq!(both.entities, [MessageEntity::bold(5, 7), MessageEntity::italic(14, 9)]);
    }

    #[test]
    fn nothing_is_not_shown() {
        assert_eq!(body("", None), None);
        assert_eq!(body(" \n\u{200b}", None), None);
    }

    #[test]
    fn a_long_text_is_shown_from_its_start_and_goes_on() {
        let long = "pelican ".repeat(2000);
        for doing in [None, Some("cropping 3 photos…")] {
            let body = body(&long, doing).unwrap();
            assert!(body.text.starts_with("pelican") && body.text.contains(MORE), "{}", body.text);
            assert!((4000..=MAX_TEXT_UNITS).contains(&body.units()), "{}", body.units());
        }
    }

    proptest! {
        #[test]
        fn it_always_fits(said in "\\PC{0,40}", times in 0usize..300, doing in proptest::option::of("[a-z ]{1,60}…")) {
            if let Some(body) = body(&said.repeat(times), doing.as_deref()) {
                prop_assert!(body.units() <= MAX_TEXT_UNITS);
                for entity in &body.entities {
                    prop_assert!(entity.offset + entity.length <= body.units());
                }
            }
        }
    }
}
