//! The on-device models through the registry: what they find, and edits of it repeated on other pictures.

use super::{World, image_file};
use crate::{rendering::Vision, tools::Registry};
use serde_json::{Value, json};
use vision::Weights;

async fn seeing_world() -> World {
    let mut world = World::new().await;
    world.context.renderer = world.context.renderer.clone().with_vision(Vision::new(Weights::BuiltIn));
    world.registry = Registry::new().with_vision();
    world
}

/// The regions of a result of find_in_image.
fn regions(text: &str) -> Vec<Value> {
    let listed = text.lines().filter(|line| line.starts_with("- "));
    listed.map(|line| serde_json::from_str(&line[line.find('{').unwrap()..]).unwrap()).collect()
}

#[tokio::test]
async fn the_cat_is_found_and_its_region_can_be_edited() {
    let world = seeing_world().await;
    let cat = world.sends_image("photo_chelsea.png").await;
    let found = world.call("find_in_image", json!({"image": cat, "what": "cats"})).await;
    assert!(found.text.starts_with("Found 1 cat in photo_chelsea.png:\n- cat 9"), "{}", found.text);
    let regions = regions(&found.text);
    let made = world
        .makes("highlight_image", json!({"images": [cat], "regions": regions, "looked_for": {"what": "cat"}}))
        .await;
    assert_eq!(made[0].recipe().unwrap().arguments["looked_for"], json!({"what": "cat"}));
}

#[tokio::test]
async fn faces_are_found_and_the_result_says_to_check() {
    let world = seeing_world().await;
    let portrait = world.sends("ann.png", image_file("photo_astronaut.png")).await;
    let found = world.call("find_in_image", json!({"image": portrait, "what": "faces"})).await;
    assert!(
        found.text.starts_with("Found 1 face in ann.png:") && found.text.contains("to check"),
        "{}",
        found.text
    );
    let elsewhere = json!({"left": 0, "top": 600, "right": 300, "bottom": 1000});
    let found =
        world.call("find_in_image", json!({"image": portrait, "what": "faces", "region": elsewhere})).await;
    assert!(found.text.starts_with("Found no face in ann.png."), "{}", found.text);
}

#[tokio::test]
async fn repeating_an_edit_looks_anew_in_the_other_picture() {
    let world = seeing_world().await;
    let (portrait, flower) =
        (world.sends_image("photo_astronaut.png").await, world.sends_image("photo_flower.jpg").await);
    let wrong_place = json!({"left": 0, "top": 0, "right": 10, "bottom": 10});
    let arguments = json!({"images": [flower], "regions": [wrong_place], "looked_for": {"what": "faces"}});
    let hidden = world.makes("redact_image", arguments).await;
    let repeated =
        world.makes("repeat_edits", json!({"from": hidden[0].attachment_id, "images": [portrait]})).await;
    let recipe = repeated[0].recipe().unwrap();
    let region = &recipe.arguments["edits"][0]["arguments"]["regions"][0];
    assert!((300.0..450.0).contains(&region["left"].as_f64().unwrap()), "{recipe:?}");
    let text =
        world.refused("repeat_edits", json!({"from": repeated[0].attachment_id, "images": [flower]})).await;
    assert!(text.contains("found no faces in it"), "{text}");
}

#[tokio::test]
async fn an_unknown_kind_is_refused_with_the_known_ones() {
    let world = seeing_world().await;
    let id = world.sends_image("photo_flower.jpg").await;
    let text = world.refused("find_in_image", json!({"image": id, "what": "unicorn"})).await;
    assert!(text.contains("unicorn") && text.contains("bicycle"), "{text}");
}

#[tokio::test]
async fn without_models_the_tool_says_so() {
    let world = World::new().await;
    let id = world.sends_image("photo_flower.jpg").await;
    let with_tools = Registry::new().with_vision();
    let arguments = json!({"image": id, "what": "faces"}).to_string();
    let called = with_tools.call(&world.context, "find_in_image", &arguments, super::TOOL_TIMEOUT).await;
    assert!(called.failed && called.text.contains("turned off"), "{called:?}");
}
