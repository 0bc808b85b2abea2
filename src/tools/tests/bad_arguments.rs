//! Every refusal of an argument names it, what is wrong with it and what is allowed.

use super::*;
use serde_json::json;

const ID: &str = "7f1c2f4e-0f4d-4c06-9d7e-0d7d3f6a1b11";

async fn assert_refused(tool: &str, arguments: Value, expected: &str) {
    let world = World::new().await;
    let text = world.refused(tool, arguments.clone()).await;
    assert!(text.contains(expected), "{tool} {arguments}\n  said:     {text}\n  expected: {expected}");
}

#[tokio::test]
async fn images_must_be_one_to_twenty_ids() {
    let flip = |images: Value| json!({"images": images, "direction": "vertical"});
    assert_refused(
        "flip_image",
        json!({"direction": "vertical"}),
        "images is missing: a list of 1 to 20 items.",
    )
    .await;
    assert_refused("flip_image", flip(Value::Null), "images is missing").await;
    assert_refused("flip_image", flip(json!([])), "images is empty, but must be a list of 1 to 20 items.")
        .await;
    assert_refused(
        "flip_image",
        flip(json!(vec![ID; 21])),
        "images has 21 items, but must be a list of 1 to 20 items.",
    )
    .await;
    assert_refused("flip_image", flip(json!(ID)), "images is the text \"7f1c2f4e").await;
    assert_refused("flip_image", flip(json!([ID, 7])), "images[1] is 7, but must be text.").await;
    assert_refused("flip_image", flip(json!([null])), "images[0] is null, but must be text.").await;
    assert_refused(
        "flip_image",
        flip(json!([ID, "eagle.jpg"])),
        "images[1] is \"eagle.jpg\", which is not an attachment id.",
    )
    .await;
}

#[tokio::test]
async fn unknown_arguments_are_refused_with_the_allowed_names() {
    assert_refused(
        "rotate_image",
        json!({"images": [ID], "degree": 90}),
        "degree is not an argument of this tool. Did you mean degrees? Allowed: degrees, images, straighten.",
    )
    .await;
    assert_refused(
        "highlight_image",
        json!({"images": [ID], "regions": [{"left": 0, "top": 0, "right": 9, "bottom": 9, "colour": "red"}]}),
        "regions[0].colour is not an argument of this tool. Did you mean color?",
    )
    .await;
    assert_refused("list_attachments", json!({"since": "yesterday"}), "Allowed: limit.").await;
}

#[tokio::test]
async fn refusals_name_the_region_by_index_and_field() {
    let fine = json!({"left": 0, "top": 0, "right": 9, "bottom": 9});
    let marks = |second: Value| json!({"images": [ID], "regions": [fine.clone(), second]});
    for (region, expected) in [
        (
            json!({"left": 0, "top": 0, "right": 1200, "bottom": 9}),
            "regions[1].right is 1200, but must be a number from 0 to 1000.",
        ),
        (
            json!({"left": 300, "top": 0, "right": 100, "bottom": 9}),
            "regions[1]: right (100) must be greater than left (300)",
        ),
        (json!({"left": 0, "top": 0, "right": 9}), "regions[1].bottom is missing: a number from 0 to 1000."),
        (
            json!({"left": "10%", "top": 0, "right": 9, "bottom": 9}),
            "regions[1].left is the text \"10%\", but must be a number from 0 to 1000.",
        ),
        (
            json!({"left": 0, "top": 0, "right": 9, "bottom": 9, "color": "rainbow"}),
            "regions[1].color: Unknown color \"rainbow\". Use #rrggbb",
        ),
        (
            json!({"left": 0, "top": 0, "right": 9, "bottom": 9, "shape": "star"}),
            "regions[1].shape is the text \"star\", but must be one of: rectangle, ellipse, spotlight.",
        ),
        (
            json!({"left": 0, "top": 0, "right": 9, "bottom": 9, "thickness": 0}),
            "regions[1].thickness is 0, but must be a number from 1 to 100.",
        ),
        (
            json!({"left": 0, "top": 0, "right": 9, "bottom": 9, "label": "x".repeat(81)}),
            "but must be text of at most 80 characters.",
        ),
        (json!([0, 0, 9, 9]), "regions[1] is a list, but must be an object with left, top, right, bottom."),
    ] {
        assert_refused("highlight_image", marks(region), expected).await;
    }
    assert_refused("highlight_image", json!({"images": [ID], "regions": []}), "regions is empty").await;
}

