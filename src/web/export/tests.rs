//! Names that are safe anywhere, and Markdown that says what was said.

use super::*;
use crate::domain::{Conversation, MessageId, NewMessage, Reference, SessionId, UserId};
use proptest::prelude::*;

#[test]
fn names_in_an_archive_lead_nowhere_else() {
    assert_eq!(names::file(1, "a b(1).JPG"), "files/1-a_b_1_.JPG");
    assert_eq!(names::file(2, "../../etc/passwd"), "files/2-_.._etc_passwd");
    assert_eq!(names::file(3, ""), "files/3-file");
    assert_eq!(names::file(4, "猫.png"), "files/4-猫.png");
    assert_eq!(
        names::file(5, &format!("{}.png", "x".repeat(300))),
        format!("files/5-{}.png", "x".repeat(80))
    );
    assert_eq!(names::title("  Cats & dogs! "), "cats-dogs-");
    assert_eq!(names::title("猫"), "");
}

fn export(messages: Vec<NewMessage>) -> Export {
    let session = Session {
        session_id: SessionId(uuid::Uuid::nil()),
        conversation: Conversation::telegram(1),
        user_id: UserId("1".into()),
        title: "A *title*".into(),
        first_message_preview: String::new(),
        message_count: messages.len() as i64,
        created_at: DateTime::UNIX_EPOCH,
        last_activity: DateTime::UNIX_EPOCH,
        revision: 0,
    };
    let row = |(at, body)| Message { internal_id: MessageId(at as i64), body };
    let messages = messages.into_iter().enumerate().map(row).collect();
    Export { session, messages, files: Vec::new(), at: DateTime::UNIX_EPOCH }
}

fn said(role: Role, words: &str) -> NewMessage {
    let place = Conversation::telegram(1);
    NewMessage {
        timestamp: DateTime::UNIX_EPOCH,
        ..NewMessage::new(place, SessionId(uuid::Uuid::nil()), role, words)
    }
}

#[test]
fn a_conversation_reads_well_and_peoples_words_stay_words() {
    let source =
        Reference { url: "https://a.example/<x>".into(), title: Some("[A]".into()), ..Reference::default() };
    let answer =
        NewMessage { refs: vec![source], tags: vec!["a:b".into()], ..said(Role::Assistant, "**Done.**") };
    let export = export(vec![said(Role::User, "# make it *pop* <b>\n1. now"), answer]);
    insta::assert_snapshot!(export.markdown(), @r"
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

/// The words of Markdown as a reader sees them.
fn read(markdown: &str) -> String {
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
    fn whatever_people_write_is_read_as_they_wrote_it(words in "[ -~é猫]{1,60}") {
        let markdown = export(vec![said(Role::User, &words)]).markdown();
        let body = markdown.split_once("UTC\n\n## You, 1970-01-01 00:00 UTC\n").unwrap().1;
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(plain(&read(body)), plain(&words));
    }

    #[test]
    fn no_name_leads_out_of_its_folder(name in any::<String>()) {
        let path = names::file(7, &name);
        prop_assert!(path.starts_with("files/7-") && path.matches('/').count() == 1, "{}", path);
        prop_assert!(!path.ends_with('.') && !path.contains(['\\', ':', '\0', ' ']), "{}", path);
    }
}
