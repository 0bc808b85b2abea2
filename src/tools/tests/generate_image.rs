//! What a service makes is kept like anything else, and counted even if it is of no use.

use super::*;
use crate::providers::{ImageGenerator, Vendor, http_client};
use axum::{Json, Router, routing::post};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use secrecy::SecretString;
use serde_json::json;
use std::sync::Arc;

/// Paints whatever it is told as this file.
async fn painter(file: Bytes) -> Arc<ImageGenerator> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let usage = json!({"input_tokens": 7, "output_tokens": 1000});
    let answer = json!({"data": [{"b64_json": BASE64_STANDARD.encode(&file)}], "usage": usage});
    let paints = move || async move { Json(answer) };
    let app = Router::new().route("/images/generations", post(paints));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let (key, client) = (SecretString::from(""), http_client().unwrap());
    let painter =
        ImageGenerator::new(Vendor::OpenAi, &base_url, &key, "painter".into(), TOOL_TIMEOUT, client);
    Arc::new(painter.unwrap())
}

async fn world_with(file: Bytes) -> World {
    let mut world = World::new().await;
    world.registry = Registry::new().with_painter(&painter(file).await);
    world
}

#[tokio::test]
async fn a_painting_is_a_file_at_once_and_what_it_took_is_counted() {
    let photo = image_file("photo_chelsea.png");
    let world = world_with(photo.clone()).await;
    let called = world.call("generate_image", json!({"prompt": "a cat"})).await;
    let took: Vec<_> = called.usage.iter().map(|usage| (usage.input_tokens, usage.output_tokens)).collect();
    assert_eq!(took, [(Some(7), Some(1000))]);
    let made = world.keep_made(called).await.remove(0);
    assert!(made.is_stored() && made.recipe().is_some());
    assert_eq!((made.filename.as_str(), made.mime_type.as_str()), ("generated.png", "image/png"));
    assert_eq!(world.context.bytes(&made).await.unwrap(), photo, "not a byte of it is changed");
    let called = world.call("list_attachments", json!({})).await;
    assert!(called.usage.is_empty(), "nobody was asked for this one");
}

#[tokio::test]
async fn what_is_no_picture_is_refused_but_was_paid_for() {
    let world = world_with(image_file("bad_truncated.png")).await;
    let called = world.call("generate_image", json!({"prompt": "a cat"})).await;
    assert!(called.failed && called.text.contains("not a usable picture"), "{}", called.text);
    assert_eq!(called.usage.len(), 1);
}

#[tokio::test]
async fn the_tools_are_there_only_with_a_painter_and_their_schemas_are_closed() {
    let plain = Registry::new();
    let world = world_with(image_file("photo_chelsea.png")).await;
    let specs = world.registry.specs();
    let added: Vec<_> = specs.iter().filter(|spec| !plain.names().contains(&spec.name)).collect();
    let names: Vec<_> = added.iter().map(|spec| spec.name).collect();
    assert_eq!(names, crate::tools::GENERATIVE);
    for spec in added {
        assert_eq!(spec.parameters["additionalProperties"], false, "{}", spec.name);
        assert!(spec.description.len() < 300, "{}", spec.name);
    }
}
