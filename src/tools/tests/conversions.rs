//! `convert_image` and `image_info` as the model calls them.

use super::*;
use serde_json::json;

#[tokio::test]
async fn an_image_is_converted_to_the_requested_format() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    for (arguments, mime, name) in [
        (
            json!({"images": [image], "format": "jpeg", "quality": 80}),
            "image/jpeg",
            "photo_chelsea-converted.jpg",
        ),
        (
            json!({"images": [image], "format": "webp", "max_kb": 20}),
            "image/webp",
            "photo_chelsea-converted.webp",
        ),
        (json!({"images": [image], "format": "gif"}), "image/gif", "photo_chelsea-converted.gif"),
    ] {
        let made = world.makes("convert_image", arguments.clone()).await;
        assert_eq!((made[0].mime_type.as_str(), made[0].filename.as_str()), (mime, name));
        assert!(made[0].size <= 20_000 || arguments.get("max_kb").is_none(), "{}", made[0].size);
        assert_eq!(made[0].recipe().unwrap().tool, "convert_image");
    }
}

#[tokio::test]
async fn conflicting_settings_are_refused_by_name() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    for (extra, expected) in [
        (json!({"format": "png", "quality": 80}), "quality does not apply to png"),
        (json!({"format": "jpeg", "lossless": true}), "lossless is only for format webp"),
        (
            json!({"format": "webp", "lossless": true, "quality": 5}),
            "quality does not apply to lossless webp",
        ),
        (json!({"format": "avif"}), "format is the text \"avif\""),
        (json!({"format": "jpeg", "quality": 0}), "quality is 0"),
        (json!({"format": "jpeg", "max_kb": -3}), "max_kb is -3"),
        (json!({"format": "jpeg", "metadata": "some"}), "metadata is the text \"some\""),
        (json!({}), "format is missing"),
    ] {
        let mut arguments = extra;
        arguments["images"] = json!([image]);
        let text = world.refused("convert_image", arguments).await;
        assert!(text.contains(expected), "{text}");
    }
}

#[tokio::test]
async fn an_unreachable_size_limit_is_reported() {
    let world = World::new().await;
    let image = world.sends_image("exif_landscape_6.jpg").await;
    let arguments = json!({"images": [image], "format": "png", "max_kb": 1, "metadata": "keep"});
    let text = world.refused("convert_image", arguments).await;
    assert!(text.contains("max_kb is 1") && text.contains("Allow more"), "{text}");
}

#[tokio::test]
async fn facts_are_reported_for_each_image_and_failures_with_their_reason() {
    let world = World::new().await;
    let mut images = Vec::new();
    for name in ["exif_landscape_6.jpg", "anim.gif", "photo.avif", "bad_truncated.png", "jpeg_exif_gps.jpg"] {
        images.push(world.sends_image(name).await);
    }
    let called = world.call("image_info", json!({"images": images})).await;
    assert!(!called.failed && called.outputs.is_empty(), "{called:?}");
    for expected in [
        "Image 1: exif_landscape_6.jpg (JPEG, ",
        "Size: 1800×1200 pixels (2.2 megapixels, landscape 3:2)",
        "Stored turned a quarter to the left",
        "Image 2: anim.gif (GIF, ",
        "Animated: 42 frames",
        "Image 3: photo.avif (AVIF, ",
        "Image 4 (bad_truncated.png) failed: ",
        "Warning: the place where it was taken (GPS) is in this file.",
        "Main colours: ",
        "Sharpness: ",
        "Exposure: ",
    ] {
        assert!(called.text.contains(expected), "{expected}: {}", called.text);
    }
    let text = world.sends("notes.txt", "hello".as_bytes()).await;
    assert!(world.refused("image_info", json!({"images": [text]})).await.contains("not a picture"));
}
