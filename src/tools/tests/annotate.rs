//! `annotate_image` as the model calls it: recipes, refusals and missing glyphs.

use super::*;
use serde_json::json;

const ID: &str = "0190d3c1-6e5f-7b7e-8c8e-0123456789ab";

#[tokio::test]
async fn an_annotation_has_a_recipe_and_a_description() {
    let world = World::new().await;
    let image = world.sends("eagle.jpg", image_file("photo_rocket.jpg")).await;
    let items = json!([
        {"type": "text", "text": "lift-off", "x": 500, "y": 100},
        {"type": "arrow", "from": {"x": 100, "y": 500}, "to": {"x": 450, "y": 400}, "color": "lime"},
        {"type": "pin", "x": 300, "y": 700},
        {"type": "pin", "x": 600, "y": 700},
        {"type": "polygon", "points": [{"x": 10, "y": 10}, {"x": 90, "y": 10}, {"x": 50, "y": 90}], "fill": 40},
    ]);
    let called = world.call("annotate_image", json!({"images": [image], "items": items})).await;
    let [Output::Made(made)] = called.outputs.as_slice() else {
        panic!("{called:?}");
    };
    assert_eq!(called.text, format!("Annotated 1 image.\n[Attachment ID: {}]", made.attachment_id));
    assert_eq!(made.filename, "eagle-annotated.jpg");
    assert_eq!(made.description.as_deref(), Some("annotated: “lift-off”, 1 arrow, 2 pins, 1 polygon"));
    let recipe = made.recipe().cloned().unwrap();
    assert_eq!((recipe.tool.as_str(), recipe.arguments), ("annotate_image", json!({"items": items})));
}

#[tokio::test]
async fn characters_without_a_glyph_are_reported_and_the_rest_is_drawn() {
    let world = World::new().await;
    let image = world.sends_image("photo_rocket.jpg").await;
    let left_out = "These characters have no glyph in the available fonts and were left out: 你好 🦅. A person can \
                    add a font with images.fonts.";
    let text = |text: &str| json!([{"type": "text", "text": text, "x": 500, "y": 500}]);
    let called =
        world.call("annotate_image", json!({"images": [image], "items": text("hello 你好 eagle 🦅")})).await;
    assert!(!called.failed && called.text.contains(left_out), "{}", called.text);
    let region = json!({"left": 100, "top": 100, "right": 500, "bottom": 500, "label": "你好 eagle 🦅"});
    let called = world.call("highlight_image", json!({"images": [image], "regions": [region]})).await;
    assert!(!called.failed && called.text.contains(left_out), "{}", called.text);
    let called = world.call("watermark_image", json!({"images": [image], "text": "你好 eagle 🦅"})).await;
    assert!(!called.failed && called.text.contains(left_out), "{}", called.text);

    let text = world.refused("annotate_image", json!({"images": [image], "items": text("你好")})).await;
    assert!(
        text.starts_with("The text \"你好\" cannot be written") && text.contains("images.fonts"),
        "{text}"
    );
}

#[tokio::test]
async fn numbers_are_drawn_on_request() {
    let world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let regions = json!([
        {"left": 100, "top": 100, "right": 300, "bottom": 300},
        {"left": 500, "top": 500, "right": 900, "bottom": 900, "label": "eye"},
    ]);
    let make = async |numbered: Value| {
        let arguments = json!({"images": [image], "regions": regions, "numbered": numbered});
        let made = world.makes("highlight_image", arguments).await;
        world.picture(&made[0]).await.pixels().clone()
    };
    assert_ne!(make(json!(true)).await, make(json!(false)).await);
    assert_eq!(make(json!(null)).await, make(json!(false)).await);
    let arguments = json!({"images": [image], "regions": regions, "numbered": "yes"});
    let text = world.refused("highlight_image", arguments).await;
    assert_eq!(text, "numbered is the text \"yes\", but must be true or false.");
}

