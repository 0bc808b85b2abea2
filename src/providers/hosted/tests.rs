//! The client of hosted models against local HTTP servers: requests, responses and errors.

use super::super::{
    LoadedFile, PromptMessage, ShownFile,
    formats::samples::{picture, settings, user},
    http::http_client,
};
use super::*;
use crate::domain::Attachment;
use axum::{Router, body::Body, http::StatusCode, response::IntoResponse, routing::post};
use futures::{StreamExt as _, stream};
use serde_json::json;
use std::sync::{
    Mutex,
    atomic::{AtomicUsize, Ordering},
};
use tokio::net::TcpListener;

const KEY: &str = "sk-very-secret";

struct AnyPicture;

impl MediaSource for AnyPicture {
    fn picture<'a>(&'a self, _: &'a ShownFile, _: u32) -> BoxFuture<'a, Option<LoadedFile>> {
        Box::pin(async { Some(LoadedFile { mime: "image/jpeg".into(), bytes: vec![0, 0, 0].into() }) })
    }

    fn file<'a>(&'a self, _: &'a Attachment) -> BoxFuture<'a, Option<LoadedFile>> {
        Box::pin(async { None })
    }
}

fn model_at(base_url: &str, key: &str) -> Hosted {
    model_with_timeout(base_url, key, Duration::from_secs(60))
}

fn model_with_timeout(base_url: &str, key: &str, timeout: Duration) -> Hosted {
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = http_client().unwrap();
    let key = SecretString::from(key);
    Hosted::new(Vendor::OpenAi, base_url, &key, settings("gpt-test"), timeout, client, Arc::new(AnyPicture))
}

async fn ask(model: &Hosted) -> Result<Completion, ProviderError> {
    model.complete(&hello(), &|_| {}).await
}

fn hello() -> Prompt {
    Prompt { messages: vec![user("hello", vec![picture(1)])], ..Prompt::default() }
}

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
    (listener, base_url)
}

async fn serve(app: Router) -> String {
    let (listener, base_url) = listen().await;
    tokio::spawn(async move { axum::serve(listener, app).await });
    base_url
}

/// The error of a request to a server that gives this response.
async fn error_for(answer: impl IntoResponse + Clone + Send + Sync + 'static) -> ProviderErrorKind {
    let base_url = serve(Router::new().route("/v1/chat/completions", post(answer))).await;
    ask(&model_at(&base_url, KEY)).await.unwrap_err().kind
}

async fn error_for_status(status: u16, body: Value) -> ProviderErrorKind {
    error_for((StatusCode::from_u16(status).unwrap(), body.to_string())).await
}

#[tokio::test]
async fn the_key_is_sent_in_the_header() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = seen.clone();
    let handler = move |headers: axum::http::HeaderMap, body: String| async move {
        record.lock().unwrap().push((headers, serde_json::from_str::<Value>(&body).unwrap()));
        json!({"choices": [{"message": {"content": "hi"}}]}).to_string()
    };
    let base_url = serve(Router::new().route("/v1/chat/completions", post(handler))).await;
    for (url, key) in [(format!("{base_url}/"), format!("{KEY}\n")), (base_url, String::new())] {
        assert_eq!(ask(&model_at(&url, &key)).await.unwrap().text, "hi");
    }
    let seen = seen.lock().unwrap();
    let (headers, body) = &seen[0];
    assert_eq!(headers["authorization"], format!("Bearer {KEY}"));
    assert_eq!(body["model"], "gpt-test");
    assert_eq!(body["messages"][0]["content"][2]["image_url"]["url"], "data:image/jpeg;base64,AAAA");
    assert!(!seen[1].0.contains_key("authorization"), "no key, no header");
}

#[tokio::test]
async fn a_busy_server_gives_the_wait() {
    for status in [429, 503, 529] {
        let status = StatusCode::from_u16(status).unwrap();
        let error = error_for((status, [("retry-after", "7")], "<html>busy</html>")).await;
        assert!(
            matches!(error, ProviderErrorKind::RetryAfter(Some(wait)) if wait.as_secs() == 7),
            "{status}: {error:?}"
        );
    }
}

