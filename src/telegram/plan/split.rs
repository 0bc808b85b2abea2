//! Splits a formatted text into messages that Telegram accepts, at a paragraph, a line or a word if possible.

use super::formatted::{Formatted, visible_start};
use teloxide::types::MessageEntityKind;

/// In UTF-16 units.
pub const MAX_TEXT_UNITS: usize = 4096;
/// In UTF-16 units.
pub const MAX_CAPTION_UNITS: usize = 1024;
/// Telegram ignores the entities of a message beyond this many.
pub const MAX_ENTITIES: usize = 100;

/// Pieces of at most `limit_units` UTF-16 units, none of them blank. Only whitespace is dropped, and only at the cuts;
/// formatting that spans a cut continues in the next piece.
pub fn split(formatted: &Formatted, limit_units: usize) -> Vec<Formatted> {
    // A character may take two units, and every piece must hold at least one.
    let limit = limit_units.max(2);
    let text = formatted.text.as_str();
    let spans = formatted.spans();
    let mut pieces = Vec::new();
    let mut from = 0;
    while let Some(mut start) = visible_start(text, from, &spans) {
        let indent = text[start..].len() - text[start..].trim_start().len();
        if indent >= limit {
            start += indent;
        }
        let reach = reach(text, start, limit);
        let rest_end = text.trim_end().len();
        let cut = if reach >= rest_end { rest_end } else { best_cut(text, start, reach) };
        let end = start + text[start..cut].trim_end().len();
        let mut piece = formatted.slice(start..end);
        if !piece.is_blank() {
            limit_entities(&mut piece);
            pieces.push(piece);
        }
        from = cut;
    }
    pieces
}

/// The furthest byte that `limit` units from `start` reach.
fn reach(text: &str, start: usize, limit: usize) -> usize {
    let mut units = 0;
    for (at, c) in text[start..].char_indices() {
        units += c.len_utf16();
        if units > limit {
            return start + at;
        }
    }
    text.len()
}

/// The last paragraph break within reach, else the last line break, else the last space, else between characters.
fn best_cut(text: &str, start: usize, reach: usize) -> usize {
    let (mut paragraph, mut line, mut word) = (None, None, None);
    let first_visible = start + text[start..].len() - text[start..].trim_start().len();
    let mut at = first_visible;
    while let Some(offset) = text[at..].find(char::is_whitespace) {
        at += offset;
        if at > reach {
            break;
        }
        let run = &text[at..text.len() - text[at..].trim_start().len()];
        match run.matches('\n').count() {
            0 => word = Some(at),
            1 => line = Some(at),
            _ => paragraph = Some(at),
        }
        at += run.len();
    }
    paragraph.or(line).or(word).unwrap_or_else(|| between_characters(text, first_visible, reach))
}

/// Steps back so that the cut is not inside a combining sequence, an emoji or a flag, unless that is longer than a
/// message.
fn between_characters(text: &str, start: usize, reach: usize) -> usize {
    let mut cut = reach;
    while cut > start {
        let (before, after) = (&text[..cut], &text[cut..]);
        let joined = match (before.chars().next_back(), after.chars().next()) {
            (Some('\u{200d}'), _) => true,
            (_, Some(next)) if extends(next) => true,
            (_, Some(next)) if is_flag_half(next) => {
                text[start..cut].chars().rev().take_while(|c| is_flag_half(*c)).count() % 2 == 1
            }
            _ => false,
        };
        if !joined {
            return cut;
        }
        cut = before.char_indices().next_back().map_or(start, |(at, _)| at);
    }
    reach
}

/// Marks that belong to the character before them.
fn extends(c: char) -> bool {
    matches!(c, '\u{200d}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0020}'..='\u{e007f}' | '\u{e0100}'..='\u{e01ef}')
        || matches!(c, '\u{1f3fb}'..='\u{1f3ff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}')
        || matches!(c, '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}'..='\u{5c2}')
        || matches!(c, '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{670}' | '\u{6d6}'..='\u{6dc}')
        || matches!(c, '\u{900}'..='\u{903}' | '\u{93a}'..='\u{93c}' | '\u{93e}'..='\u{94f}')
        || matches!(c, '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}' | '\u{1160}'..='\u{11ff}')
        || matches!(c, '\u{3099}'..='\u{309a}')
}

fn is_flag_half(c: char) -> bool {
    matches!(c, '\u{1f1e6}'..='\u{1f1ff}')
}

