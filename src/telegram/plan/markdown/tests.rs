//! Markdown as Telegram shows it: examples, and properties that hold for any input.

use super::*;
use proptest::{prelude::*, test_runner::TestCaseError};
use teloxide::types::{MessageEntity, MessageEntityKind};

/// The text, and each entity as its kind and the words it covers.
fn shown(source: &str) -> (String, Vec<(String, String)>) {
    let formatted = render(source);
    let entities = formatted.spans().into_iter().map(|(span, kind)| {
        let name = match kind {
            MessageEntityKind::Pre { language } => format!("pre {}", language.unwrap_or_default()),
            MessageEntityKind::TextLink { url } => format!("link {url}"),
            other => format!("{other:?}").to_lowercase(),
        };
        (name, formatted.text[span].to_owned())
    });
    (formatted.text.clone(), entities.collect())
}

#[track_caller]
fn assert_shown(source: &str, text: &str, entities: &[(&str, &str)]) {
    let entities = entities.iter().map(|(kind, words)| (kind.to_string(), words.to_string())).collect();
    assert_eq!(shown(source), (text.to_owned(), entities), "for {source:?}");
}

#[test]
fn text_that_is_not_markdown_is_left_alone() {
    for text in [
        "one line\nnext line\n\nparagraph\n\n\nafter two blank lines",
        "2*3*4 and 2**3**4, 5*3 или 4*2",
        "snake_case_name and __init",
        r"C:\path\file",
        "unbalanced **bold and `code and [bracket",
        "[Attachment ID: 7f0c9c9e-2d55-4a44-8d50-2f0a4f8a3c11]\n[Attachment ID: other]",
        "[note]: not a link at all",
        "[a]: b\n[a]: b\n\n[a]: b\n\n[A]: b",
        "👩\u{200d}👩\u{200d}👧 🇩🇪 ❤️",
        "שלום עולם\nمرحبا",
        "日本語のテキスト。",
        "roses\n  are red\n      and indented",
        "~5 to ~10, 5~10 and 20~30",
        "<b>html</b> & <i>more</i>",
        "<div>\n<p>block</p>\n</div>\n\nafter",
        "a < b > c",
        "#hashtag -5 +1 3.5",
        "1. one\n3. three\n\n2. two",
        "x [^1] y\n\n[^1]: the note",
        "see https://example.com/a_b_c?x=1*2*3",
    ] {
        assert_shown(text, text, &[]);
    }
}

#[test]
fn inline_styles_become_entities() {
    assert_shown(
        "**bold** *it* _it_ ~~gone~~ `code`",
        "bold it it gone code",
        &[("bold", "bold"), ("italic", "it"), ("italic", "it"), ("strikethrough", "gone"), ("code", "code")],
    );
    assert_shown("***both***", "both", &[("italic", "both"), ("bold", "both")]);
    assert_shown("中文**粗体**中文", "中文粗体中文", &[("bold", "粗体")]);
    assert_shown("😀 **x**", "😀 x", &[("bold", "x")]);
    assert_eq!(render("😀 **x**").entities, [MessageEntity::bold(3, 1)]);
}

#[test]
fn code_holds_no_other_entity() {
    assert_shown("**a `b` c**", "a b c", &[("bold", "a"), ("code", "b"), ("bold", "c")]);
    assert_shown("# `x`", "x", &[("code", "x")]);
    assert_shown("[`x`](https://a.b)", "x", &[("link https://a.b/", "x")]);
}

#[test]
fn headings_are_bold_lines() {
    assert_shown(
        "# Title\ntext\n\n## **Next**\n\nend",
        "Title\ntext\n\nNext\n\nend",
        &[("bold", "Title"), ("bold", "Next")],
    );
    assert_shown("Title\n=====\ntext", "Title\ntext", &[("bold", "Title")]);
}

