//! Generated pictures are stored at once, and their cost is counted even if they are unusable.

use super::*;
use crate::providers::{ImageGenerator, Vendor, http_client};
use axum::{Json, Router, routing::post};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use secrecy::SecretString;
use serde_json::json;
use std::sync::Arc;

/// A service that answers every request with this file.
async fn image_generator(file: Bytes) -> Arc<ImageGenerator> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let usage = json!({"input_tokens": 7, "output_tokens": 1000});
    let answer = json!({"data": [{"b64_json": BASE64_STANDARD.encode(&file)}], "usage": usage});
    let handler = move || async move { Json(answer) };
    let app = Router::new().route("/images/generations", post(handler));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let (key, client) = (SecretString::from(""), http_client().unwrap());
    let generator =
        ImageGenerator::new(Vendor::OpenAi, &base_url, &key, "model".into(), TOOL_TIMEOUT, client);
    Arc::new(generator.unwrap())
}

async fn world_with(file: Bytes) -> World {
    let mut world = World::new().await;
    world.registry = Registry::new().with_image_generator(&image_generator(file).await);
    world
}

#[tokio::test]
async fn a_generated_picture_is_stored_at_once_and_its_usage_is_counted() {
    let photo = image_file("photo_chelsea.png");
    let world = world_with(photo.clone()).await;
    let called = world.call("generate_image", json!({"prompt": "a cat"})).await;
    let usage: Vec<_> = called.usage.iter().map(|usage| (usage.input_tokens, usage.output_tokens)).collect();
    assert_eq!(usage, [(Some(7), Some(1000))]);
    let made = world.store_outputs(called).await.remove(0);
    assert!(made.is_stored() && made.recipe().is_some());
    assert_eq!((made.filename.as_str(), made.mime_type.as_str()), ("generated.png", "image/png"));
    assert_eq!(world.context.bytes(&made).await.unwrap(), photo, "the bytes are stored unchanged");
    let called = world.call("list_attachments", json!({})).await;
    assert!(called.usage.is_empty(), "this tool sends no request");
}

#[tokio::test]
async fn an_undecodable_picture_is_refused_but_its_usage_is_counted() {
    let world = world_with(image_file("bad_truncated.png")).await;
    let called = world.call("generate_image", json!({"prompt": "a cat"})).await;
    assert!(called.failed && called.text.contains("not a usable picture"), "{}", called.text);
    assert_eq!(called.usage.len(), 1);
}

#[tokio::test]
async fn generative_tools_need_an_image_generator_and_their_schemas_are_closed() {
    let plain = Registry::new();
    let world = world_with(image_file("photo_chelsea.png")).await;
    let specs = world.registry.specs();
    let added: Vec<_> = specs.iter().filter(|spec| !plain.names().contains(&spec.name)).collect();
    let names: Vec<_> = added.iter().map(|spec| spec.name).collect();
    assert_eq!(names, crate::tools::GENERATIVE_TOOLS);
    for spec in added {
        assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
        assert!(spec.description.len() < 300, "{}", spec.name);
    }
}
