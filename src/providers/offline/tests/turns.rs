//! Whole turns: results, failures, missing tools, hostile text.

use super::{complete, fake_tool, file, id, photos, play, play_with, prompt, reply_to_a};
use crate::providers::{Focus, PromptMessage};
use proptest::prelude::*;

fn text_of(said: &str) -> String {
    play(reply_to_a(said)).text
}

#[test]
fn the_reply_says_what_was_done() {
    for (said, expected) in [
        (
            "highlight the top left in red, call it eagle",
            "Here you go: highlighted the top left in red as “eagle”.",
        ),
        ("crop to a square, then sepia", "Here you go: cropped to a square and toned in sepia."),
        ("rotate 30 degrees counterclockwise", "Here you go: rotated 30° counterclockwise."),
        ("undo", "Here is the version before."),
        ("original please", "Here is the original."),
        ("send it again", "Here it is."),
        ("don't rotate it", "All right, nothing changed."),
        ("circle the left and the right in red", "Here you go: circled the left and the right in red."),
        (
            "crop to a square and make it prettier",
            "Here you go: cropped to a square. I didn't understand “make it prettier”.",
        ),
        ("make the left half black and white", "Here you go: turned the left half black and white."),
    ] {
        assert_eq!(text_of(said), expected, "{said}");
    }
    let album = Focus { said: "b&w".into(), sent: photos("a b c"), ..Focus::default() };
    assert_eq!(play(album).text, "Done with 3 photos: turned black and white.");
}

#[test]
fn small_talk_gets_an_answer_and_unknown_requests_get_examples() {
    assert!(text_of("Hello!").starts_with("Hello!"));
    assert_eq!(text_of("thank you so much"), "You're welcome!");
    for said in ["help", "frobnicate the gizmo", "🦅"] {
        let text = text_of(said);
        assert!(text.lines().filter(|line| line.starts_with("- ")).count() >= 4, "{said}: {text}");
    }
    assert!(text_of("frobnicate the gizmo").starts_with("I didn't understand “frobnicate the gizmo”."));
}

#[test]
fn requests_that_need_vision_get_a_question() {
    assert!(text_of("highlight the eagle").contains("can't see where “eagle” is"));
    let info = text_of("what is this?");
    assert!(info.contains("- Size: 4000×3000") && info.contains("I run offline"), "{info}");
    assert!(!info.contains(&id("a").to_string()), "{info}");
    assert!(text_of("read it").contains("That is a picture"));
    let text_file = Focus { said: "info".into(), replied: vec![file("t", "text/plain")], ..Focus::default() };
    assert!(!play(text_file).text.contains("I run offline"));
}

#[test]
fn file_list_has_no_ids() {
    let text = text_of("what files do we have?");
    assert!(text.contains("- a.jpg (image/jpeg) - now\n- b.txt (text/plain) - now"), "{text}");
}

#[test]
fn text_of_a_file_cannot_close_its_code_fence() {
    let focus =
        |said: &str| Focus { said: said.into(), replied: vec![file("t", "text/plain")], ..Focus::default() };
    let played = play(focus("show me the text"));
    assert_eq!((played.calls.as_str(), played.text.as_str()), ("read t", "````\nhello ```world```\n````"));
    assert_eq!(play(focus("find \"foo bar\" in the file")).calls, "read t foo bar literal");
    assert_eq!(play(focus("search for invoice")).calls, "read t invoice literal");
}

#[test]
fn a_failed_step_stops_the_turn_with_the_reason() {
    let fails = |call: &crate::domain::ToolCall| match call.name.as_str() {
        "rotate_image" => "Error: the picture is *too* large.".into(),
        _ => fake_tool(call),
    };
    let played = play_with(prompt(reply_to_a("crop to a square, rotate left and flip it")), fails);
    assert_eq!(played.calls, "crop a 1:1 | rotate a1 270");
    assert_eq!(
        played.text,
        "Here you go: cropped to a square. That didn't work: the picture is \\*too\\* large. The steps before it are done."
    );
}

