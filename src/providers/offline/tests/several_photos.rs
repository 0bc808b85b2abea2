//! Combinations of several photos, and edits repeated on other photos.

use super::sights::play_seeing;
use super::{fake_tool, file, id, photos, play, play_with, prompt, reply_to_a};
use crate::domain::{Attachment, AttachmentSource};
use crate::providers::{Focus, PromptMessage};
use chrono::{DateTime, TimeDelta};

fn sent(names: &str, said: &str) -> Focus {
    Focus { said: said.into(), sent: photos(names), ..Focus::default() }
}

/// A picture made by a tool from `parent`.
fn made(name: &str, parent: &str) -> Attachment {
    Attachment { source: AttachmentSource::Tool, parents: vec![id(parent)], ..file(name, "image/jpeg") }
}

#[test]
fn several_photos_are_combined() {
    for (said, expected) in [
        ("make a collage", "collage a b c grid"),
        ("collage", "collage a b c grid"),
        ("combine them", "collage a b c grid"),
        ("put them side by side", "collage a b c row"),
        ("in a row", "collage a b c row"),
        ("put them in a column", "collage a b c column"),
        ("a vertical collage", "collage a b c column"),
        ("contact sheet please", "collage a b c contact_sheet"),
        ("put the first and the third side by side", "collage a c row"),
        ("before and after of photo 1 and photo 2", "collage a b before_after"),
        ("make a collage on black", "collage a b c black grid"),
        ("make them black and white and then a collage", "filter a b c grayscale | collage a1 b1 c1 grid"),
        ("crop the first to a square and make a collage of all", "crop a 1:1 | collage a1 b c grid"),
        ("make a collage and rotate it left", "collage a b c grid | rotate m1 270"),
        ("make a collage in black and white", "collage a b c grid | filter m1 grayscale"),
        ("make a gif", "animate a b c gif"),
        ("make a gif of them", "animate a b c gif"),
        ("turn them into a gif", "animate a b c gif"),
        ("animate them", "animate a b c gif"),
        ("animated webp", "animate a b c webp"),
        ("slideshow", "animate a b c gif seconds_per_image=2"),
        ("make a slideshow, 3 seconds each", "animate a b c gif seconds_per_image=3"),
        ("convert them to gif", "convert a b c gif"),
        ("compare photo 1 and 3", "compare a c"),
        ("compare the first two", "compare a b"),
        ("compare them", ""),
        ("before and after", ""),
    ] {
        assert_eq!(play(sent("a b c", said)).calls, expected, "{said}");
    }
    for said in [
        "compare them",
        "compare the two",
        "are they the same?",
        "what is the difference between these?",
        "what changed?",
    ] {
        assert_eq!(play(sent("a b", said)).calls, "compare a b", "{said}");
    }
    assert_eq!(play(sent("a b", "before and after")).calls, "collage a b before_after");
}

#[test]
fn the_reply_counts_the_inputs() {
    assert_eq!(play(sent("a b c d", "make a collage")).text, "Here you go: put 4 photos in a collage.");
    assert_eq!(play(sent("a b", "slideshow")).text, "Here you go: made a slideshow of 2 photos.");
    assert_eq!(play(sent("a b", "brighter")).text, "Done with 2 photos: made them brighter.");
    assert_eq!(
        play(sent("a b", "make the first brighter and the second darker")).text,
        "Done with 2 photos: made one brighter and made one darker."
    );
    assert_eq!(play(sent("a b", "compare them")).text, "Similarity 95.0%. 3% of the pixels visibly changed.");
}

