//! Every call of the registry ends with a result that the model can act on.

use super::*;
use crate::{
    providers::ToolSpec,
    tools::{Tool, ToolError, ToolResult},
};
use futures::{FutureExt as _, future::BoxFuture};
use serde_json::json;

/// A tool that panics or hangs.
struct FaultyTool(&'static str);

impl Tool for FaultyTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: self.0, description: "", progress: "", parameters: json!({}) }
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: Value) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        match self.0 {
            "panics_at_once" => panic!("secret detail"),
            "panics_later" => async { panic!("secret detail") }.boxed(),
            _ => futures::future::pending().boxed(),
        }
    }
}

#[tokio::test]
async fn a_panic_or_a_hang_becomes_a_result() {
    let mut world = World::new().await;
    world.registry = Registry::of(vec![
        Box::new(FaultyTool("panics_at_once")),
        Box::new(FaultyTool("panics_later")),
        Box::new(FaultyTool("hangs")),
    ]);
    for name in ["panics_at_once", "panics_later"] {
        let text = world.refused(name, json!({})).await;
        assert!(text.starts_with(&format!("{name} broke off")), "{text}");
        assert!(!text.contains("secret"), "{text}");
    }
    let soon = Duration::from_millis(20);
    let called = world.registry.call(&world.context, "hangs", "{}", soon).await;
    assert_eq!(
        called.text,
        "Error: hangs took longer than 20ms and was given up. Try it with fewer or smaller files."
    );
    assert!(called.failed);
}

/// A tool that never ends and has a time-out of its own.
struct SlowTool(Duration);

impl Tool for SlowTool {
    fn spec(&self) -> ToolSpec {
        ToolSpec { name: "slow", description: "", progress: "", parameters: json!({}) }
    }

    fn timeout(&self) -> Option<Duration> {
        Some(self.0)
    }

    fn run<'a>(&'a self, _: &'a ToolContext, _: Value) -> BoxFuture<'a, Result<ToolResult, ToolError>> {
        futures::future::pending().boxed()
    }
}

#[tokio::test]
async fn a_tool_may_have_a_longer_timeout_of_its_own() {
    let mut world = World::new().await;
    world.registry = Registry::of(vec![Box::new(SlowTool(Duration::from_millis(20)))]);
    for (usual, waited) in [(5, "20ms"), (30, "30ms")] {
        let usual = Duration::from_millis(usual);
        let called = world.registry.call(&world.context, "slow", "{}", usual).await;
        let expected = format!("Error: slow took longer than {waited} and");
        assert!(called.text.starts_with(&expected), "{}", called.text);
    }
}

#[tokio::test]
async fn an_unknown_tool_name_gets_the_nearest_and_all_names() {
    let world = World::new().await;
    let text = world.refused("crop", json!({})).await;
    assert!(
        text.starts_with(
            "There is no tool \"crop\". Did you mean crop_image? The tools are: highlight_image, "
        ),
        "{text}"
    );
    let text = world.refused("summon_dragon", json!({})).await;
    assert!(!text.contains("Did you mean"), "{text}");
    for name in world.registry.names() {
        assert!(text.contains(name));
    }
}

#[tokio::test]
async fn arguments_that_are_not_a_json_object_are_refused_with_the_position() {
    let world = World::new().await;
    for (arguments, expected) in [
        (
            "{\"images\": [",
            "Error: The arguments are not JSON: EOF while parsing a list at line 1 column 12.",
        ),
        ("rotate it", "Error: The arguments are not JSON: expected value at line 1 column 1."),
        ("[1]", "Error: The arguments are a list, but must be one JSON object"),
        ("\"x\"", "Error: The arguments are text, but must be one JSON object"),
        ("", "Error: degrees is missing: a number from -360 to 360."),
        ("null", "Error: images is missing"),
    ] {
        let called = world.registry.call(&world.context, "rotate_image", arguments, TOOL_TIMEOUT).await;
        let first = called.text.replace("images is missing: a list of 1 to 20 items.\n", "");
        let matches = first.starts_with(expected) || called.text.starts_with(expected);
        assert!(called.failed && matches, "{arguments}: {}", called.text);
    }
    let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let called = world.registry.call(&world.context, "rotate_image", &deep, TOOL_TIMEOUT).await;
    assert!(called.failed);
    let called = world.registry.call(&world.context, "list_attachments", " ", TOOL_TIMEOUT).await;
    assert!(!called.failed, "{}", called.text);
}

#[test]
fn every_schema_is_closed_and_only_allowed_tools_are_listed() {
    let registry = Registry::new();
    let specs = registry.specs();
    let names: Vec<_> = specs.iter().map(|spec| spec.name).collect();
    assert_eq!(names, registry.names());
    assert_eq!(
        names,
        [
            "highlight_image",
            "annotate_image",
            "crop_image",
            "rotate_image",
            "flip_image",
            "resize_image",
            "adjust_image",
            "filter_image",
            "redact_image",
            "convert_image",
            "watermark_image",
            "collage_images",
            "compare_images",
            "animate_images",
            "undo_edit",
            "redo_edit",
            "revert_to_original",
            "repeat_edits",
            "look_at_image",
            "image_info",
            "attach_to_response",
            "list_attachments",
            "get_attachment_info",
            "read_text_attachment",
        ]
    );
    for spec in &specs {
        assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
        assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
        assert!(spec.parameters["required"].is_array(), "{}", spec.name);
        let properties = spec.parameters["properties"].as_object().unwrap();
        for required in spec.parameters["required"].as_array().unwrap() {
            assert!(properties.contains_key(required.as_str().unwrap()), "{}", spec.name);
        }
        assert!(!spec.description.is_empty() && spec.description.len() < 300, "{}", spec.name);
    }
    let only = registry.only(|name| name == "flip_image").specs();
    assert_eq!(only.len(), 1);
}

#[tokio::test]
async fn store_errors_reach_the_model_without_details() {
    let world = World::new().await;
    let error = crate::store::StoreError::Unusable("postgres://bot:hunter2@db".into());
    let text = ToolError::from(crate::attachments::AttachmentError::from(error)).describe();
    assert_eq!(text, "Files cannot be reached just now. Try again in a moment.");
    let image = world.sends_image("photo_rocket.jpg").await;
    let lost = Attachments::new(
        world.context.renderer.store.clone(),
        Objects::open("memory://").unwrap(),
        world.context.renderer.attachments.limits(),
    );
    let mut context = world.context.clone();
    context.renderer.attachments = lost;
    let arguments = json!({"images": [image], "degrees": 90}).to_string();
    let called = world.registry.call(&context, "rotate_image", &arguments, TOOL_TIMEOUT).await;
    assert_eq!(called.text, "Error: photo_rocket.jpg: The file is gone from the attachment store.");
}