#[test]
fn a_partly_failed_step_continues_with_its_outputs() {
    let focus = Focus {
        said: "crop to a square and flip the third".into(),
        sent: photos("a b c"),
        ..Focus::default()
    };
    let played = play_with(prompt(focus), |call| match call.name.as_str() {
        "crop_image" => {
            format!(
                "[Attachment ID: {}]\nError: {} is broken\n[Attachment ID: {}]",
                id("a1"),
                id("b"),
                id("c1")
            )
        }
        _ => fake_tool(call),
    });
    assert_eq!(played.calls, "crop a b c 1:1 | flip c1 horizontal");
    assert!(played.text.contains("Not all of them worked"), "{}", played.text);
}

#[test]
fn a_missing_tool_is_named_and_the_other_steps_run() {
    let mut asked = prompt(reply_to_a("crop to a square and rotate left"));
    asked.tools.retain(|tool| tool.name != "crop_image");
    let played = play_with(asked, fake_tool);
    assert_eq!(played.calls, "rotate a 270");
    assert!(played.text.contains("`crop_image` is not available"), "{}", played.text);
}

#[test]
fn without_tools_the_reply_is_text() {
    let mut asked = prompt(reply_to_a("crop to a square and rotate left"));
    let crop = complete(&asked).tool_calls;
    asked.tools.clear();
    assert!(complete(&asked).text.contains("can't use my tools"));
    asked.messages.push(PromptMessage::Tool {
        call_id: crop[0].id.clone(),
        name: crop[0].name.clone(),
        text: fake_tool(&crop[0]),
        shown: Vec::new(),
    });
    let text = complete(&asked).text;
    assert_eq!(text, "Here you go: cropped to a square. I had to stop before the rest (rotated left).");
}

#[test]
fn results_of_earlier_turns_are_ignored() {
    let mut asked = prompt(reply_to_a("flip it"));
    let old = PromptMessage::Tool {
        call_id: "offline-1".into(),
        name: "flip_image".into(),
        text: "Error: old".into(),
        shown: Vec::new(),
    };
    asked.messages.insert(0, old);
    assert_eq!(complete(&asked).tool_calls[0].id, "offline-1");
}

#[test]
fn a_call_without_a_result_is_not_repeated() {
    let mut asked = prompt(reply_to_a("flip it"));
    let tool_calls = complete(&asked).tool_calls;
    asked.messages.push(PromptMessage::Assistant {
        text: String::new(),
        tool_calls,
        provider_metadata: None,
    });
    assert!(complete(&asked).text.contains("interrupted"));
}

#[test]
fn quoted_text_in_replies_is_escaped() {
    let text = text_of("crop to a square and [frob](http:x) *the* `gizmo`");
    assert!(text.contains("\\[frob\\]") || !text.contains("[frob]"), "{text}");
    assert_eq!(
        text_of("highlight the left as “*a_b*”"),
        "Here you go: highlighted the left as “\\*a\\_b\\*”."
    );
}

#[test]
fn long_messages_are_read_up_to_a_limit() {
    let long = |part: &str| part.repeat(100_000 / part.len());
    for said in [
        long("rotate left "),
        long("a"),
        long("\"'“"),
        long("photo 1, 2 and "),
        long("first, "),
        long("🦅"),
        long("1:2 x 3,"),
    ] {
        play(reply_to_a(&said));
    }
}

fn words() -> impl Strategy<Value = String> {
    let known = include_str!("../parse/grammar.yaml");
    let known: Vec<&str> = known.split(|c: char| c.is_whitespace() || "[]{},".contains(c)).collect();
    let odd = [
        "“",
        "”",
        "'",
        "\"",
        ",",
        "and",
        "16:9",
        "-5",
        "99999999999999999999",
        "%",
        "#",
        "\u{202e}",
        "ﬁ",
        "İ",
        "photo 2",
    ];
    let word = prop_oneof![4 => prop::sample::select(known), 1 => prop::sample::select(odd.to_vec())];
    prop::collection::vec(word, 0..25).prop_map(|words| words.join(" "))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// `complete` asserts that there is either text or a call.
    #[test]
    fn any_text_gets_an_answer(said in ".{0,300}") {
        play(Focus { said, sent: photos("a b"), ..Focus::default() });
    }

    #[test]
    fn any_order_of_known_words_gets_an_answer(said in words(), pictures in 0usize..3) {
        let names = ["", "a", "a b c"][pictures];
        play(Focus { said: said.clone(), replied: photos(names), album: photos(names), ..Focus::default() });
        play(Focus { said, recent: photos(names), ..Focus::default() });
    }
}
