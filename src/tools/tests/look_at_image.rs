//! `look_at_image`: describes the view, stores nothing, and refuses files without a view.

use super::*;
use crate::{providers::MAX_LOOK_SIDE, tools::look_at_image::parse_look};
use imaging::View;
use serde_json::json;

fn half() -> Value {
    json!({"left": 0, "top": 0, "right": 500, "bottom": 250})
}

#[tokio::test]
async fn a_look_describes_the_view_and_has_no_outputs() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    let looked = world.call("look_at_image", json!({"image": image})).await;
    assert_eq!(looked.text, "photo_rocket.jpg, 640×427 pixels: you see all of it until you answer.");
    let closer = world.call("look_at_image", json!({"image": image, "region": half(), "grid": true})).await;
    assert_eq!(
        closer.text,
        "photo_rocket.jpg, 640×427 pixels: you see the part from 0 to 500 across and 0 to 250 down until you answer. \
         The lines are every 100 across and 50 down, in thousandths of the whole picture: numbers along the top are \
         for left and right, numbers along the left edge for top and bottom. They are only in this view."
    );
    for called in [looked, closer] {
        assert!(!called.failed && called.outputs.is_empty(), "{called:?}");
        assert!(!called.text.contains("[Attachment ID"), "nothing that could be sent");
    }
}

#[tokio::test]
async fn a_stored_call_is_parsed_like_the_original() {
    let id = AttachmentId::new();
    let marker = format!("[Attachment ID: {id}]");
    let look = parse_look(&json!({"image": marker, "region": half(), "grid": null}).to_string()).unwrap();
    assert_eq!((look.id, look.grid), (id, false));
    assert_eq!(look.region, imaging::Region::new(0.0, 0.0, 500.0, 250.0).ok());
    assert!(parse_look(&json!({"image": id, "grid": true}).to_string()).unwrap().grid);
    for refused in ["", "{}", "{\"image\": 7}", "{\"image\": \"eagle.jpg\"}", "not JSON"] {
        assert_eq!(parse_look(refused), None, "{refused}");
    }
}

#[tokio::test]
async fn files_without_a_view_are_refused_with_an_alternative() {
    let world = World::new().await;
    let avif = world.sends_image("photo.avif").await;
    let cut = world.sends_image("bad_truncated.png").await;
    let html = world.sends_image("bad_html.png").await;
    let notes = world.sends("notes.txt", "some words").await;
    let elsewhere = AttachmentId::new();
    for (id, expected) in [
        (avif, "of a kind that cannot be opened here. Ask the person to send it as a photo"),
        (cut, "damaged or incomplete"),
        (html, "not a picture. Ask get_attachment_info"),
        (notes, "notes.txt is a text/plain file, not a picture. Ask get_attachment_info about it, or"),
        (elsewhere, "Use an id exactly as a marker shows it, or ask list_attachments."),
    ] {
        let text = world.refused("look_at_image", json!({"image": id})).await;
        assert!(text.contains(expected), "{text}");
    }
    let image = world.sends_image("photo_rocket.jpg").await;
    let arguments = json!({"image": image}).to_string();
    let called = world.registry.call(&world.elsewhere(), "look_at_image", &arguments, TOOL_TIMEOUT).await;
    assert!(called.failed && called.text.contains("There is no attachment"), "{}", called.text);
}

#[tokio::test]
async fn the_same_look_is_rendered_once() {
    let mut world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    let same = world.sends_image("photo_rocket.jpg").await;
    let arguments = |id| json!({"image": id, "region": half(), "grid": true});
    world.call("look_at_image", arguments(image)).await;
    let file = world.found(image).await;
    let empty = Objects::open("memory://").unwrap();
    let limits = world.context.renderer.attachments.limits();
    world.context.renderer.attachments =
        Attachments::new(world.context.renderer.store.clone(), empty, limits);
    assert!(world.context.bytes(&file).await.is_err(), "the file is gone");
    let again = world.call("look_at_image", arguments(same)).await;
    assert!(!again.failed, "the view of the same content was made before: {}", again.text);
    let other = world.call("look_at_image", json!({"image": image})).await;
    assert!(other.failed, "another view would have to be made: {}", other.text);

    let view = View {
        longest: MAX_LOOK_SIDE,
        region: imaging::Region::new(0.0, 0.0, 500.0, 250.0).ok(),
        grid: true,
    };
    let seen = world.context.renderer.view(&file, &view).await.unwrap();
    let probe = imaging::probe(&seen.bytes).unwrap();
    assert_eq!((probe.width, probe.height), (640, 214), "enlarged twice at most");
}