/// Keeps as many entities as Telegram reads: links first, because their targets are nowhere else, then the first ones.
fn limit_entities(piece: &mut Formatted) {
    if piece.entities.len() > MAX_ENTITIES {
        piece.entities.sort_by_key(|entity| !matches!(entity.kind, MessageEntityKind::TextLink { .. }));
        piece.entities.truncate(MAX_ENTITIES);
        piece.entities.sort_by_key(|entity| (entity.offset, std::cmp::Reverse(entity.length)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telegram::plan::{
        formatted::{is_blank, units},
        markdown::render,
    };
    use proptest::prelude::*;
    use teloxide::types::MessageEntity;

    fn texts(source: &str, limit: usize) -> Vec<String> {
        split(&Formatted::plain(source), limit).into_iter().map(|piece| piece.text).collect()
    }

    #[test]
    fn a_text_that_fits_is_one_piece() {
        assert_eq!(texts("hello\n\nworld", 12), ["hello\n\nworld"]);
        assert_eq!(texts("12345  ", 5), ["12345"]);
    }

    #[test]
    fn a_blank_text_gives_no_piece() {
        for blank in ["", "  \n\t ", "\u{200b}\u{200d}\n"] {
            assert!(split(&Formatted { text: blank.into(), entities: vec![] }, 10).is_empty(), "{blank:?}");
        }
    }

    #[test]
    fn paragraphs_are_preferred_to_lines_and_lines_to_words() {
        assert_eq!(texts("one\n\ntwo\nthree four", 12), ["one", "two", "three four"]);
        assert_eq!(texts("one\ntwo three four", 12), ["one", "two three", "four"]);
        assert_eq!(texts("one two three", 8), ["one two", "three"]);
        assert_eq!(texts("one two", 3), ["one", "two"]);
    }

    #[test]
    fn a_long_word_is_cut_but_never_inside_a_character() {
        assert_eq!(texts("abcdefgh", 3), ["abc", "def", "gh"]);
        assert_eq!(texts("😀😀😀", 3), ["😀", "😀", "😀"]);
        assert_eq!(texts("abe\u{301}x", 3), ["ab", "e\u{301}x"]);
        assert_eq!(texts("ab👩\u{200d}👩\u{200d}👧cd", 9), ["ab", "👩\u{200d}👩\u{200d}👧c", "d"]);
        assert_eq!(texts("🇩🇪🇫🇷", 6), ["🇩🇪", "🇫🇷"]);
        assert_eq!(texts("👍🏽👍🏽", 6), ["👍🏽", "👍🏽"]);
        assert_eq!(texts("❤\u{fe0f}❤\u{fe0f}", 3), ["❤\u{fe0f}", "❤\u{fe0f}"]);
    }

    #[test]
    fn formatting_continues_in_the_next_piece() {
        let pieces = split(&render("**bold words here** plain"), 11);
        assert_eq!(pieces[0].text, "bold words");
        assert_eq!(pieces[0].entities, [MessageEntity::bold(0, 10)]);
        assert_eq!(pieces[1].text, "here plain");
        assert_eq!(pieces[1].entities, [MessageEntity::bold(0, 4)]);
    }

    #[test]
    fn code_stays_code_with_its_language_and_indentation() {
        let pieces = split(&render("```python\ndef f():\n    return 1\n    # end\n```"), 22);
        let texts: Vec<_> = pieces.iter().map(|piece| piece.text.as_str()).collect();
        assert_eq!(texts, ["def f():\n    return 1", "    # end"]);
        for piece in &pieces {
            assert_eq!(piece.entities, [MessageEntity::pre(Some("python".into()), 0, piece.units())]);
        }
    }

    #[test]
    fn an_indentation_wider_than_a_message_does_not_stall() {
        let formatted = render(&format!("```\nx\n{}y\n```", " ".repeat(50)));
        assert_eq!(split(&formatted, 10).iter().map(|p| p.text.as_str()).collect::<Vec<_>>(), ["x", "y"]);
    }

    #[test]
    fn a_message_has_at_most_a_hundred_entities_and_links_are_dropped_last() {
        let source = format!("{}[last](https://example.com)", "**b** x ".repeat(150));
        let pieces = split(&render(&source), MAX_TEXT_UNITS);
        assert_eq!(pieces.len(), 1);
        assert_eq!(pieces[0].entities.len(), MAX_ENTITIES);
        assert!(matches!(pieces[0].entities[99].kind, MessageEntityKind::TextLink { .. }));
        assert_eq!(pieces[0].text.matches('b').count(), 150);
    }

    fn visible(text: &str) -> String {
        text.chars().filter(|c| !is_blank(*c)).collect()
    }

    proptest! {
        #[test]
        fn no_visible_character_is_lost_and_every_piece_fits(
            source in "([a-c*_`~> \n#|-]|[😀👍🏽🇩🇫é\u{301}\u{200d}\u{fe0f}中]|\\PC){0,120}",
            limit in 2usize..40,
        ) {
            let whole = render(&source);
            let pieces = split(&whole, limit);
            let joined: String = pieces.iter().map(|piece| visible(&piece.text)).collect();
            prop_assert_eq!(joined, visible(&whole.text));
            for piece in &pieces {
                prop_assert!(!piece.is_blank());
                prop_assert!(piece.units() <= limit, "{} > {limit}", piece.units());
                crate::telegram::plan::markdown::tests::check_entities(piece)?;
            }
        }

        #[test]
        fn only_whitespace_is_dropped(source in "[a-e \n]{0,200}", limit in 2usize..30) {
            let joined = texts(&source, limit).concat();
            let kept = |text: &str| text.split_whitespace().collect::<String>();
            prop_assert_eq!(kept(&joined), kept(&source));
            prop_assert!(units(&joined) <= units(&source));
        }
    }
}
