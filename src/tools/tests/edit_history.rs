//! Undo, redo, revert and repeat.

use super::*;
use serde_json::json;

async fn thrice_edited(world: &World) -> [AttachmentId; 4] {
    let original = world.sends_image("photo_rocket.jpg").await;
    let mut chain = [original; 4];
    for step in 1..4 {
        let arguments = json!({"images": [chain[step - 1]], "degrees": 90});
        chain[step] = world.makes("rotate_image", arguments).await[0].attachment_id;
    }
    chain
}

#[tokio::test]
async fn undo_goes_back_step_by_step_and_revert_to_the_original() {
    let world = World::new().await;
    let [original, first, second, third] = thrice_edited(&world).await;
    let called = world.call("undo_edit", json!({"images": [third]})).await;
    assert_eq!(called.outputs, [Output::Known(second)]);
    assert_eq!(
        called.text,
        format!("Went back to the previous version of 1 image.\n[Attachment ID: {second}]")
    );
    let called = world.call("undo_edit", json!({"images": [third], "steps": 2})).await;
    assert_eq!(called.outputs, [Output::Known(first)]);
    let called = world.call("undo_edit", json!({"images": [third], "steps": 40})).await;
    assert_eq!(called.outputs, [Output::Known(original)], "as far as one can go");
    let called = world.call("revert_to_original", json!({"images": [third]})).await;
    assert_eq!(called.outputs, [Output::Known(original)]);
    assert!(called.text.starts_with("Went back to the original of 1 image."), "{}", called.text);
}

#[tokio::test]
async fn redo_goes_forward_to_the_newest_edit_of_a_picture() {
    let world = World::new().await;
    let [original, first, second, third] = thrice_edited(&world).await;
    let called = world.call("redo_edit", json!({"images": [second]})).await;
    assert_eq!(called.outputs, [Output::Known(third)]);
    let called = world.call("redo_edit", json!({"images": [original], "steps": 2})).await;
    assert_eq!(called.outputs, [Output::Known(second)]);
    let other = world.makes("flip_image", json!({"images": [first], "direction": "vertical"})).await;
    let called = world.call("redo_edit", json!({"images": [first]})).await;
    assert_eq!(called.outputs, [Output::Known(other[0].attachment_id)]);
    let text = world.refused("redo_edit", json!({"images": [third]})).await;
    assert_eq!(text, "nothing was made from photo_rocket-rotated.jpg yet.");
}

#[tokio::test]
async fn the_edits_of_one_picture_are_repeated_on_others_as_one_step() {
    let world = World::new().await;
    let model = world.sends_image("photo_rocket.jpg").await;
    let cropped = world.makes("crop_image", json!({"images": [model], "aspect": "square"})).await;
    let small = world.makes("resize_image", json!({"images": [cropped[0].attachment_id], "width": 50})).await;
    let others = [world.sends_image("photo_chelsea.png").await, world.sends_image("photo_flower.jpg").await];
    let arguments = json!({"from": small[0].attachment_id, "images": others});
    let called = world.call("repeat_edits", arguments).await;
    assert!(
        called.text.starts_with("Edited 2 images.\nRepeated 2 edits: crop_image, then resize_image."),
        "{}",
        called.text
    );
    let made = world.store_outputs(called).await;
    for (made, other) in made.iter().zip(others) {
        assert_eq!((made.width, made.height), (Some(50), Some(50)));
        assert_eq!(made.parents, [other]);
        let picture = world.picture(made).await;
        assert_eq!((picture.width(), picture.height()), (50, 50));
    }
    // A repetition can be repeated, and rendered from its recipe alone.
    let arguments = json!({"from": made[0].attachment_id, "images": [model]});
    let called = world.call("repeat_edits", arguments).await;
    assert!(called.text.contains("Repeated 1 edit: repeat_edits."), "{}", called.text);
    let again = world.store_outputs(called).await;
    assert_eq!((again[0].width, again[0].height), (Some(50), Some(50)));
    let text = world.refused("repeat_edits", json!({"from": model, "images": others})).await;
    assert!(text.starts_with("from: photo_rocket.jpg was never edited"), "{text}");
}

#[tokio::test]
async fn undoing_two_edits_of_one_picture_returns_it_once() {
    let world = World::new().await;
    let [original, first, second, _] = thrice_edited(&world).await;
    let called = world.call("revert_to_original", json!({"images": [second, first]})).await;
    assert_eq!(called.outputs, [Output::Known(original)]);
    assert!(called.text.starts_with("Went back to the original of 2 images."));
}

#[tokio::test]
async fn a_picture_that_was_never_edited_is_the_original() {
    let world = World::new().await;
    let [original, first, ..] = thrice_edited(&world).await;
    let text = world.refused("undo_edit", json!({"images": [original]})).await;
    assert_eq!(text, "photo_rocket.jpg is the original: it was never edited.");
    let called = world.call("undo_edit", json!({"images": [original, first]})).await;
    assert_eq!(called.outputs, [Output::Known(original)]);
    assert!(
        called.text.starts_with(
            "Went back to the previous version of 1 of 2 images.\n\
             Image 1 failed: photo_rocket.jpg is the original"
        ),
        "{}",
        called.text
    );
}

#[tokio::test]
async fn undo_returns_the_first_of_several_parents() {
    let world = World::new().await;
    let (one, two) =
        (world.sends_image("photo_rocket.jpg").await, world.sends_image("photo_chelsea.png").await);
    let collage = world.made_from("collage.jpg", vec![two, one]).await;
    let called = world.call("undo_edit", json!({"images": [collage]})).await;
    assert_eq!(called.outputs, [Output::Known(two)]);
}

#[tokio::test]
async fn a_deleted_parent_is_reported_and_revert_stops_before_it() {
    let world = World::new().await;
    let orphan = world.made_from("orphan.jpg", vec![AttachmentId::new()]).await;
    let text = world.refused("undo_edit", json!({"images": [orphan]})).await;
    assert_eq!(text, "What orphan.jpg was made from has been deleted.");
    let child = world.made_from("child.jpg", vec![orphan]).await;
    let called = world.call("revert_to_original", json!({"images": [child]})).await;
    assert_eq!(called.outputs, [Output::Known(orphan)]);
}