#[tokio::test]
async fn errors_are_typed_by_what_the_caller_does_next() {
    use ProviderErrorKind::{InvalidResponse, Misconfigured, Refused, RetryAfter, TooLong, Unreachable};
    let coded = |code: &str| json!({"error": {"message": "Sorry.", "code": code}});
    let worded = |message: &str| json!({"error": {"message": message}});
    type Expected = fn(&ProviderErrorKind) -> bool;
    let cases: Vec<(u16, Value, Expected)> = vec![
        (401, worded("?"), |e| matches!(e, Misconfigured(_))),
        (
            403,
            worded("not in your country"),
            |e| matches!(e, Misconfigured(why) if why.contains("not in your country")),
        ),
        (402, worded("pay"), |e| matches!(e, Misconfigured(why) if why.contains("credit"))),
        (429, coded("insufficient_quota"), |e| matches!(e, Misconfigured(why) if why.contains("credit"))),
        (429, coded("rate_limit_exceeded"), |e| matches!(e, RetryAfter(_))),
        (400, coded("context_length_exceeded"), |e| matches!(e, TooLong)),
        (400, worded("This model's maximum context length is 9 tokens"), |e| matches!(e, TooLong)),
        (413, worded("too large"), |e| matches!(e, TooLong)),
        (400, coded("content_filter"), |e| matches!(e, Refused)),
        (
            400,
            worded("bad schema"),
            |e| matches!(e, InvalidResponse(why) if why.ends_with("HTTP 400: bad schema")),
        ),
        (500, json!("oops"), |e| matches!(e, Unreachable(_))),
        (502, json!(null), |e| matches!(e, Unreachable(_))),
        (200, json!({"error": {"message": "busy", "code": 429}}), |e| matches!(e, RetryAfter(_))),
        (200, worded("odd"), |e| matches!(e, InvalidResponse(_))),
        (200, json!({"choices": []}), |e| matches!(e, InvalidResponse(_))),
    ];
    for (status, body, expected) in cases {
        let error = error_for_status(status, body.clone()).await;
        assert!(expected(&error), "{status} {body}: {error:?}");
    }
}

#[tokio::test]
async fn a_missing_model_is_named_with_its_url() {
    let base_url = serve(Router::new()).await;
    let error = ask(&model_at(&base_url, KEY)).await.unwrap_err().kind;
    let ProviderErrorKind::Misconfigured(why) = error else { panic!("{error:?}") };
    assert!(why.contains("\"gpt-test\"") && why.contains(&base_url), "{why}");
}

#[tokio::test]
async fn a_web_page_is_an_invalid_response() {
    let error = error_for("<!doctype html><title>Welcome</title>").await;
    assert!(
        matches!(&error, ProviderErrorKind::InvalidResponse(why) if why.contains("not JSON")),
        "{error:?}"
    );
}

#[tokio::test]
async fn an_endless_response_is_cut_off() {
    let sent = Arc::new(AtomicUsize::new(0));
    let counter = sent.clone();
    let flood = move || async move {
        let megabytes = stream::iter(0..50).map(move |_| {
            counter.fetch_add(1, Ordering::SeqCst);
            Ok::<_, std::io::Error>(vec![b' '; 1024 * 1024])
        });
        Body::from_stream(megabytes)
    };
    let base_url = serve(Router::new().route("/v1/chat/completions", post(flood))).await;
    let error = ask(&model_at(&base_url, KEY)).await.unwrap_err().kind;
    assert!(matches!(&error, ProviderErrorKind::InvalidResponse(why) if why.contains("8 MB")), "{error:?}");
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent < 40, "{sent} MB were taken");
}

