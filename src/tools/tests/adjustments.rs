//! Adjustments and filters as the model calls them.

use super::*;
use image::GenericImageView as _;
use serde_json::json;

async fn makes_one(world: &World, tool: &str, arguments: Value) -> Attachment {
    let mut made = world.makes(tool, arguments).await;
    assert_eq!(made.len(), 1);
    made.remove(0)
}

const ID: &str = "7f1c2f4e-0f4d-4c06-9d7e-0d7d3f6a1b11";

#[tokio::test]
async fn an_adjustment_changes_the_picture_and_describes_the_change() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let wishes = json!({"exposure": 30, "warmth": -12.5, "auto_levels": true});
    let mut arguments = wishes.clone();
    arguments["images"] = json!([image]);
    let made = makes_one(&world, "adjust_image", arguments).await;
    assert_eq!(made.filename, "photo_chelsea-adjusted.png");
    assert_eq!(made.description.as_deref(), Some("exposure +30, warmth -12.5, auto-levels"));
    assert_eq!(made.recipe().cloned().unwrap().arguments, wishes);
    let (before, after) = (world.picture(&world.found(image).await).await, world.picture(&made).await);
    let light = |picture: &imaging::Picture| {
        picture.pixels().to_luma8().pixels().map(|pixel| u64::from(pixel.0[0])).sum::<u64>()
    };
    assert!(light(&after) > light(&before));
}

#[tokio::test]
async fn every_filter_works_and_stays_in_its_region() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let before = world.picture(&world.found(image).await).await;
    let region = json!({"left": 400, "top": 300, "right": 600, "bottom": 500});
    let spec = world.registry.specs().into_iter().find(|spec| spec.name == "filter_image").unwrap();
    let filters = spec.parameters["properties"]["filter"]["enum"].as_array().unwrap().clone();
    assert_eq!(filters.len(), 12);
    for filter in filters {
        let arguments = json!({"images": [image], "filter": filter, "strength": 70, "region": region});
        let made = makes_one(&world, "filter_image", arguments).await;
        let after = world.picture(&made).await;
        assert_eq!((after.width(), after.height()), (before.width(), before.height()));
        let (x, y) = (before.width() / 5, before.height() / 2);
        assert_eq!(after.pixels().get_pixel(x, y), before.pixels().get_pixel(x, y), "{filter}");
        assert_ne!(after.pixels().to_rgb8(), before.pixels().to_rgb8(), "{filter}");
        assert!(made.description.as_deref().unwrap().ends_with(", in one part"), "{filter}");
    }
}

#[tokio::test]
async fn a_duotone_takes_its_two_colours() {
    let world = World::new().await;
    let image = world.sends_image("photo_page.png").await;
    let arguments = json!({"images": [image], "filter": "duotone", "colors": ["navy", "#ffeecc"]});
    let made = makes_one(&world, "filter_image", arguments).await;
    assert_eq!(made.filename, "photo_page-duotone.png");
    let picture = world.picture(&made).await.pixels().to_rgb8();
    assert!(picture.pixels().all(|pixel| pixel.0[2] >= 128), "between navy and cream");
}

#[tokio::test]
async fn contradictory_arguments_are_refused_with_the_reason() {
    for (tool, rest, expected) in [
        ("adjust_image", json!({}), "Nothing would change: give at least one of brightness, contrast"),
        ("adjust_image", json!({"contrast": 0, "auto_levels": false}), "Nothing would change"),
        ("adjust_image", json!({"exposure": 101}), "exposure is 101, but must be a number from -100 to 100."),
        ("adjust_image", json!({"warmth": "more"}), "warmth is the text \"more\", but must be a number"),
        (
            "adjust_image",
            json!({"auto_levels": "yes"}),
            "auto_levels is the text \"yes\", but must be true or false.",
        ),
        ("adjust_image", json!({"vibrance": 5}), "vibrance is not an argument of this tool."),
        (
            "adjust_image",
            json!({"contrast": 5, "region": {"left": 9, "top": 0, "right": 9, "bottom": 9}}),
            "region: right (9) must be greater than left (9)",
        ),
        (
            "filter_image",
            json!({"filter": "blur", "strength": 0}),
            "strength is 0, but must be a number from 1 to 100.",
        ),
        (
            "filter_image",
            json!({"filter": "blur", "colors": ["red", "blue"]}),
            "colors is for the filter duotone only.",
        ),
        (
            "filter_image",
            json!({"filter": "duotone", "colors": ["red"]}),
            "colors has 1 item, but must be a list of exactly 2",
        ),
        (
            "filter_image",
            json!({"filter": "duotone", "colors": ["red", "rainbow"]}),
            "colors[1]: Unknown color \"rainbow\".",
        ),
        (
            "filter_image",
            json!({"filter": "blur", "region": {"left": 0, "top": 0, "right": 9}}),
            "region.bottom is missing: a number from 0 to 1000.",
        ),
    ] {
        let mut arguments = rest;
        arguments["images"] = json!([ID]);
        let text = World::new().await.refused(tool, arguments.clone()).await;
        assert!(text.contains(expected), "{tool} {arguments}\n  said: {text}");
    }
}
