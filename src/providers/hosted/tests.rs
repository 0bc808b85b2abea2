//! The client against small servers on this machine: what it sends, and what it tells its caller when they misbehave.

use super::super::{
    Loaded, PromptMessage, Shown,
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

struct Anything;

impl MediaSource for Anything {
    fn picture<'a>(&'a self, _: &'a Shown, _: u32) -> BoxFuture<'a, Option<Loaded>> {
        Box::pin(async { Some(Loaded { mime: "image/jpeg".into(), bytes: vec![0, 0, 0].into() }) })
    }

    fn file<'a>(&'a self, _: &'a Attachment) -> BoxFuture<'a, Option<Loaded>> {
        Box::pin(async { None })
    }
}

fn model_at(base_url: &str, key: &str) -> Hosted {
    patient_model_at(base_url, key, Duration::from_secs(60))
}

fn patient_model_at(base_url: &str, key: &str, patience: Duration) -> Hosted {
    rustls::crypto::ring::default_provider().install_default().ok();
    let client = http_client().unwrap();
    let key = SecretString::from(key);
    Hosted::new(Vendor::OpenAi, base_url, &key, settings("gpt-test"), patience, client, Arc::new(Anything))
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

/// What the caller is told when the server gives this answer.
async fn told(answer: impl IntoResponse + Clone + Send + Sync + 'static) -> ProviderError {
    let base_url = serve(Router::new().route("/v1/chat/completions", post(answer))).await;
    ask(&model_at(&base_url, KEY)).await.unwrap_err()
}

async fn told_status(status: u16, body: Value) -> ProviderError {
    told((StatusCode::from_u16(status).unwrap(), body.to_string())).await
}

#[tokio::test]
async fn the_key_travels_in_the_header_and_the_answer_comes_back() {
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
async fn a_busy_server_says_how_long_to_wait() {
    for status in [429, 503, 529] {
        let status = StatusCode::from_u16(status).unwrap();
        let error = told((status, [("retry-after", "7")], "<html>busy</html>")).await;
        assert!(
            matches!(error, ProviderError::RetryAfter(Some(wait)) if wait.as_secs() == 7),
            "{status}: {error:?}"
        );
    }
}

#[tokio::test]
async fn errors_are_named_by_what_the_caller_does_next() {
    use ProviderError::{BadAnswer, Refused, RetryAfter, Setup, TooLong, Unreachable};
    let coded = |code: &str| json!({"error": {"message": "Sorry.", "code": code}});
    let worded = |message: &str| json!({"error": {"message": message}});
    type Wanted = fn(&ProviderError) -> bool;
    let cases: Vec<(u16, Value, Wanted)> = vec![
        (401, worded("?"), |e| matches!(e, Setup(_))),
        (
            403,
            worded("not in your country"),
            |e| matches!(e, Setup(why) if why.contains("not in your country")),
        ),
        (402, worded("pay"), |e| matches!(e, Setup(why) if why.contains("credit"))),
        (429, coded("insufficient_quota"), |e| matches!(e, Setup(why) if why.contains("credit"))),
        (429, coded("rate_limit_exceeded"), |e| matches!(e, RetryAfter(_))),
        (400, coded("context_length_exceeded"), |e| matches!(e, TooLong)),
        (400, worded("This model's maximum context length is 9 tokens"), |e| matches!(e, TooLong)),
        (413, worded("too large"), |e| matches!(e, TooLong)),
        (400, coded("content_filter"), |e| matches!(e, Refused)),
        (400, worded("bad schema"), |e| matches!(e, BadAnswer(why) if why.ends_with("HTTP 400: bad schema"))),
        (500, json!("oops"), |e| matches!(e, Unreachable(_))),
        (502, json!(null), |e| matches!(e, Unreachable(_))),
        (200, json!({"error": {"message": "busy", "code": 429}}), |e| matches!(e, RetryAfter(_))),
        (200, worded("odd"), |e| matches!(e, BadAnswer(_))),
        (200, json!({"choices": []}), |e| matches!(e, BadAnswer(_))),
    ];
    for (status, body, wanted) in cases {
        let error = told_status(status, body.clone()).await;
        assert!(wanted(&error), "{status} {body}: {error:?}");
    }
}

#[tokio::test]
async fn a_missing_model_is_named_with_the_place_it_is_missing_from() {
    let base_url = serve(Router::new()).await;
    let error = ask(&model_at(&base_url, KEY)).await.unwrap_err();
    let ProviderError::Setup(why) = error else { panic!("{error:?}") };
    assert!(why.contains("\"gpt-test\"") && why.contains(&base_url), "{why}");
}

#[tokio::test]
async fn a_web_page_is_a_bad_answer() {
    let error = told("<!doctype html><title>Welcome</title>").await;
    assert!(matches!(&error, ProviderError::BadAnswer(why) if why.contains("not JSON")), "{error:?}");
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
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
    let error = ask(&model_at(&base_url, KEY)).await.unwrap_err();
    assert!(matches!(&error, ProviderError::BadAnswer(why) if why.contains("8 MB")), "{error:?}");
    let sent = sent.load(Ordering::SeqCst);
    assert!(sent < 40, "{sent} MB were taken");
}

#[tokio::test]
async fn a_connection_that_is_refused_dropped_or_cut_is_unreachable() {
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
        let error = ask(&model_at(&base_url, KEY)).await.unwrap_err();
        assert!(matches!(error, ProviderError::Unreachable(_)), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up() {
    let silence = || std::future::pending::<String>();
    let base_url = serve(Router::new().route("/v1/chat/completions", post(silence))).await;
    let model = patient_model_at(&base_url, KEY, Duration::from_millis(100));
    let error = ask(&model).await.unwrap_err();
    assert!(matches!(&error, ProviderError::Unreachable(why) if why.contains("too long")), "{error:?}");
}

#[tokio::test]
async fn the_key_is_in_no_error_and_no_debug_output() {
    let echo = json!({"error": {"message": format!("what is {KEY}?"), "code": KEY, "type": KEY}});
    for status in [200, 400, 401, 403, 404, 429, 500] {
        let error = told_status(status, echo.clone()).await;
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
    let error = ask(&model_at(&base_url, "sk-\u{7}bell")).await.unwrap_err();
    assert!(matches!(&error, ProviderError::Setup(why) if !why.contains("bell")), "{error:?}");
}

#[tokio::test]
async fn signed_thinking_goes_back_in_the_conversation_it_was_thought_in_and_in_no_other() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let record = seen.clone();
    let handler = move |body: String| async move {
        record.lock().unwrap().push(serde_json::from_str::<Value>(&body).unwrap());
        let thought = json!({"type": "thinking", "thinking": "", "signature": "signed"});
        json!({"content": [thought, {"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}).to_string()
    };
    let base_url = serve(Router::new().route("/v1/v1/messages", post(handler))).await;
    rustls::crypto::ring::default_provider().install_default().ok();
    let (client, key, patience) = (http_client().unwrap(), SecretString::from(KEY), Duration::from_secs(60));
    let claude =
        Hosted::new(Vendor::Anthropic, &base_url, &key, settings("m"), patience, client, Arc::new(Anything));
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