#[tokio::test]
async fn refusals_name_the_item_by_index_and_field() {
    let world = World::new().await;
    let fine = json!({"type": "pin", "x": 1, "y": 1});
    let (a, b) = (json!({"x": 1, "y": 1}), json!({"x": 1200, "y": 1}));
    for (item, expected) in [
        (json!({"type": "arrow", "from": a}), "items[1]: an arrow needs from and to, each {x, y}."),
        (
            json!({"type": "arrow", "from": a, "to": b}),
            "items[1].to.x is 1200, but must be a number from 0 to 1000.",
        ),
        (json!({"type": "line", "from": a, "to": a}), "items[1]: from and to are the same point"),
        (
            json!({"type": "line", "from": a, "to": {"x": 5}}),
            "items[1].to.y is missing: a number from 0 to 1000.",
        ),
        (json!({"type": "text", "x": 1, "y": 1}), "items[1]: a text needs text with something in it."),
        (json!({"type": "text", "text": "hi", "x": 1}), "items[1]: a text needs x and y, or region"),
        (
            json!({"type": "text", "text": "hi", "region": {"left": 9, "top": 0, "right": 5, "bottom": 9}}),
            "items[1].region: right (5) must be greater than left (9)",
        ),
        (json!({"type": "text", "text": "x".repeat(501), "x": 1, "y": 1}), "text of 1 to 500 characters."),
        (json!({"type": "pin", "x": 1}), "items[1]: a pin needs x and y."),
        (
            json!({"type": "pin", "x": 1, "y": 1, "number": 1.5}),
            "items[1].number is 1.5, but must be a whole number",
        ),
        (json!({"type": "polygon"}), "items[1]: a polygon needs points, a list of {x, y}."),
        (
            json!({"type": "polygon", "points": [a]}),
            "items[1].points has 1 item, but must be a list of 2 to 200",
        ),
        (
            json!({"type": "polygon", "points": [a, {"x": 5, "y": 5}], "closed": false, "fill": 50}),
            "items[1].fill is given, but closed is false",
        ),
        (
            json!({"type": "pin", "x": 1, "y": 1, "text": "here"}),
            "items[1].text does not go with a pin, which takes: x, y, number, color, size.",
        ),
        (
            json!({"type": "pin", "x": 1, "y": 1, "color": "rainbow"}),
            "items[1].color: Unknown color \"rainbow\".",
        ),
        (
            json!({"type": "star", "x": 1, "y": 1}),
            "items[1].type is the text \"star\", but must be one of: text, arrow, line, pin, polygon.",
        ),
    ] {
        let text = world.refused("annotate_image", json!({"images": [ID], "items": [fine, item]})).await;
        assert!(text.contains(expected), "{text}");
    }
    let text = world.refused("annotate_image", json!({"images": [ID], "items": []})).await;
    assert!(text.contains("items is empty"), "{text}");
}

#[tokio::test]
async fn an_added_font_is_used_beside_the_bundled_one() {
    // There is no second font file to test with, so the bundled one is added again. It must load and change nothing.
    let bytes =
        std::fs::read(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("assets/fonts/DejaVuSans-Bold.ttf"));
    let fonts = imaging::Fonts::with_files([("again.ttf".to_owned(), bytes.unwrap())]).unwrap();
    let mut world = World::new().await;
    let image = world.sends_image("photo_chelsea.png").await;
    let items = json!([{"type": "text", "text": "قطة cat חתול", "x": 500, "y": 500}]);
    let arguments = json!({"images": [image], "items": items});
    let before = world.makes("annotate_image", arguments.clone()).await;
    let before = world.picture(&before[0]).await.pixels().clone();
    world.context.renderer.pool = RenderPool::new(
        PoolLimits { edits_at_once: 1, ..PoolLimits::default() },
        imaging::Limits::default(),
        fonts,
    );
    let after = world.makes("annotate_image", arguments).await;
    assert_eq!(world.picture(&after[0]).await.pixels(), &before);
}