#[tokio::test]
async fn several_mistakes_are_reported_at_once() {
    let world = World::new().await;
    let text = world.refused("rotate_image", json!({"images": [], "degrees": 400})).await;
    assert_eq!(
        text,
        "degrees is 400, but must be a number from -360 to 360.\n\
         images is empty, but must be a list of 1 to 20 items."
    );
}

#[tokio::test]
async fn each_edit_reports_what_it_allows() {
    let with = |rest: Value| {
        let mut arguments = rest;
        arguments["images"] = json!([ID]);
        arguments
    };
    for (tool, rest, expected) in [
        ("crop_image", json!({}), "give region {left, top, right, bottom}, each from 0 to 1000, or aspect"),
        (
            "crop_image",
            json!({"aspect": "1:1", "region": {"left": 0, "top": 0, "right": 9, "bottom": 9}}),
            "region and aspect were both given",
        ),
        ("crop_image", json!({"aspect": "wide"}), "aspect: The aspect \"wide\""),
        (
            "crop_image",
            json!({"region": {"left": 5, "top": 9, "right": 9, "bottom": 9}}),
            "region: bottom (9) must be greater than top (9)",
        ),
        ("rotate_image", json!({"degrees": 720}), "degrees is 720, but must be a number from -360 to 360."),
        ("rotate_image", json!({"degrees": 0}), "changes nothing"),
        ("rotate_image", json!({"degrees": -360}), "changes nothing"),
        ("rotate_image", json!({"degrees": "90"}), "degrees is the text \"90\", but must be a number"),
        ("flip_image", json!({"direction": "up"}), "must be one of: horizontal, vertical."),
        ("resize_image", json!({}), "Say the new size in one way"),
        ("resize_image", json!({"width": 9, "percent": 9}), "Say the new size in one way"),
        ("resize_image", json!({"width": 0}), "width is 0, but must be a whole number from 1 to 30000."),
        ("resize_image", json!({"width": 10.5}), "width is 10.5, but must be a whole number"),
        ("resize_image", json!({"percent": 2000}), "percent is 2000, but must be a number from 1 to 1000."),
        ("resize_image", json!({"width": 9, "fit": "crop"}), "must be one of: fit, fill, stretch."),
        ("undo_edit", json!({"steps": 0}), "must be a whole number from 1 to 50."),
        ("filter_image", json!({"filter": "vintage"}), "must be one of: grayscale, sepia, invert, blur, "),
    ] {
        assert_refused(tool, with(rest), expected).await;
    }
}

#[tokio::test]
async fn a_look_reports_what_it_allows() {
    for (arguments, expected) in [
        (json!({}), "image is missing: text."),
        (json!({"images": [ID]}), "images is not an argument of this tool. Did you mean image?"),
        (json!({"image": "eagle.jpg"}), "image is \"eagle.jpg\", which is not an attachment id."),
        (json!({"image": ID, "grid": "yes"}), "grid is the text \"yes\", but must be true or false."),
        (
            json!({"image": ID, "region": {"left": 0, "top": 0, "right": 1200, "bottom": 9}}),
            "region.right is 1200, but must be a number from 0 to 1000.",
        ),
        (
            json!({"image": ID, "region": {"left": 300, "top": 0, "right": 100, "bottom": 9}}),
            "region: right (100) must be greater than left (300)",
        ),
        (json!({"image": ID, "region": {"left": 0, "top": 0, "right": 9}}), "region.bottom is missing"),
        (json!({"image": ID}), "There is no attachment"),
    ] {
        assert_refused("look_at_image", arguments, expected).await;
    }
}

#[tokio::test]
async fn wrong_arguments_are_refused_before_any_file_is_read() {
    let world = World::new().await;
    let text = world.refused("rotate_image", json!({"images": [AttachmentId::new()], "degrees": 0})).await;
    assert!(text.starts_with("degrees is 0"), "{text}");
}

#[tokio::test]
async fn long_values_are_quoted_shortened() {
    let world = World::new().await;
    let text =
        world.refused("flip_image", json!({"images": ["x".repeat(100_000)], "direction": "vertical"})).await;
    assert!(text.len() < 300, "{}", text.len());
    let name = "y".repeat(100_000);
    let text = world.refused("flip_image", json!({name: 1})).await;
    assert!(text.len() < 500, "{}", text.len());
}