#[tokio::test]
async fn a_refused_dropped_or_cut_connection_is_unreachable() {
    let (listener, refused) = listen().await;
    drop(listener);
    let (listener, dropped) = listen().await;
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
    let half = || async {
        let half = [Ok("{\"choices\": "), Err(std::io::Error::other("cut"))];
        Body::from_stream(stream::iter(half))
    };
    let cut = serve(Router::new().route("/v1/chat/completions", post(half))).await;
    for base_url in [refused, dropped, cut] {
        let error = ask(&model_at(&base_url, KEY)).await.unwrap_err().kind;
        assert!(matches!(error, ProviderErrorKind::Unreachable(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_silent_server_times_out() {
    let silence = || std::future::pending::<String>();
    let base_url = serve(Router::new().route("/v1/chat/completions", post(silence))).await;
    let model = model_with_timeout(&base_url, KEY, Duration::from_millis(100));
    let error = ask(&model).await.unwrap_err().kind;
    assert!(matches!(&error, ProviderErrorKind::Unreachable(why) if why.contains("too long")), "{error:?}");
}

#[tokio::test]
async fn no_error_or_debug_output_contains_the_key() {
    let echo = json!({"error": {"message": format!("what is {KEY}?"), "code": KEY, "type": KEY}});
    for status in [200, 400, 401, 403, 404, 429, 500] {
        let error = error_for_status(status, echo.clone()).await;
        assert!(!format!("{error} {error:?}").contains(KEY), "{status}: {error:?}");
    }
    let (listener, base_url) = listen().await;
    drop(listener);
    let with_password = base_url.replace("http://", &format!("http://me:{KEY}@")) + "?key=hunter2";
    for url in [with_password.as_str(), KEY] {
        let model = model_at(url, KEY);
        let error = ask(&model).await.unwrap_err();
        let shown = format!("{error} {error:?} {model:?}");
        assert!(!shown.contains(KEY) && !shown.contains("hunter2"), "{shown}");
    }
    let error = ask(&model_at(&base_url, "sk-\u{7}bell")).await.unwrap_err().kind;
    assert!(matches!(&error, ProviderErrorKind::Misconfigured(why) if !why.contains("bell")), "{error:?}");
}

#[tokio::test]
async fn signed_thinking_is_sent_back_only_in_an_unchanged_conversation() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = seen.clone();
    let handler = move |body: String| async move {
        record.lock().unwrap().push(serde_json::from_str::<Value>(&body).unwrap());
        let thought = json!({"type": "thinking", "thinking": "", "signature": "signed"});
        json!({"content": [thought, {"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}).to_string()
    };
    let base_url = serve(Router::new().route("/v1/v1/messages", post(handler))).await;
    rustls::crypto::ring::default_provider().install_default().ok();
    let (client, key, timeout) = (http_client().unwrap(), SecretString::from(KEY), Duration::from_secs(60));
    let claude =
        Hosted::new(Vendor::Anthropic, &base_url, &key, settings("m"), timeout, client, Arc::new(AnyPicture));
    let Completion { text, tool_calls, provider_metadata, .. } = ask(&claude).await.unwrap();
    let mut prompt = hello();
    prompt.messages.push(PromptMessage::Assistant { text, tool_calls, provider_metadata });
    prompt.messages.push(user("and?", vec![]));
    claude.complete(&prompt, &|_| {}).await.unwrap();
    prompt.system = "Be brief.".into();
    claude.complete(&prompt, &|_| {}).await.unwrap();
    let kinds = |at: usize| seen.lock().unwrap()[at]["messages"][1]["content"][0]["type"].clone();
    assert_eq!((kinds(1), kinds(2)), (json!("thinking"), json!("text")));
}

#[tokio::test]
async fn a_refusal_carries_the_tokens_it_cost() {
    let refusal = json!({
        "model": "gpt-test-1",
        "choices": [{"message": {"refusal": "No."}}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 2},
    });
    let handler = move || async move { refusal.to_string() };
    let base_url = serve(Router::new().route("/v1/chat/completions", post(handler))).await;
    let error = ask(&model_at(&base_url, KEY)).await.unwrap_err();
    assert!(matches!(error.kind, ProviderErrorKind::Refused), "{error:?}");
    let usage = error.usage.unwrap();
    let counted = (usage.model.as_str(), usage.input_tokens, usage.output_tokens);
    assert_eq!(counted, ("gpt-test-1", Some(100), Some(2)));
}
