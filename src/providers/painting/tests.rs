//! The painter against small servers on this machine: what it sends, and what it tells its caller when they misbehave.

use super::super::http::http_client;
use super::*;
use axum::{
    Json, Router,
    body::Body,
    http::{HeaderMap, StatusCode},
    response::IntoResponse,
    routing::post,
};
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

fn painter(vendor: Vendor, base_url: &str) -> Painter {
    rustls::crypto::ring::default_provider().install_default().ok();
    let key = SecretString::from(KEY);
    let patience = Duration::from_secs(5);
    Painter::new(vendor, base_url, &key, "painter".into(), patience, http_client().unwrap()).unwrap()
}

fn kites(count: u32) -> Wish {
    Wish { prompt: "kites".into(), shape: Shape::Square, count }
}

#[test]
fn anthropic_does_not_paint() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = http_client().unwrap();
    let key = SecretString::from(KEY);
    let none = Painter::new(Vendor::Anthropic, "http://x", &key, "m".into(), Duration::ZERO, client);
    assert!(none.is_none() && usual_image_model(Vendor::Anthropic).is_none());
}

#[test]
fn a_picture_is_given_the_shape_that_fits_it_best() {
    for (width, height, shape) in [
        (1000, 1000, Shape::Square),
        (1200, 1000, Shape::Square),
        (4000, 3000, Shape::Landscape),
        (3000, 4000, Shape::Portrait),
        (9000, 100, Shape::Landscape),
        (0, 0, Shape::Square),
    ] {
        assert_eq!(Shape::nearest(width, height), shape, "{width}×{height}");
    }
}

#[test]
fn a_part_that_may_change_is_told_in_words_too() {
    let part = Region::new(100.0, 250.0, 600.0, 1000.0).unwrap();
    let picture = Loaded { mime: "image/png".into(), bytes: vec![1].into() };
    let only = Only { part, mask: vec![1].into(), shape: Shape::Square };
    let all = Rework { picture, instruction: " add a hat ".into(), only: None };
    assert_eq!(all.in_words(), "add a hat");
    let words = Rework { only: Some(only), ..all }.in_words();
    assert!(words.starts_with("add a hat\n\nChange only the part"), "{words}");
    assert!(words.contains("from 10% to 60% of its width"), "{words}");
    assert!(words.contains("from 25% to 100% of its height"), "{words}");
}

#[tokio::test]
async fn of_several_requests_what_came_counts_and_the_rest_is_explained() {
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
    let painted = painter(Vendor::Gemini, &base_url).paint(&kites(3)).await.unwrap();
    assert_eq!((painted.pictures.len(), asked.load(Ordering::SeqCst)), (2, 3));
    assert!(matches!(painted.short, Some(ProviderError::RetryAfter(Some(wait))) if wait.as_secs() == 7));
    assert_eq!((painted.usage.input_tokens, painted.usage.output_tokens), (Some(6), Some(200)));
}

#[tokio::test]
async fn trouble_is_named_by_what_to_do_and_never_with_the_key() {
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
        let error = painter(Vendor::OpenAi, &base_url).paint(&kites(1)).await.unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains(KEY), "{error}");
    }
}

#[tokio::test]
async fn a_response_without_end_is_cut_off() {
    let flood = || async {
        let mega = Bytes::from(vec![b' '; 1 << 20]);
        Body::from_stream(stream::repeat_with(move || Ok::<_, std::io::Error>(mega.clone())))
    };
    let base_url = serve("/images/generations", post(flood)).await;
    let error = painter(Vendor::OpenAi, &base_url).paint(&kites(1)).await.unwrap_err();
    assert!(error.to_string().contains("longer than 64 MB"), "{error}");
}
