//! Which pictures a request contains, in which order, and which ones `look_at_image` adds.

use super::{Stage, said_by};
use crate::harness::{Answer, BotUnderTest, attachment_ids, jpeg, jpeg_of};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use image::GenericImageView as _;
use serde_json::{Value, json};

/// A picture in a request.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    /// The text before it.
    caption: String,
    bytes: Vec<u8>,
}

impl Seen {
    fn size(&self) -> (u32, u32) {
        image::load_from_memory(&self.bytes).expect("a picture").dimensions()
    }
}

fn seen(request: &Value) -> Vec<Seen> {
    let messages = request["messages"].as_array().expect("messages");
    let parts = messages.iter().filter_map(|message| message["content"].as_array());
    let pairs = parts.flat_map(|parts| parts.windows(2));
    let picture = |pair: &[Value]| {
        let url = pair[1]["image_url"]["url"].as_str()?;
        let (_, data) = url.split_once(";base64,").expect("a data URL");
        let caption = pair[0]["text"].as_str().expect("a caption before the picture").to_owned();
        Some(Seen { caption, bytes: BASE64_STANDARD.decode(data).expect("base64") })
    };
    pairs.filter_map(picture).collect()
}

fn sizes(request: &Value) -> Vec<(u32, u32)> {
    seen(request).iter().map(Seen::size).collect()
}

fn photos(widths: impl IntoIterator<Item = u32>) -> Vec<Vec<u8>> {
    widths.into_iter().map(|width| jpeg_of(width, 40, [90, 90, 200])).collect()
}

fn file(name: &str) -> Vec<u8> {
    let path = std::path::PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/images").join(name);
    std::fs::read(path).expect(name)
}