#[test]
fn combines_the_replied_album_or_the_newest_photos_sent_together() {
    let replied = |said: &str| Focus {
        said: said.into(),
        replied: photos("b"),
        album: photos("a b c"),
        recent: photos("z y"),
        ..Focus::default()
    };
    assert_eq!(play(replied("make a collage")).calls, "collage a b c grid");
    let mut files = photos("d c b a");
    for (file, minutes) in files.iter_mut().zip([60, 60, 0, 0]) {
        file.created_at = DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
    }
    let recent = |files: &[Attachment], said: &str| Focus {
        said: said.into(),
        recent: files.to_vec(),
        ..Focus::default()
    };
    assert_eq!(play(recent(&files, "make a collage")).calls, "collage c d grid");
    assert_eq!(
        play(recent(&files[1..], "make a collage")).calls,
        "collage a b c grid",
        "the newest came alone"
    );
    files[0].created_at += TimeDelta::hours(1);
    assert_eq!(play(recent(&files[..2], "make a collage")).calls, "collage c d grid", "one by one");
    let with_another = Focus { sent: photos("s"), ..reply_to_a("put them side by side") };
    assert_eq!(play(with_another).calls, "collage a s row");
}

#[test]
fn combining_needs_two_photos() {
    for said in ["make a collage", "compare them", "make a gif", "put it side by side"] {
        let played = play(reply_to_a(said));
        assert_eq!(played.calls, "", "{said}");
        assert!(played.text.contains("at least two pictures"), "{said}: {}", played.text);
    }
    let three = play(sent("a b c", "compare them")).text;
    assert!(three.contains("there are 3. Which two"), "{three}");
    let none = play(Focus { said: "make a collage".into(), ..Focus::default() }).text;
    assert!(none.contains("Send me one"), "{none}");
}

#[test]
fn before_and_after_of_an_edit_uses_its_original() {
    let reply = |said: &str| Focus {
        said: said.into(),
        replied: vec![made("e2", "e1")],
        album: vec![made("e2", "e1")],
        recent: [vec![made("e2", "e1"), made("e1", "a")], photos("b a")].concat(),
        ..Focus::default()
    };
    assert_eq!(play(reply("show before and after")).calls, "collage a e2 before_after");
    assert_eq!(play(reply("compare it with the original")).calls, "compare a e2");
    assert_eq!(
        play(reply_to_a("make it sepia and show before and after")).calls,
        "filter a sepia | collage a a1 before_after"
    );
}

/// The album `a b c`, of which `b` was edited twice.
fn edited_album(said: &str) -> Focus {
    let recent = [vec![made("e2", "e1"), made("e1", "b")], photos("c b a")].concat();
    Focus { said: said.into(), recent, ..Focus::default() }
}

#[test]
fn edits_are_repeated_on_the_others() {
    let to_edit = |said: &str| Focus {
        replied: vec![made("e2", "e1")],
        album: vec![made("e2", "e1")],
        ..edited_album(said)
    };
    let to_photo = |name: &str, said: &str| Focus {
        replied: photos(name),
        album: photos("a b c"),
        ..edited_album(said)
    };
    for said in [
        "do the same to the others",
        "do that to the other ones, too",
        "same for the rest",
        "repeat it for all of them",
        "do it to the others as well",
        "and the others, too",
    ] {
        assert_eq!(play(edited_album(said)).calls, "repeat a c from e2", "{said}");
        assert_eq!(play(to_edit(said)).calls, "repeat a c from e2", "{said}");
        assert_eq!(play(to_photo("b", said)).calls, "repeat a c from e2", "{said}");
    }
    for said in ["same for photo 1", "do that to photo 1", "do the same to the first one"] {
        assert_eq!(play(edited_album(said)).calls, "repeat a from e2", "{said}");
        assert_eq!(play(to_photo("b", said)).calls, "repeat a from e2", "{said}");
    }
    for said in ["do the same", "same here", "do the same to this one"] {
        assert_eq!(play(to_photo("c", said)).calls, "repeat c from e2", "{said}");
        let new = Focus { sent: photos("n"), ..edited_album(said) };
        assert_eq!(play(new).calls, "repeat n from e2", "{said}");
    }
    let mut here = to_photo("c", "do the same here");
    here.recent.insert(0, made("f1", "c"));
    assert_eq!(play(here).calls, "repeat c from e2", "what was done elsewhere");
    assert_eq!(play(edited_album("do the same to the others")).text, "Done with 2 photos: did the same.");
    assert!(play(edited_album("do the same")).text.starts_with("To which photos?"));
    let nothing =
        play(Focus { said: "do the same to the others".into(), recent: photos("b a"), ..Focus::default() });
    assert!(nothing.text.starts_with("Nothing was edited here yet"), "{}", nothing.text);
}

