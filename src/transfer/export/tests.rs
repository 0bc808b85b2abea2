//! File names are safe on any system; Markdown shows messages as written.

use super::*;
use crate::domain::{Conversation, Message, MessageId, NewMessage, Reference, Role, SessionId, UserId};
use proptest::prelude::*;

#[test]
fn archive_paths_stay_in_their_folder() {
    assert_eq!(filenames::archive_path(1, "a b(1).JPG"), "files/1-a_b_1_.JPG");
    assert_eq!(filenames::archive_path(2, "../../etc/passwd"), "files/2-_.._etc_passwd");
    assert_eq!(filenames::archive_path(3, ""), "files/3-file");
    assert_eq!(filenames::archive_path(4, "猫.png"), "files/4-猫.png");
    assert_eq!(
        filenames::archive_path(5, &format!("{}.png", "x".repeat(300))),
        format!("files/5-{}.png", "x".repeat(80))
    );
    assert_eq!(filenames::title_prefix("  Cats & dogs! "), "cats-dogs-");
    assert_eq!(filenames::title_prefix("猫"), "");
}

fn markdown_of(messages: Vec<NewMessage>) -> String {
    let session = Session {
        session_id: SessionId(uuid::Uuid::nil()),
        conversation: Conversation::telegram(1),
        user_id: UserId("1".into()),
        title: Some("A *title*".into()),
        first_message_preview: String::new(),
        message_count: messages.len() as i64,
        created_at: DateTime::UNIX_EPOCH,
        last_activity: DateTime::UNIX_EPOCH,
        revision: 0,
    };
    let row = |(at, body)| Message { internal_id: MessageId(at as i64), body };
    let mut out = markdown::head(&session, DateTime::UNIX_EPOCH);
    for message in messages.into_iter().enumerate().map(row) {
        markdown::write_entry(&mut out, &[], &message);
    }
    out
}

fn message(role: Role, words: &str) -> NewMessage {
    let place = Conversation::telegram(1);
    NewMessage {
        timestamp: DateTime::UNIX_EPOCH,
        ..NewMessage::new(place, SessionId(uuid::Uuid::nil()), role, words)
    }
}

#[test]
fn markdown_escapes_what_people_wrote() {
    let source =
        Reference { url: "https://a.example/<x>".into(), title: Some("[A]".into()), ..Reference::default() };
    let answer =
        NewMessage { refs: vec![source], tags: vec!["a:b".into()], ..message(Role::Assistant, "**Done.**") };
    let markdown = markdown_of(vec![message(Role::User, "# make it *pop* <b>\n1. now"), answer]);
    insta::assert_snapshot!(markdown, @r"
    # A \*title\*

    2 messages, begun 1970-01-01 00:00 UTC, exported 1970-01-01 00:00 UTC

    ## You, 1970-01-01 00:00 UTC

    \# make it \*pop\* \<b\>
    1\. now

    ## Photothread, 1970-01-01 00:00 UTC

    **Done.**

    Sources:

    - [\[A\]](<https://a.example/%3Cx%3E>)

    Tags: a:b
    ");
}

/// The text of Markdown as a reader sees it.
fn rendered_text(markdown: &str) -> String {
    let mut words = String::new();
    for event in pulldown_cmark::Parser::new(markdown) {
        match event {
            pulldown_cmark::Event::Text(text) => words += &text,
            pulldown_cmark::Event::SoftBreak | pulldown_cmark::Event::HardBreak => words.push('\n'),
            pulldown_cmark::Event::Html(_) | pulldown_cmark::Event::InlineHtml(_) => words += "(HTML!)",
            pulldown_cmark::Event::Code(code) => words += &format!("(code!){code}"),
            _ => {}
        }
    }
    words
}

proptest! {
    #[test]
    fn escaped_text_renders_as_written(words in "[ -~é猫]{1,60}") {
        let markdown = markdown_of(vec![message(Role::User, &words)]);
        let body = markdown.split_once("UTC\n\n## You, 1970-01-01 00:00 UTC\n").unwrap().1;
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(plain(&rendered_text(body)), plain(&words));
    }

    #[test]
    fn archive_paths_are_safe_for_any_filename(name in any::<String>()) {
        let path = filenames::archive_path(7, &name);
        prop_assert!(path.starts_with("files/7-") && path.matches('/').count() == 1, "{}", path);
        prop_assert!(!path.ends_with('.') && !path.contains(['\\', ':', '\0', ' ']), "{}", path);
    }
}
