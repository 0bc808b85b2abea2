//! The API of the real server, over HTTP.

mod attachments;
pub mod events;
mod messages;
mod recent;
mod sessions;
mod telegram;

use crate::harness::{BotUnderTest, Settings, WAIT_TIMEOUT, World};
use reqwest::{Client, Method, RequestBuilder, Response, StatusCode, header, multipart::Form};
use serde_json::Value;

/// The program without login, and a client.
pub struct Api {
    pub client: Client,
    pub url: String,
    pub bot: BotUnderTest,
    pub settings: Settings,
    pub world: World,
}

impl Api {
    /// Offline and without Telegram.
    pub async fn open() -> Self {
        let world = World::start().await;
        let settings = Settings::new(&world).with("TELEGRAM_BOT_TOKEN", "");
        Self::with(world, settings).await
    }

    pub async fn with(world: World, settings: Settings) -> Self {
        let settings = settings.with("PHOTOTHREAD_WEB__LISTEN", "127.0.0.1:0");
        let bot = match settings.variables()["TELEGRAM_BOT_TOKEN"].is_empty() {
            true => BotUnderTest::start_unconnected(&settings).await,
            false => BotUnderTest::start(&settings).await,
        };
        Self { client: Client::new(), url: bot.page(), bot, settings, world }
    }

    /// Restarts on the same data.
    pub async fn restarted(self) -> Self {
        self.bot.stop().await;
        Self::with(self.world, self.settings).await
    }

    pub fn ask(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, format!("{}{path}", self.url))
    }

    pub async fn get(&self, path: &str) -> Response {
        self.ask(Method::GET, path).send().await.unwrap()
    }

    /// The body of a GET, which must succeed.
    pub async fn read(&self, path: &str) -> Value {
        let answer = self.get(path).await;
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let value: Value = answer.json().await.unwrap();
        assert_eq!(value["success"], true, "{path}: {value}");
        value
    }

    pub async fn begin(&self) -> String {
        let answer = self.ask(Method::POST, "/sessions").json(&serde_json::json!({})).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::CREATED);
        text(&answer.json::<Value>().await.unwrap()["session"]["sessionId"])
    }

    pub async fn sends(&self, session: &str, form: Form) -> Value {
        let path = format!("/sessions/{session}/messages");
        accepted(self.ask(Method::POST, &path).multipart(form).send().await.unwrap()).await
    }

    pub async fn says(&self, session: &str, message: &Value) -> Value {
        let path = format!("/sessions/{session}/messages");
        accepted(self.ask(Method::POST, &path).json(message).send().await.unwrap()).await
    }

    pub async fn history(&self, session: &str) -> Vec<Value> {
        let read = self.read(&format!("/sessions/{session}/history?include_tools=true")).await;
        read["history"].as_array().unwrap().clone()
    }

    /// Waits for the answer of this turn.
    pub async fn answer(&self, session: &str, turn: &Value) -> Value {
        let wait = async {
            loop {
                let history = self.history(session).await;
                let end = history.into_iter().find(|e| e["turnId"] == *turn && e["role"] == "assistant");
                if let Some(end) = end {
                    return end;
                }
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, wait).await.expect("an answer")
    }

    /// Sends this form, waits for its answer and returns it.
    pub async fn asks(&self, session: &str, form: Form) -> Value {
        let sent = self.sends(session, form).await;
        self.answer(session, &sent["turnId"]).await
    }
}

async fn accepted(answer: Response) -> Value {
    let status = answer.status();
    let value: Value = answer.json().await.unwrap();
    assert_eq!(status, StatusCode::ACCEPTED, "{value}");
    value
}

pub fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

/// Asserts status and media type of a problem, and returns its detail.
pub async fn problem(answer: Response, status: StatusCode) -> String {
    assert_eq!(answer.status(), status);
    assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/problem+json");
    let value: Value = answer.json().await.unwrap();
    assert_eq!(
        (value["status"].as_u64(), value["type"].as_str()),
        (Some(status.as_u16().into()), Some("about:blank"))
    );
    text(&value["detail"])
}

pub fn part(name: &str, bytes: Vec<u8>) -> reqwest::multipart::Part {
    reqwest::multipart::Part::bytes(bytes).file_name(name.to_owned())
}
