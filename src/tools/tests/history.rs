//! Going back through edits.

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
async fn undo_goes_one_step_back_or_to_the_original() {
    let world = World::new().await;
    let [original, _, second, third] = thrice_edited(&world).await;
    let called = world.call("undo_edit", json!({"images": [third]})).await;
    assert_eq!(called.outputs, [Output::Known(second)]);
    assert_eq!(
        called.text,
        format!("Went back to the previous version of 1 image.\n[Attachment ID: {second}]")
    );
    let called = world.call("undo_edit", json!({"images": [third], "to": "original"})).await;
    assert_eq!(called.outputs, [Output::Known(original)]);
}

#[tokio::test]
async fn two_edits_of_one_picture_lead_back_to_it_once() {
    let world = World::new().await;
    let [original, first, second, _] = thrice_edited(&world).await;
    let arguments = json!({"images": [second, first], "to": "original"});
    let called = world.call("undo_edit", arguments).await;
    assert_eq!(called.outputs, [Output::Known(original)]);
    assert!(called.text.starts_with("Went back to the original of 2 images."));
}

#[tokio::test]
async fn a_picture_never_edited_is_the_original() {
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
async fn of_several_parents_the_first_is_gone_back_to() {
    let world = World::new().await;
    let (one, two) =
        (world.sends_image("photo_rocket.jpg").await, world.sends_image("photo_chelsea.png").await);
    let collage = world.made_from("collage.jpg", vec![two, one]).await;
    let called = world.call("undo_edit", json!({"images": [collage]})).await;
    assert_eq!(called.outputs, [Output::Known(two)]);
}

#[tokio::test]
async fn a_deleted_parent_is_told_and_the_oldest_left_counts_as_the_original() {
    let world = World::new().await;
    let orphan = world.made_from("orphan.jpg", vec![AttachmentId::new()]).await;
    let text = world.refused("undo_edit", json!({"images": [orphan]})).await;
    assert_eq!(text, "What orphan.jpg was made from has been deleted.");
    let child = world.made_from("child.jpg", vec![orphan]).await;
    let called = world.call("undo_edit", json!({"images": [child], "to": "original"})).await;
    assert_eq!(called.outputs, [Output::Known(orphan)]);
}