#[test]
fn lists_keep_their_markers_nesting_and_gaps() {
    assert_shown(
        "Here:\n- a\n  more a\n  - b\n    - c\n* d\n\nend",
        "Here:\n• a\n  more a\n  • b\n    • c\n• d\n\nend",
        &[],
    );
    assert_shown("1. a\n1. b\n1. c", "1. a\n2. b\n3. c", &[]);
    assert_shown("3) a\n2) b", "3) a\n2) b", &[]);
    assert_shown("- a\n\n- b\n\n  para", "• a\n\n• b\n\n  para", &[]);
    assert_shown("- [x] done\n- [ ] open", "• [x] done\n• [ ] open", &[]);
    assert_shown("- - a", "• • a", &[]);
    assert_shown("1. a\n   ```sh\n   ls\n   ```\n   b", "1. a\nls\n  b", &[("pre sh", "ls")]);
    assert_shown("- **a**: b\n- c", "• a: b\n• c", &[("bold", "a")]);
}

#[test]
fn code_blocks_keep_language_and_indentation() {
    assert_shown(
        "Run:\n```rust\n    let x = \"**no**\";\n\nend\n```\nafter",
        "Run:\n    let x = \"**no**\";\n\nend\nafter",
        &[("pre rust", "    let x = \"**no**\";\n\nend")],
    );
    assert_shown("```\n  x\n```", "  x", &[("pre ", "  x")]);
    assert_shown("```unclosed words", "unclosed words", &[]);
    assert_shown("```sh my title\nls\n```", "my title\nls", &[("pre sh", "ls")]);
}

#[test]
fn quotes_are_one_entity_however_deep() {
    assert_shown(
        "> a\n> **b**\n>\n> c\n\nd",
        "a\nb\n\nc\n\nd",
        &[("blockquote", "a\nb\n\nc"), ("bold", "b")],
    );
    assert_shown("> a\n>> b", "a\nb", &[("blockquote", "a\nb")]);
    assert_shown("> ```\n>   x\n> ```", "  x", &[("blockquote", "  x"), ("pre ", "  x")]);
    assert_shown("> - a\n> - b", "• a\n• b", &[("blockquote", "• a\n• b")]);
}

#[test]
fn links_are_links_only_where_telegram_can_follow() {
    assert_shown("[t](https://a.b/c)", "t", &[("link https://a.b/c", "t")]);
    assert_shown("[**t** u](tg://user?id=1)", "t u", &[("link tg://user?id=1", "t u"), ("bold", "t")]);
    assert_shown("[t](https://a.b \"why\")", "t (why)", &[("link https://a.b/", "t")]);
    assert_shown("[t](docs/a.md)", "t (docs/a.md)", &[]);
    assert_shown("[t](javascript:alert)", "t (javascript:alert)", &[]);
    assert_shown("[t](http://localhost:8080)", "t (http://localhost:8080)", &[]);
    assert_shown("[write](mailto:me@a.b)", "write (me@a.b)", &[]);
    assert_shown("[](https://a.b)", "https://a.b", &[("link https://a.b/", "https://a.b")]);
    assert_shown("<https://a.b> <me@a.b> <x:y>", "https://a.b me@a.b <x:y>", &[]);
    assert_shown(
        "see [t][1] and [One]\n\n[1]: https://a.b\n[one]: https://c.d",
        "see t and One\n\n[1]: https://a.b\n[one]: https://c.d",
        &[("link https://a.b/", "t"), ("link https://c.d/", "One")],
    );
}

#[test]
fn images_are_their_alternative_text() {
    assert_shown("![a cat](https://a.b/c.png)", "a cat", &[("link https://a.b/c.png", "a cat")]);
    assert_shown("![a cat](cat.png)", "a cat", &[]);
    assert_shown("![](cat.png)", "cat.png", &[]);
    assert_shown("[![alt](https://i.b)](https://a.b)", "alt", &[("link https://a.b/", "alt")]);
}

#[test]
fn rules_are_dashes() {
    assert_shown("a\n\n---\n\nb", "a\n\n———\n\nb", &[]);
}

