//! Redactions as the model calls them.

use super::*;
use image::GenericImageView as _;
use serde_json::json;

const ID: &str = "7f1c2f4e-0f4d-4c06-9d7e-0d7d3f6a1b11";

#[tokio::test]
async fn a_redaction_covers_a_margin_and_notes_that_the_original_stays() {
    let world = World::new().await;
    let image = world.sends_image("photo_page.png").await;
    let regions = json!([{"left": 250, "top": 250, "right": 500, "bottom": 500}]);
    let called = world.call("redact_image", json!({"images": [image], "regions": regions})).await;
    assert!(called.text.contains("Redacted 1 image."), "{}", called.text);
    assert!(called.text.contains("stays in this conversation"), "{}", called.text);
    let [Output::Made(made)] = called.outputs.as_slice() else {
        panic!("{called:?}");
    };
    assert_eq!(made.filename, "photo_page-redacted.png");
    assert_eq!(made.description.as_deref(), Some("1 region filled"));
    assert_eq!(made.parents, [image]);
    let (before, after) = (world.picture(&world.found(image).await).await, world.picture(made).await);
    let (width, height) = (before.width(), before.height());
    for (x, y, pixel) in after.pixels().pixels() {
        let covered =
            (width / 4 - 1..width / 2 + 1).contains(&x) && (height / 4 - 1..height / 2 + 1).contains(&y);
        let far = x < width / 4 - 4 || x > width / 2 + 4 || y < height / 4 - 4 || y > height / 2 + 4;
        assert!(!covered || pixel.0 == [0, 0, 0, 255], "{x},{y}");
        assert!(!far || pixel == before.pixels().get_pixel(x, y), "{x},{y}");
    }
}

#[tokio::test]
async fn every_style_works_on_every_kind_of_picture() {
    let world = World::new().await;
    let region = json!({"left": 100, "top": 100, "right": 700, "bottom": 800});
    for name in [
        "jpeg_gray.jpg",
        "png_palette8.png",
        "png_16bit_gray_trns.png",
        "webp_alpha.webp",
        "photo_rocket.jpg",
    ] {
        let image = world.sends_image(name).await;
        for style in ["fill", "pixelate", "blur"] {
            let made = world
                .makes("redact_image", json!({"images": [image], "regions": [region], "style": style}))
                .await;
            assert_eq!(made.len(), 1, "{name} {style}");
        }
    }
}

#[tokio::test]
async fn redactions_with_conflicting_arguments_are_refused() {
    let fine = json!({"left": 0, "top": 0, "right": 9, "bottom": 9});
    for (rest, expected) in [
        (json!({}), "regions is missing: a list of 1 to 50 items."),
        (json!({"regions": []}), "regions is empty"),
        (
            json!({"regions": [fine, {"left": 9, "top": 0, "right": 3, "bottom": 9}]}),
            "regions[1]: right (3) must be greater than left (9)",
        ),
        (json!({"regions": [fine], "style": "smudge"}), "must be one of: fill, pixelate, blur."),
        (json!({"regions": [fine], "color": "rainbow"}), "color: Unknown color \"rainbow\"."),
        (json!({"regions": [fine], "style": "blur", "color": "red"}), "color is for the style fill only."),
    ] {
        let mut arguments = rest;
        arguments["images"] = json!([ID]);
        let text = World::new().await.refused("redact_image", arguments.clone()).await;
        assert!(text.contains(expected), "{arguments}\n  said: {text}");
    }
}
