//! Which files are sent with an answer, in which order and in which groups.

use super::Stage;
use crate::harness::{Answer, Received, attachment_ids, jpeg};
use image::GenericImageView as _;
use serde_json::{Value, json};

fn size(message: &Received) -> (u32, u32) {
    let photo = message.photo.as_ref().expect("a photo");
    image::load_from_memory(photo).expect("a picture").dimensions()
}

/// One call with the attachments at these positions of the request.
fn on(places: &'static [usize], tool: &'static str, arguments: Value) -> impl FnOnce(&Value) -> Answer {
    move |request| {
        let ids = attachment_ids(request);
        let picked: Vec<&String> = places.iter().map(|at| &ids[*at]).collect();
        let mut arguments = arguments;
        let field = if tool == "attach_to_response" { "attachment_ids" } else { "images" };
        arguments[field] = json!(picked);
        Answer::Calls(vec![(tool.into(), arguments)])
    }
}

fn resize(width: u32) -> Value {
    json!({ "width": width })
}

#[tokio::test(flavor = "multi_thread")]
async fn only_outputs_without_later_outputs_are_sent() {
    let stage = Stage::set().await;
    stage.model.next_with(on(&[0], "resize_image", resize(80)));
    stage.model.next_with(on(&[1], "resize_image", resize(70)));
    stage.model.next_with(on(&[1], "resize_image", resize(60)));
    stage.ann.sends_photo(jpeg(100, 100), "make it smaller").await;
    let album = stage.ann.next_album().await;
    assert_eq!(album.iter().map(size).collect::<Vec<_>>(), [(70, 70), (60, 60)], "the two ends of the fork");
    stage.ann.has_nothing_more();
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_to_response_replaces_the_outputs_and_the_last_call_wins() {
    let stage = Stage::set().await;
    stage.model.next_with(on(&[0], "resize_image", resize(80)));
    stage.model.next_with(on(&[1], "attach_to_response", json!({})));
    stage.model.next_with(on(&[0], "attach_to_response", json!({})));
    stage.model.next_reply("Here is the first one.");
    stage.ann.sends_photo(jpeg(100, 100), "show me the original").await;
    let answer = stage.ann.next_message().await;
    assert_eq!(size(&answer), (100, 100));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_after_attach_to_response_are_added() {
    let stage = Stage::set().await;
    stage.model.next_with(on(&[0], "resize_image", resize(80)));
    stage.model.next_with(on(&[0], "attach_to_response", json!({})));
    stage.model.next_with(on(&[0], "resize_image", resize(60)));
    stage.ann.sends_photo(jpeg(100, 100), "the original and a small one").await;
    let album = stage.ann.next_album().await;
    assert_eq!(album.iter().map(size).collect::<Vec<_>>(), [(100, 100), (60, 60)]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn attach_to_response_with_an_unknown_id_changes_nothing() {
    let stage = Stage::set().await;
    stage.model.next_with(on(&[0], "resize_image", resize(80)));
    let unknown = "0191f3a0-0000-7000-8000-000000000001";
    stage.model.next_calls([("attach_to_response", json!({ "attachment_ids": [unknown] }))]);
    stage.ann.sends_photo(jpeg(100, 100), "smaller").await;
    assert_eq!(size(&stage.ann.next_message().await), (80, 80));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn eleven_images_go_as_two_groups_in_order() {
    let stage = Stage::set().await;
    stage.model.next_with(|request| {
        let images = attachment_ids(request);
        let call = |width| ("resize_image".to_owned(), json!({ "images": images, "width": width }));
        Answer::Calls((21..=31).map(call).collect())
    });
    stage.model.next_reply("Eleven of them.");
    stage.ann.sends_photo(jpeg(100, 100), "eleven sizes").await;
    let (first, second) = (stage.ann.next_album().await, stage.ann.next_album().await);
    assert!(first.len() >= 2 && second.len() >= 2 && first.len() + second.len() == 11);
    assert_eq!(first[0].caption, "Eleven of them.");
    let widths: Vec<u32> = first.iter().chain(&second).map(|message| size(message).0).collect();
    assert_eq!(widths, (21..=31).collect::<Vec<_>>());
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_and_other_files_are_sent_in_the_chosen_order() {
    let stage = Stage::set().await;
    stage.ann.sends_photo(jpeg(50, 50), "one").await;
    stage.ann.next_message().await;
    stage.ann.sends_document("notes.txt", "some words", "two").await;
    stage.ann.next_message().await;
    stage.model.next_with(on(&[2], "resize_image", resize(40)));
    stage.model.next_with(on(&[0, 1, 2, 3], "attach_to_response", json!({})));
    stage.model.next_reply("All of it.");
    stage.ann.sends_photo(jpeg(60, 60), "send everything").await;
    let first = stage.ann.next_message().await;
    assert_eq!((size(&first), first.caption.as_str()), ((50, 50), "All of it."));
    let (name, bytes) = stage.ann.next_message().await.document.expect("a document");
    assert_eq!((name.as_str(), &bytes[..]), ("notes.txt", &b"some words"[..]));
    let rest = stage.ann.next_album().await;
    assert_eq!(rest.iter().map(size).collect::<Vec<_>>(), [(60, 60), (40, 40)]);
    stage.clear().await;
}