/// A call with one of the attachments of the request.
fn look_at(place: usize, rest: Value) -> impl FnOnce(&Value) -> Answer + Send {
    move |request| {
        let mut arguments = rest;
        arguments["image"] = attachment_ids(request)[place].clone().into();
        Answer::Calls(vec![("look_at_image".into(), arguments)])
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_photo_is_shown_and_older_ones_are_markers_that_can_be_looked_at() {
    let stage = Stage::set().await;
    stage.ann.sends_photo(jpeg(64, 48), "a boat").await;
    stage.ann.next_message().await;
    stage.model.next_with(look_at(0, json!({})));
    stage.ann.sends_photo(jpeg(80, 60), "like the last one?").await;
    stage.ann.next_message().await;
    let [.., before, after] = &stage.model.requests()[..] else { panic!("two requests") };
    assert_eq!((attachment_ids(before).len(), sizes(before)), (2, vec![(80, 60)]));
    assert_eq!(sizes(after), [(80, 60), (64, 48)]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_message_shows_the_photo_before_it() {
    let stage = Stage::set().await;
    stage.ann.sends_photo(jpeg(64, 48), "").await;
    stage.ann.next_message().await;
    stage.ann.says("what is on it?").await;
    stage.ann.next_message().await;
    assert_eq!(sizes(&stage.last_request()), [(64, 48)]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_replied_to_photo_of_an_album_is_shown_first() {
    let stage = Stage::set().await;
    let album = stage.ann.sends_album(&photos([60, 61, 62]), "from the lake").await;
    stage.ann.next_message().await;
    assert_eq!(sizes(&stage.last_request()), [(60, 40), (61, 40), (62, 40)]);
    stage.ann.replies(&album[2], "is it sharp?").await;
    stage.ann.next_message().await;
    assert_eq!(sizes(&stage.last_request()), [(62, 40), (60, 40), (61, 40)]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_thread_shows_its_newest_pictures_and_no_more_than_the_budget() {
    let stage = Stage::set().await;
    let album = stage.ann.sends_album(&photos(60..70), "ten").await;
    stage.ann.next_message().await;
    assert_eq!(sizes(&stage.last_request()), (60..68).map(|width| (width, 40)).collect::<Vec<_>>());
    stage.ann.replies_with_photo(&album[9], jpeg(90, 40), "and this?").await;
    let answer = stage.ann.next_message().await;
    let widths = [90, 69, 60, 61, 62, 63, 64, 65];
    assert_eq!(sizes(&stage.last_request()), widths.map(|width| (width, 40)));
    stage.ann.replies(&answer, "go on").await;
    stage.ann.next_message().await;
    let widths = [90, 69, 68, 67, 66, 65, 64, 63];
    assert_eq!(sizes(&stage.last_request()), widths.map(|width| (width, 40)), "the newest first");
    assert_eq!(attachment_ids(&stage.last_request()).len(), 11, "the others are named");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_look_shows_the_region_with_its_grid_and_sends_nothing() {
    let stage = Stage::set().await;
    let region = json!({ "left": 500, "top": 0, "right": 1000, "bottom": 500 });
    stage.model.next_with(look_at(0, json!({ "region": region, "grid": true })));
    stage.model.next_reply("There is a boat.");
    let photo = stage.ann.sends_photo(jpeg(800, 600), "what is in the corner?").await;
    let answer = stage.ann.next_message().await;
    assert_eq!((answer.text.as_str(), answer.photo), ("There is a boat.", None));
    stage.ann.has_nothing_more();

    let request = stage.last_request();
    let id = attachment_ids(&request).remove(0);
    let [whole, part] = &seen(&request)[..] else { panic!("the photo and the look") };
    assert_eq!((whole.caption.clone(), whole.size()), (format!("[Attachment ID: {id}]"), (800, 600)));
    let caption = "the part from 500 to 1000 across and 0 to 500 down, with a grid";
    assert_eq!(
        (part.caption.clone(), part.size()),
        (format!("[Attachment ID: {id}], {caption}"), (800, 600))
    );
    let told = said_by("tool", &request).remove(0);
    assert!(told.contains("800×600 pixels: you see the part") && !told.contains("[Attachment"), "{told}");

    stage.ann.replies(&photo, "thank you").await;
    stage.ann.next_message().await;
    assert_eq!(sizes(&stage.last_request()), [(800, 600)], "a look of an earlier turn is only told");
    assert_eq!(said_by("tool", &stage.last_request()), [told]);
    let (_, rows) = stage.at_rest().await;
    assert!(rows.iter().filter(|row| row.tool_name.is_some()).all(|row| row.attachments.is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_look_shows_nothing_and_suggests_an_alternative() {
    let stage = Stage::set().await;
    stage.model.next_with(look_at(0, json!({})));
    stage.model.next_with(look_at(0, json!({ "region": { "left": 9, "top": 0, "right": 3, "bottom": 9 } })));
    stage.ann.sends_document("photo.avif", file("photo.avif"), "what is this?").await;
    stage.ann.next_message().await;
    assert_eq!(seen(&stage.last_request()), []);
    let told = said_by("tool", &stage.last_request());
    assert!(told[0].starts_with("Error: ") && told[0].contains("as JPEG or PNG"), "{}", told[0]);
    assert!(told[1].contains("right (3) must be greater than left (9)"), "{}", told[1]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn looks_are_shown_again_after_a_restart() {
    let stage = Stage::set().await;
    stage.model.next_with(look_at(0, json!({ "grid": true })));
    stage.model.next_reply("dropped: the bot stops before it");
    let (first, second) = (stage.model.hold_next(), stage.model.hold_next());
    first.open();
    stage.ann.sends_photo(jpeg(300, 200), "where is it?").await;
    second.reached().await;
    stage.bot.stop().await;
    let bot = BotUnderTest::start(&stage.settings).await;
    stage.ann.next_message().await;
    let requests = stage.model.requests();
    assert_eq!(sizes(&requests[2]), [(300, 200), (600, 400)]);
    assert_eq!(seen(&requests[2]), seen(&requests[1]));
    assert_eq!(stage.model.refusals(), [""; 0]);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_box_that_was_corrected_after_a_look_is_sent_once() {
    let stage = Stage::set().await;
    let mark = |left: u32| {
        move |request: &Value| {
            let regions = json!([{ "left": left, "top": 100, "right": left + 200, "bottom": 400 }]);
            let image = attachment_ids(request).remove(0);
            Answer::Calls(vec![("highlight_image".into(), json!({ "images": [image], "regions": regions }))])
        }
    };
    stage.model.next_with(mark(100));
    stage.model.next_with(look_at(1, json!({ "grid": true })));
    stage.model.next_with(|request| {
        let wrong = attachment_ids(request).remove(1);
        Answer::Calls(vec![("undo_edit".into(), json!({ "images": [wrong] }))])
    });
    stage.model.next_with(mark(600));
    stage.model.next_reply("There it is.");
    stage.ann.sends_photo(jpeg(300, 200), "mark the boat").await;
    let answer = stage.ann.next_message().await;
    stage.ann.has_nothing_more();
    let sent = image::load_from_memory(&answer.photo.expect("a photo")).unwrap().to_rgb8();
    let is_red = |x, y| {
        let [red, green, blue] = sent.get_pixel(x, y).0;
        red > 200 && green < 90 && blue < 90
    };
    let red_between = |from, to| (from..to).any(|x| (0..200).any(|y| is_red(x, y)));
    assert!(red_between(170, 250) && !red_between(20, 100), "the second box and not the first");
    let looked = &seen(&stage.model.requests()[2])[1];
    assert_eq!(looked.size(), (600, 400), "the result was looked at before it was a file");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_gets_no_gps_position() {
    let stage = Stage::set().await;
    let original = file("jpeg_exif_gps.jpg");
    let tells = |bytes: &[u8]| bytes.windows(4).any(|four| four == b"Exif");
    assert!(tells(&original));
    stage.model.next_with(look_at(0, json!({ "grid": true })));
    stage.ann.sends_document("photo.jpg", original, "where was this?").await;
    stage.ann.next_message().await;
    let seen = seen(&stage.last_request());
    assert_eq!(seen.len(), 2);
    for picture in seen {
        assert!(!tells(&picture.bytes), "{}", picture.caption);
    }
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pdf_is_only_a_marker_for_a_server_that_may_not_accept_it() {
    let stage = Stage::set().await;
    stage.ann.sends_document("bill.pdf", "%PDF-1.4\n1 0 obj\nendobj\n%%EOF", "how much is it?").await;
    stage.ann.next_message().await;
    let request = stage.last_request();
    let said = said_by("user", &request).pop().expect("a message");
    assert!(said.contains("[Attachment ID: ") && !said.contains("[pixels]"), "{said}");
    assert_eq!((attachment_ids(&request).len(), seen(&request)), (1, Vec::new()));
    stage.clear().await;
}