#[test]
fn tables_line_up_in_a_monospaced_block() {
    let (text, entities) = shown("T:\n\n| Name | Size |\n|---|--:|\n| **cat** | 10 |\n| `日本` | 2 |\n\nend");
    assert_eq!(text, "T:\n\nName | Size\n-----+-----\ncat  |   10\n日本 |    2\n\nend");
    assert_eq!(entities.len(), 1);
    assert_eq!(entities[0].0, "pre ");
    assert!(shown("|a|\n|-|\n|[t](https://a.b)|").0.contains("t (https://a.b/)"));
}

#[test]
fn ends_are_trimmed_and_line_endings_are_one() {
    assert_shown("\r\n  a\r\nb  \r\n\r\n", "a\nb", &[]);
    assert_shown("#", "#", &[]);
    assert_shown("   ", "", &[]);
}

#[test]
fn formatted_text_survives_json() {
    let formatted = render("**b** [t](https://a.b) `c`\n```rust\nx\n```\n> q");
    let json = serde_json::to_value(&formatted).unwrap();
    assert_eq!(serde_json::from_value::<Formatted>(json).unwrap(), formatted);
}

/// Telegram's rules for entities.
pub(in crate::telegram::plan) fn check_entities(formatted: &Formatted) -> Result<(), TestCaseError> {
    let mut boundaries = vec![0];
    for c in formatted.text.chars() {
        boundaries.push(boundaries[boundaries.len() - 1] + c.len_utf16());
    }
    let is_code =
        |e: &MessageEntity| matches!(e.kind, MessageEntityKind::Code | MessageEntityKind::Pre { .. });
    for (index, entity) in formatted.entities.iter().enumerate() {
        let end = entity.offset + entity.length;
        prop_assert!(entity.length > 0);
        prop_assert!(boundaries.binary_search(&entity.offset).is_ok(), "{formatted:?}");
        prop_assert!(boundaries.binary_search(&end).is_ok(), "{formatted:?}");
        for later in &formatted.entities[index + 1..] {
            prop_assert!(later.offset >= entity.offset, "unsorted: {formatted:?}");
            let is_apart = later.offset >= end;
            let is_inside = later.offset + later.length <= end;
            prop_assert!(is_apart || is_inside, "crossing: {formatted:?}");
            prop_assert!(is_apart || !is_code(entity), "inside code: {formatted:?}");
            prop_assert!(is_apart || entity.kind != later.kind, "twice: {formatted:?}");
        }
    }
    let spans = formatted.spans();
    prop_assert!(spans.iter().all(|(span, _)| !formatted.text[span.clone()].trim().is_empty()));
    Ok(())
}

proptest! {
    #[test]
    fn any_input_gives_entities_telegram_accepts(
        source in "([a-c1-3*_`~>|:!<&;\\[\\]() \n\t#.+=-]|\\*\\*|```|https://a\\.b|[😀🇩é\u{301}\u{200d}中ש\u{200b}]|\\PC){0,60}",
    ) {
        let formatted = render(&source);
        check_entities(&formatted)?;
        prop_assert!(formatted.text.trim_end().len() == formatted.text.len());
    }

    #[test]
    fn any_character_at_all_is_rendered(source in any::<String>()) {
        check_entities(&render(&source))?;
    }

    #[test]
    fn every_letter_is_kept_in_order(source in "([a-h*_`~>|\\[\\]: \n#.+=-]|[0-9]\\. |\\*\\*|```|- |> |    ){0,60}") {
        let formatted = render(&source);
        let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>();
        let mut kept = letters(&formatted.text);
        let hidden: usize = formatted.entities.iter().map(|entity| match &entity.kind {
            MessageEntityKind::Pre { language: Some(language) } => letters(language).len(),
            _ => 0,
        }).sum();
        let wanted = letters(&source);
        prop_assert_eq!(kept.len() + hidden, wanted.len(), "{:?} became {:?}", source, formatted);
        for letter in wanted.chars() {
            if kept.starts_with(letter) {
                kept.remove(0);
            }
        }
        prop_assert!(kept.is_empty(), "out of order: {:?} became {:?}", source, formatted);
    }
}
