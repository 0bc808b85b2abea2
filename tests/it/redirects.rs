//! No HTTP client follows a redirect: keys, tokens and what people wrote stay with the address that is configured.

use crate::harness::{
    BotUnderTest, Program, ScriptedModel, Server, Settings, World, jpeg, key_of, newest_session, user,
};
use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, StatusCode, header},
    response::IntoResponse,
    routing::any,
};
use photothread::{domain::Conversation, providers::Vendor, store::Detail, telegram};
use secrecy::SecretString;
use serde_json::json;
use std::{
    process::Stdio,
    sync::{Arc, Mutex},
};

type Requests = Arc<Mutex<Vec<(String, HeaderMap)>>>;

/// A server that records the requests it gets, and one that redirects to it.
struct Detour {
    reached: Requests,
    target: Server,
    redirected: Requests,
}

impl Detour {
    fn new() -> Self {
        let reached = Requests::default();
        let record = async |State(reached): State<Requests>, request: Request| {
            reached.lock().unwrap().push((request.uri().to_string(), request.headers().clone()));
            (StatusCode::FORBIDDEN, "{}")
        };
        let target = Server::start(Router::new().fallback(any(record)).with_state(reached.clone()));
        Self { reached, target, redirected: Requests::default() }
    }

    /// Answers every request with a redirect to the same path of the target.
    fn router(&self) -> Router {
        let redirect = async |State((url, seen)): State<(String, Requests)>, request: Request| {
            seen.lock().unwrap().push((request.uri().to_string(), request.headers().clone()));
            let to = format!("{url}{}", request.uri());
            (StatusCode::TEMPORARY_REDIRECT, [(header::LOCATION, to)]).into_response()
        };
        let state = (self.target.url(), self.redirected.clone());
        Router::new().fallback(any(redirect)).with_state(state)
    }

    fn redirected(&self) -> usize {
        self.redirected.lock().unwrap().len()
    }

    #[track_caller]
    fn was_not_taken(&self) {
        assert!(self.redirected() > 0, "nothing was redirected");
        let reached = self.reached.lock().unwrap();
        assert!(reached.is_empty(), "the redirect was followed: {reached:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_server_that_redirects_gets_no_second_request() {
    for vendor in [Vendor::Anthropic, Vendor::OpenAi, Vendor::Gemini] {
        let detour = Detour::new();
        let server = Server::start(detour.router());
        let name = vendor.as_str().to_uppercase();
        let world = World::start().await;
        let settings = Settings::new(&world)
            .with_key_of(vendor)
            .with("PHOTOTHREAD_AGENTS__PHOTOTHREAD__PROVIDER", vendor.as_str())
            .with(&format!("PHOTOTHREAD_PROVIDERS__{name}__BASE_URL"), server.url());
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        ann.sends_photo(jpeg(64, 48), "what is this?").await;
        let told = ann.next_message().await.text;
        assert!(told.contains("isn't set up right"), "{vendor}: {told}");
        bot.stop().await;

        let store = settings.store().await;
        let session = newest_session(&store, &Conversation::telegram(ann.chat_id)).await.unwrap();
        let rows =
            store.messages_of_session(session.session_id, None, None, Detail::WithTools).await.unwrap();
        let error = rows.last().unwrap().error.clone().unwrap();
        let setting = format!("set providers.{vendor}.base_url to the final address");
        assert!(error.contains("answered with a redirect") && error.contains(&setting), "{error}");
        assert!(!error.contains(key_of(vendor)), "{error}");
        detour.was_not_taken();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_service_that_redirects_gets_no_second_request() {
    for vendor in [Vendor::OpenAi, Vendor::Gemini] {
        let detour = Detour::new();
        let (world, gemini) = (World::start().await, Server::start(detour.router()));
        let images = detour.redirected.clone();
        // OpenAI's images have the address of the model that talks.
        let model = match vendor {
            Vendor::OpenAi => ScriptedModel::start_beside(detour.router()).await,
            _ => ScriptedModel::start().await,
        };
        let settings = Settings::new(&world).with_model(&model.base_url());
        let settings = match vendor {
            Vendor::OpenAi => settings.with("PHOTOTHREAD_PROVIDERS__OPENAI__IMAGE_MODEL", "gpt-image-1"),
            _ => settings
                .with("GEMINI_API_KEY", key_of(Vendor::Gemini))
                .with("PHOTOTHREAD_PROVIDERS__GEMINI__BASE_URL", gemini.url())
                .with("PHOTOTHREAD_PROVIDERS__GEMINI__IMAGE_MODEL", "gemini-2.5-flash-image"),
        };
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        model.next_calls([("generate_image", json!({ "prompt": "a red kite" }))]);
        model.next_reply("No kite today.");
        ann.says("paint me a red kite").await;
        assert_eq!(ann.next_message().await.text, "No kite today.");
        let told = model.requests().pop().unwrap().to_string();
        assert!(told.contains("The image service is not set up right"), "{told}");
        assert!(images.lock().unwrap().iter().all(|(path, _)| path.contains("image")), "{images:?}");
        bot.stop().await;
        detour.was_not_taken();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_telegram_server_that_redirects_gets_no_second_request() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let detour = Detour::new();
    let server = Server::start(detour.router());
    let token = SecretString::from("123456:AAE-a-token-that-is-long-enough-to-be-one");
    let error = telegram::check_token(&token, &server.url().parse().unwrap()).await.unwrap_err().to_string();
    assert!(error.contains("set telegram.api_url to the final address"), "{error}");
    detour.was_not_taken();
}

/// S3 redirects to the region of a bucket, and object_store follows. The credentials must not go along.
#[tokio::test(flavor = "multi_thread")]
async fn redirects_of_the_object_store_carry_no_credentials() {
    let detour = Detour::new();
    let server = Server::start(detour.router());
    let world = World::start().await;
    let settings = Settings::new(&world)
        .with("PHOTOTHREAD_ATTACHMENTS__URL", "s3://bucket/folder")
        .with("AWS_ENDPOINT", server.url())
        .with("AWS_ALLOW_HTTP", "true")
        .with("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
        .with("AWS_SECRET_ACCESS_KEY", "very-secret")
        .with("AWS_REGION", "eu-central-1");
    let mut command = Program::command(&settings);
    let done = command.arg("doctor").stdout(Stdio::piped()).output().expect("doctor runs");
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(said.contains("attachments  PROBLEM"), "{said}");
    let sent = detour.redirected.lock().unwrap().clone();
    assert!(sent.iter().any(|(_, headers)| headers.contains_key(header::AUTHORIZATION)), "{sent:?}");
    for (path, headers) in detour.reached.lock().unwrap().iter() {
        assert!(!headers.contains_key(header::AUTHORIZATION), "{path}: {headers:?}");
        assert!(!format!("{path} {headers:?}").contains("AKIAEXAMPLE"), "{path}: {headers:?}");
    }
}
