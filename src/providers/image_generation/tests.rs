//! The image generation client against local HTTP servers: requests, usage and errors.

use super::super::http::http_client;
use super::*;
use crate::providers::Shape;
use axum::{
    Json, Router,
    body::Body,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
    routing::post,
};
use bytes::Bytes;
use futures::stream;
use serde_json::json;
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};
use tokio::net::TcpListener;

const KEY: &str = "sk-very-secret";
const GEMINI: &str = "/v1beta/models/painter:generateContent";

async fn serve(path: &str, handler: axum::routing::MethodRouter) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let app = Router::new().route(path, handler);
    tokio::spawn(async move { axum::serve(listener, app).await });
    base_url
}

fn generator(vendor: Vendor, base_url: &str) -> ImageGenerator {
    rustls::crypto::ring::default_provider().install_default().ok();
    let key = SecretString::from(KEY);
    let timeout = Duration::from_secs(5);
    ImageGenerator::new(vendor, base_url, &key, "painter".into(), timeout, http_client().unwrap()).unwrap()
}

fn kites(count: u32) -> ImageRequest {
    ImageRequest { prompt: "kites".into(), shape: Shape::Square, count }
}

#[test]
fn anthropic_generates_no_images() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = http_client().unwrap();
    let key = SecretString::from(KEY);
    let none = ImageGenerator::new(Vendor::Anthropic, "http://x", &key, "m".into(), Duration::ZERO, client);
    assert!(none.is_none() && default_image_model(Vendor::Anthropic).is_none());
}

#[tokio::test]
async fn partial_results_are_kept_and_the_shortfall_is_explained() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let answer = move |headers: HeaderMap| async move {
        assert_eq!(headers["x-goog-api-key"], KEY);
        match counter.fetch_add(1, Ordering::SeqCst) {
            1 => (StatusCode::TOO_MANY_REQUESTS, [("retry-after", "7")], "{}").into_response(),
            _ => Json(json!({
                "candidates": [{ "content": { "parts": [{ "inlineData": { "data": "AAEC" } }] } }],
                "usageMetadata": { "promptTokenCount": 3, "candidatesTokenCount": 100 },
            }))
            .into_response(),
        }
    };
    let base_url = serve(GEMINI, post(answer)).await;
    let images = generator(Vendor::Gemini, &base_url).generate(&kites(3)).await.unwrap();
    assert_eq!((images.pictures.len(), asked.load(Ordering::SeqCst)), (2, 3));
    assert!(
        matches!(images.shortfall.unwrap().kind, ProviderErrorKind::RetryAfter(Some(wait)) if wait.as_secs() == 7)
    );
    assert_eq!((images.usage.input_tokens, images.usage.output_tokens), (Some(6), Some(200)));
}

#[tokio::test]
async fn errors_are_typed_and_never_contain_the_key() {
    let said = |code: &str| json!({ "error": { "message": format!("no {KEY}"), "type": "image_generation_user_error", "code": code } });
    let cases = [
        (400, "moderation_blocked", "declined"),
        (429, "rate_limit_exceeded", "rate limited"),
        (401, "invalid_api_key", "check OPENAI_API_KEY"),
        (404, "model_not_found", "for pictures (image_model)"),
        (500, "server_error", "could not be reached"),
        (400, "invalid_size", "HTTP 400: no [key]"),
    ];
    for (status, code, expected) in cases {
        let body = said(code);
        let answer = move || async move { (StatusCode::from_u16(status).unwrap(), Json(body)) };
        let base_url = serve("/images/generations", post(answer)).await;
        let error = generator(Vendor::OpenAi, &base_url).generate(&kites(1)).await.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn an_endless_response_is_cut_off() {
    let flood = || async {
        let mega = Bytes::from(vec![b' '; 1 << 20]);
        Body::from_stream(stream::repeat_with(move || Ok::<_, std::io::Error>(mega.clone())))
    };
    let base_url = serve("/images/generations", post(flood)).await;
    let error = generator(Vendor::OpenAi, &base_url).generate(&kites(1)).await.unwrap_err();
    assert!(error.to_string().contains("longer than 64 MB"), "{error}");
}

#[tokio::test]
async fn a_refusal_carries_the_tokens_it_cost() {
    let answer = || async {
        Json(json!({
            "candidates": [{ "finishReason": "IMAGE_SAFETY" }],
            "usageMetadata": { "promptTokenCount": 30 },
        }))
    };
    let base_url = serve(GEMINI, post(answer)).await;
    let error = generator(Vendor::Gemini, &base_url).generate(&kites(1)).await.unwrap_err();
    assert!(matches!(error.kind, ProviderErrorKind::Refused), "{error:?}");
    let usage = error.usage.unwrap();
    assert_eq!((usage.input_tokens, usage.output_tokens), (Some(30), Some(0)));
}
