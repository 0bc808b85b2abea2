//! `watermark_image` with a text and with another image of the conversation.

use super::*;
use image::{GenericImageView as _, Rgba, RgbaImage};
use serde_json::json;

const ID: &str = "0190d3c1-6e5f-7b7e-8c8e-0123456789ab";

fn logo() -> Vec<u8> {
    let logo = RgbaImage::from_pixel(40, 40, Rgba([0, 255, 0, 255]));
    imaging::encode(&imaging::Picture::new(logo.into(), imaging::Format::Png)).unwrap().bytes
}

#[tokio::test]
async fn a_text_is_written_in_the_corner() {
    let world = World::new().await;
    let image = world.sends("eagle.jpg", image_file("photo_rocket.jpg")).await;
    let made = world.makes("watermark_image", json!({"images": [image], "text": "© Jane"})).await;
    let [made] = made.as_slice() else { panic!("{made:?}") };
    assert_eq!((made.filename.as_str(), made.mime_type.as_str()), ("eagle-watermarked.jpg", "image/jpeg"));
    assert_eq!(made.description.as_deref(), Some("watermarked: © Jane"));
    assert_eq!(made.parents, [image]);
    assert_eq!(made.recipe().cloned().unwrap().arguments, json!({"text": "© Jane"}));
}

#[tokio::test]
async fn an_image_watermark_is_drawn_on_each_and_is_a_parent() {
    let world = World::new().await;
    let cat = world.sends_image("photo_chelsea.png").await;
    let page = world.sends_image("photo_page.png").await;
    let mark = world.sends("logo.png", logo()).await;
    let rest = json!({"mark": mark, "position": "top-left", "opacity": 100, "size": 20});
    let mut arguments = rest.clone();
    arguments["images"] = json!([cat, page]);
    let made = world.makes("watermark_image", arguments).await;
    assert_eq!(made.len(), 2);
    assert_eq!((&made[0].parents, &made[1].parents), (&vec![cat, mark], &vec![page, mark]));
    assert_eq!(made[0].recipe().cloned().unwrap().arguments, rest);
    assert_eq!(made[0].description.as_deref(), Some("watermarked with another image"));
    let picture = world.picture(&made[0]).await;
    assert_eq!(picture.pixels().get_pixel(40, 40).0, [0, 255, 0, 255]);
    let before = world.picture(&world.found(cat).await).await;
    assert_eq!(picture.pixels().get_pixel(300, 200), before.pixels().get_pixel(300, 200));

    let undone = world.call("undo_edit", json!({"images": [made[0].attachment_id]})).await;
    assert_eq!(undone.outputs, [Output::Known(cat)]);
}

#[tokio::test]
async fn unusable_watermarks_are_refused() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let note = world.sends("note.txt", &b"not a picture"[..]).await;
    let cut = world.sends_image("bad_truncated.png").await;
    for (rest, expected) in [
        (json!({}), "What to sign with is missing: give text, or mark with the attachment id of an image."),
        (json!({"text": "a", "mark": ID}), "text and mark were both given. Give one of them."),
        (json!({"text": "  "}), "text is blank."),
        (json!({"mark": "logo"}), "mark is \"logo\", which is not an attachment id."),
        (
            json!({"mark": ID}),
            "There is no attachment 0190d3c1-6e5f-7b7e-8c8e-0123456789ab in this conversation.",
        ),
        (json!({"mark": note}), "mark: note.txt is not a picture."),
        (json!({"mark": cut}), "mark: This PNG file is damaged"),
        (json!({"mark": ID, "color": "red"}), "color goes with text"),
        (json!({"text": "a", "opacity": 0}), "opacity is 0, but must be a number from 1 to 100."),
        (json!({"text": "a", "size": 101}), "size is 101, but must be a number from 1 to 100."),
        (
            json!({"text": "a", "position": "middle"}),
            "must be one of: top-left, top-right, bottom-left, bottom-right, center, tile.",
        ),
        (json!({"text": "a", "color": "rainbow"}), "color: Unknown color \"rainbow\"."),
    ] {
        let mut arguments = rest;
        arguments["images"] = json!([image]);
        let text = world.refused("watermark_image", arguments).await;
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn a_mark_of_another_conversation_is_unknown() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let arguments = json!({"images": [image], "mark": image}).to_string();
    let called = world.registry.call(&world.elsewhere(), "watermark_image", &arguments, TOOL_TIMEOUT).await;
    assert!(called.failed && called.text.contains(&format!("no attachment {image}")), "{}", called.text);
}