#[test]
fn edit_and_repeat_in_one_message() {
    assert_eq!(
        play(sent("a b c", "crop the first to a square and do the same to the others")).calls,
        "crop a 1:1 | repeat b c from a1"
    );
    assert_eq!(
        play(sent("a b c", "rotate photo 1 left, same for photo 3")).calls,
        "rotate a 270 | repeat c from a1"
    );
}

#[test]
fn without_a_reply_the_result_of_undo_is_edited() {
    let focus = Focus {
        said: "redo".into(),
        recent: vec![made("a1", "a"), photos("a").remove(0)],
        ..Focus::default()
    };
    let mut asked = prompt(focus);
    let undone = PromptMessage::Tool {
        call_id: "offline-1".into(),
        name: "undo_edit".into(),
        text: format!("Went back.\n[Attachment ID: {}]", id("a")),
        shown: Vec::new(),
    };
    asked.messages.insert(0, undone);
    assert_eq!(play_with(asked.clone(), fake_tool).calls, "redo a");
    asked.focus.said = "flip it".into();
    assert_eq!(play_with(asked.clone(), fake_tool).calls, "flip a horizontal", "what was shown last");
    let newer = format!("look\n[Attachment ID: {}]", id("n"));
    asked.messages.insert(1, PromptMessage::User { text: newer, shown: Vec::new() });
    asked.focus.recent.insert(0, photos("n").remove(0));
    assert_eq!(play_with(asked, fake_tool).calls, "flip n horizontal", "unless something came since");
}

#[test]
fn outputs_are_matched_to_inputs_when_one_fails() {
    let played = play_with(prompt(sent("a b c", "blur them and flip the third")), |call| {
        match call.name.as_str() {
            "filter_image" => format!(
                "Filtered 2 of 3 images.\nImage 2 (b.jpg) failed: it is broken.\n[Attachment ID: {}]\n[Attachment ID: {}]",
                id("a1"),
                id("c1")
            ),
            _ => fake_tool(call),
        }
    });
    assert_eq!(played.calls, "filter a b c blur | flip c1 horizontal");
    assert!(played.text.contains("Image 2 (b.jpg) failed: it is broken."), "{}", played.text);
}

#[test]
fn missing_characters_are_reported() {
    let played = play_with(prompt(reply_to_a("write “Hi 🦅”")), |call| {
        let glyphs = "These characters have no glyph in the available fonts and were left out: 🦅. A person can add one.";
        format!("{}{glyphs}", fake_tool(call))
    });
    assert!(played.text.ends_with("so I left them out: 🦅"), "{}", played.text);
}

#[test]
fn without_image_info_facts_come_from_get_attachment_info() {
    let mut asked = prompt(reply_to_a("info"));
    asked.tools.retain(|tool| tool.name != "image_info");
    assert_eq!(play_with(asked, fake_tool).calls, "get a");
}

#[test]
fn every_example_in_the_readme_is_understood() {
    let readme = include_str!("../../../../README.md");
    let table =
        readme.split("## What you can say").nth(1).and_then(|rest| rest.split("\n## ").next()).unwrap();
    let rows = table.lines().filter(|line| line.starts_with("| "));
    let said: Vec<&str> = rows.flat_map(|row| row.split('*').skip(1).step_by(2)).collect();
    assert!(said.len() > 30, "{said:?}");
    for said in said {
        let pictures = Focus {
            replied: photos("a"),
            album: photos("a b"),
            recent: [vec![made("e1", "a")], photos("b a")].concat(),
            ..edited_album(said)
        };
        let text = Focus { said: said.into(), replied: vec![file("t", "text/plain")], ..Focus::default() };
        let played = play_seeing(pictures);
        let understood = !played.calls.is_empty() || !play(text).calls.is_empty();
        assert!(understood && !played.text.contains("didn't understand"), "{said}: {}", played.text);
    }
}
