//! Which attachments a sentence is about.

use super::{file, photos, play};
use crate::domain::{Attachment, AttachmentSource};
use crate::providers::Focus;
use chrono::{DateTime, TimeDelta};

fn sent(names: &str, said: &str) -> Focus {
    Focus { said: said.into(), sent: photos(names), ..Focus::default() }
}

/// A reply to `b` of the album `a b c`.
fn reply_in_album(said: &str) -> Focus {
    Focus {
        said: said.into(),
        replied: photos("b"),
        album: photos("a b c"),
        recent: photos("z"),
        ..Focus::default()
    }
}

fn recent(newest_first: Vec<Attachment>, said: &str) -> Focus {
    Focus { said: said.into(), recent: newest_first, ..Focus::default() }
}

#[test]
fn an_album_is_edited_as_a_whole_unless_photos_are_selected() {
    for (said, expected) in [
        ("make them black and white", "filter a b c grayscale"),
        ("black and white", "filter a b c grayscale"),
        ("rotate the second photo left", "rotate b 270"),
        ("rotate photo 2 left", "rotate b 270"),
        ("rotate photo 2 90 degrees", "rotate b 90"),
        ("rotate #3 left", "rotate c 270"),
        ("flip the first and third", "flip a c horizontal"),
        ("flip the 1st and the 3rd photo", "flip a c horizontal"),
        ("flip photos 1 and 3", "flip a c horizontal"),
        ("flip photos 2-3", "flip b c horizontal"),
        ("flip the last one", "flip c horizontal"),
        ("flip the first two", "flip a b horizontal"),
        ("resize photo 1 to 800", "resize a longest=800"),
        ("flip all of them", "flip a b c horizontal"),
        ("crop every photo to a square", "crop a b c 1:1"),
        ("rotate the first left and the second right", "rotate a 270 | rotate b 90"),
        ("crop the first to a square and make it sepia", "crop a 1:1 | filter a1 sepia"),
        ("crop the first to a square, then make them all sepia", "crop a 1:1 | filter a1 b c sepia"),
        ("crop them to a square, then make them sepia", "crop a b c 1:1 | filter a1 b1 c1 sepia"),
        ("send photo 2", "send b"),
        ("flip 1 and 3", "flip a c horizontal"),
        ("flip all but the second", "flip a c horizontal"),
        ("rotate all except photo 1 left", "rotate b c 270"),
        ("what is this", "image a | image b | image c"),
        ("highlight the middle third of the third photo", "highlight c [333 333 667 667]"),
    ] {
        assert_eq!(play(sent("a b c", said)).calls, expected, "{said}");
    }
}

#[test]
fn a_reply_to_one_photo_of_an_album_means_that_photo_by_default() {
    for (said, expected) in [
        ("make it sepia", "filter b sepia"),
        ("make them all sepia", "filter a b c sepia"),
        ("sepia for all", "filter a b c sepia"),
        ("make the others sepia", "filter a c sepia"),
        ("sepia for the third one", "filter c sepia"),
    ] {
        assert_eq!(play(reply_in_album(said)).calls, expected, "{said}");
    }
}

#[test]
fn sent_photos_take_precedence_over_the_replied_photo() {
    let focus = Focus { sent: photos("s"), ..reply_in_album("flip") };
    assert_eq!(play(focus).calls, "flip s horizontal");
    let focus = Focus { sent: vec![file("t", "text/plain")], ..reply_in_album("flip") };
    assert_eq!(play(focus).calls, "flip b horizontal");
}

#[test]
fn without_reply_or_photo_the_newest_photo_is_edited() {
    assert_eq!(play(recent(photos("c b a"), "flip")).calls, "flip c horizontal");
    assert_eq!(play(recent(photos("c b a"), "flip the second")).calls, "flip b horizontal");
    assert_eq!(play(recent(photos("c b a"), "flip them all")).calls, "flip a b c horizontal");
    let mut files = vec![file("t", "text/plain")];
    files.extend(photos("b a"));
    assert_eq!(play(recent(files.clone(), "flip")).calls, "flip b horizontal");
    assert_eq!(play(recent(files, "read it")).calls, "read t");
}

#[test]
fn all_means_the_photos_sent_together() {
    let mut files = photos("d c b a");
    for (file, minutes) in files.iter_mut().zip([60, 60, 0, 0]) {
        file.created_at = DateTime::UNIX_EPOCH + TimeDelta::minutes(minutes);
    }
    assert_eq!(play(recent(files.clone(), "flip both")).calls, "flip c d horizontal");
    assert_eq!(play(recent(files, "flip the fourth")).calls, "flip d horizontal");
}

#[test]
fn intermediate_results_are_not_counted() {
    let mut files = photos("d c b a");
    for made in &mut files[..2] {
        made.source = AttachmentSource::Tool;
    }
    files[0].parents = vec![files[1].attachment_id];
    assert_eq!(play(recent(files.clone(), "flip them all")).calls, "flip d horizontal");
    assert_eq!(play(recent(files, "flip photo 2")).calls, "flip b horizontal");
}

#[test]
fn a_number_out_of_range_gets_the_count() {
    let played = play(sent("a b", "flip the fifth photo"));
    assert_eq!(
        (played.calls.as_str(), played.text.as_str()),
        ("", "There are only 2 photos in your message. Which one do you mean?")
    );
}

#[test]
fn edits_skip_other_files_and_the_reply_says_so() {
    let pdf = || file("p", "application/pdf");
    let mut files = photos("a b");
    files.insert(1, pdf());
    let played = play(Focus { said: "flip the second".into(), sent: files.clone(), ..Focus::default() });
    assert_eq!(played.calls, "flip b horizontal");
    assert!(played.text.contains("left out 1 file"), "{}", played.text);
    let played = play(Focus { said: "send them all".into(), sent: files, ..Focus::default() });
    assert_eq!(played.calls, "send a p b");

    let only_pdf = |said: &str| Focus {
        said: said.into(),
        replied: vec![pdf()],
        recent: photos("a"),
        ..Focus::default()
    };
    assert_eq!(
        play(only_pdf("flip it")).text,
        "That file is a PDF; I can keep it and send it back, but only pictures can be edited."
    );
    assert_eq!(play(only_pdf("send it back")).calls, "send p");
}

#[test]
fn without_any_picture_the_reply_asks_for_one() {
    let played = play(recent(Vec::new(), "make it black and white"));
    assert!(played.text.contains("Send me one, or reply to one"), "{}", played.text);
}

#[test]
fn photos_without_a_request_get_suggestions() {
    let one = play(sent("a", "")).text;
    assert!(one.starts_with("Got your photo. Reply to it") && one.contains("- crop to a square"), "{one}");
    let album = play(sent("a b c", " 🙂 ")).text;
    assert!(album.starts_with("Got 3 photos."), "{album}");
    let caption = play(sent("a", "our old house")).text;
    assert!(caption.contains("“our old house”") && caption.starts_with("Got your photo"), "{caption}");
    let file_only = Focus { sent: vec![file("p", "application/pdf")], ..Focus::default() };
    assert!(play(file_only).text.starts_with("Got your file"));
}
