//! `attach_to_response`, `list_attachments` and `get_attachment_info`.

use super::*;
use serde_json::json;

#[tokio::test]
async fn chosen_files_keep_their_order_without_duplicates() {
    let world = World::new().await;
    let (a, b) = (world.sends_image("photo_rocket.jpg").await, world.sends("notes.txt", &b"hello"[..]).await);
    let called = world
        .call("attach_to_response", json!({"attachment_ids": [b, a, b, format!("[Attachment ID: {a}]")]}))
        .await;
    assert_eq!(called.outputs, [Output::Known(b), Output::Known(a)]);
    assert_eq!(
        called.text,
        format!("2 files will be sent with the answer.\n[Attachment ID: {b}]\n[Attachment ID: {a}]")
    );
}

#[tokio::test]
async fn one_unknown_id_refuses_the_whole_choice() {
    let world = World::new().await;
    let (known, unknown) = (world.sends_image("photo_rocket.jpg").await, AttachmentId::new());
    let text = world.refused("attach_to_response", json!({"attachment_ids": [known, unknown]})).await;
    assert!(text.contains(&unknown.to_string()) && !text.contains(&known.to_string()), "{text}");
    let text = world.refused("attach_to_response", json!({"attachment_ids": []})).await;
    assert_eq!(text, "attachment_ids is empty, but must be a list of 1 to 20 items.");
}

#[tokio::test]
async fn the_list_is_newest_first_and_limited() {
    let world = World::new().await;
    let photo = world.sends_image("photo_rocket.jpg").await;
    let notes = world.sends("notes.txt", &b"hello"[..]).await;
    let flipped =
        world.makes("flip_image", json!({"images": [photo], "direction": "vertical"})).await[0].clone();
    let called = world.call("list_attachments", json!({})).await;
    assert!(called.outputs.is_empty());
    let lines: Vec<_> = called.text.lines().collect();
    assert_eq!(lines[0], "The newest 3 files of this conversation:");
    let id = flipped.attachment_id;
    // It has no size yet: its file is rendered when it is needed.
    assert_eq!(
        lines[1],
        format!("- [{id}] photo_rocket-flipped.jpg (image/jpeg, 640×427) - just now, made here")
    );
    assert_eq!(
        lines[2],
        format!("- [{notes}] notes.txt (text/plain, 5 bytes) - just now, sent by the person")
    );
    assert_eq!(
        lines[3],
        format!(
            "- [{photo}] photo_rocket.jpg (image/jpeg, 640×427, 109.9 kB) - just now, sent by the person"
        )
    );
    let called = world.call("list_attachments", json!({"limit": 1})).await;
    assert_eq!(called.text.lines().count(), 2);
    let text = world.refused("list_attachments", json!({"limit": 51})).await;
    assert_eq!(text, "limit is 51, but must be a whole number from 1 to 50.");
}

#[tokio::test]
async fn info_contains_the_source_the_parents_and_the_recipe() {
    let world = World::new().await;
    let photo = world.sends("eagle.jpg", image_file("photo_rocket.jpg")).await;
    let text = world.call("get_attachment_info", json!({"attachment_id": photo})).await.text;
    let added = world.found(photo).await.created_at.format("%Y-%m-%d %H:%M");
    assert_eq!(
        text,
        format!(
            "id: {photo}\nfile name: eagle.jpg\ntype: image/jpeg\ndimensions: 640×427\nsize: 109.9 kB\n\
             added: {added} UTC (just now)\ncame from: the person"
        )
    );
    let turned =
        world.makes("rotate_image", json!({"images": [photo], "degrees": 90})).await[0].attachment_id;
    let text = world.call("get_attachment_info", json!({"attachment_id": turned})).await.text;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[3], "dimensions: 427×640");
    assert_eq!(
        lines[5..],
        [
            "came from: rotate_image".to_owned(),
            "description: <<< rotated by 90 degrees >>>".to_owned(),
            format!("made from: [{photo}] eagle.jpg"),
            "made with: rotate_image <<< {\"degrees\":90} >>>".to_owned(),
        ]
    );
    let orphan = world.made_from("orphan.jpg", vec![AttachmentId::new()]).await;
    let text = world.call("get_attachment_info", json!({"attachment_id": orphan})).await.text;
    assert!(text.contains("deleted since"), "{text}");
}
