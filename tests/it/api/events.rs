//! Server-sent events of a session: text, tools, answers. A reconnect misses nothing and repeats nothing.

use super::{Api, part, text};
use crate::harness::{ScriptedModel, Settings, WAIT_TIMEOUT, World, jpeg};
use futures::StreamExt as _;
use reqwest::{Method, Response, StatusCode, header::CONTENT_TYPE, multipart::Form};
use serde_json::{Value, json};

/// One parsed event.
#[derive(Debug, Clone)]
pub struct Seen {
    pub name: String,
    pub id: Option<String>,
    pub data: Value,
}

/// A client of the event stream.
pub struct Watching {
    body: futures::stream::BoxStream<'static, reqwest::Result<bytes::Bytes>>,
    unread: String,
}

impl Watching {
    pub async fn from(answer: Response) -> Self {
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()[CONTENT_TYPE], "text/event-stream");
        let mut watching = Self { body: answer.bytes_stream().boxed(), unread: String::new() };
        assert_eq!(watching.block().await, Some("retry: 2000\n: watching".into()));
        watching
    }

    /// None at the end of the stream.
    async fn block(&mut self) -> Option<String> {
        let read = async {
            loop {
                if let Some((block, rest)) = self.unread.split_once("\n\n") {
                    let block = block.to_owned();
                    self.unread = rest.to_owned();
                    return Some(block);
                }
                self.unread += std::str::from_utf8(&self.body.next().await?.unwrap()).unwrap();
            }
        };
        tokio::time::timeout(WAIT_TIMEOUT, read).await.expect("an event")
    }

    pub async fn next(&mut self) -> Option<Seen> {
        loop {
            let block = self.block().await?;
            let field = |name: &str| {
                let lines = block.lines().filter_map(|line| line.strip_prefix(name));
                lines.map(|line| line.trim_start().to_owned()).next()
            };
            if let (Some(name), Some(data)) = (field("event:"), field("data:")) {
                return Some(Seen { name, id: field("id:"), data: serde_json::from_str(&data).unwrap() });
            }
        }
    }

    /// All events up to the first of this name.
    pub async fn until(&mut self, name: &str) -> Vec<Seen> {
        let mut seen = Vec::new();
        loop {
            let event = self.next().await.unwrap_or_else(|| panic!("no {name} after {seen:#?}"));
            let found = event.name == name;
            seen.push(event);
            if found {
                return seen;
            }
        }
    }
}

pub async fn watch(api: &Api, session: &str) -> Watching {
    Watching::from(api.get(&format!("/sessions/{session}/events")).await).await
}

/// Only events of stored messages.
fn stored(seen: &[Seen]) -> Vec<&str> {
    let passing = ["turn_started", "text", "doing", "changed"];
    seen.iter().map(|event| event.name.as_str()).filter(|name| !passing.contains(name)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_are_streamed_and_replayed_after_a_reconnect() {
    let api = Api::open().await;
    let session = api.begin().await;
    let mut tab = watch(&api, &session).await;
    let form = Form::new().text("content", "rotate left").part("files", part("a.jpg", jpeg(64, 48)));
    let sent = api.sends(&session, form).await;
    let seen = tab.until("done").await;
    let steps = ["message", "tool_started", "attachments", "tool_finished", "attachments", "done"];
    assert_eq!(stored(&seen), steps);
    let find = |name: &str| seen.iter().find(|event| event.name == name).unwrap();
    assert_eq!(find("message").data["internalId"], sent["messages"][0]);
    assert_eq!(find("tool_started").data["tool_name"], "rotate_image");
    assert_eq!(find("tool_finished").data["tool_call_id"], find("tool_started").data["tool_call_id"]);
    let done = &find("done").data;
    assert_eq!((&done["turnId"], &done["message"]["role"]), (&sent["turnId"], &json!("assistant")));
    assert_eq!(find("attachments").data["attachments"][0]["width"], 48);

    // Reconnect after the first message: the rest is sent again with the same ids.
    let path = format!("/sessions/{session}/events");
    let again = api.ask(Method::GET, &path).header("Last-Event-ID", find("message").id.clone().unwrap());
    let mut again = Watching::from(again.send().await.unwrap()).await;
    let replayed = again.until("done").await;
    assert_eq!(stored(&replayed), steps[1..]);
    assert_eq!(replayed.last().unwrap().id, seen.last().unwrap().id);
    let all = api.get(&format!("{path}?last_event_id=0")).await;
    assert_eq!(stored(&Watching::from(all).await.until("done").await), steps);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn text_is_streamed_and_sent_whole_to_late_clients() {
    let (world, model) = (World::start().await, ScriptedModel::start().await);
    let settings = Settings::new(&world).with_model(&model.base_url()).with("TELEGRAM_BOT_TOKEN", "");
    let api = Api::with(world, settings).await;
    let session = api.begin().await;
    let mut tab = watch(&api, &session).await;
    let [first, second, last] = model.next_slowly(["A pél", "ican on", " a pier."]);
    let sent = api.says(&session, &json!({ "content": "what is it?" })).await;
    tab.until("turn_started").await;
    first.open();
    let told = tab.until("text").await.pop().unwrap().data;
    assert_eq!(told, json!({ "turnId": sent["turnId"], "offset": 0, "text": "A pél" }));
    second.open();
    let told = tab.until("text").await.pop().unwrap().data;
    assert_eq!((&told["offset"], &told["text"]), (&json!(5), &json!("ican on")));
    let mut late = watch(&api, &session).await;
    let told = late.until("text").await.pop().unwrap().data;
    assert_eq!((&told["offset"], &told["text"]), (&json!(0), &json!("A pélican on")));
    last.open();
    for tab in [&mut tab, &mut late] {
        let done = tab.until("done").await.pop().unwrap();
        assert_eq!(done.data["message"]["content"], "A pélican on a pier.");
        assert_eq!(done.data["message"]["usage"]["model"], "gpt-5-mini");
    }
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_cancels_renames_and_deletions_are_streamed() {
    let (world, model) = (World::start().await, ScriptedModel::start().await);
    let settings = Settings::new(&world).with_model(&model.base_url()).with("TELEGRAM_BOT_TOKEN", "");
    let api = Api::with(world, settings).await;
    let session = api.begin().await;
    let mut tab = watch(&api, &session).await;
    model.next_raw(401, r#"{"error":{"message":"secret inside"}}"#);
    api.says(&session, &json!({ "content": "hello" })).await;
    let error = tab.until("error").await.pop().unwrap().data;
    assert!(text(&error["message"]["content"]).contains("isn't set up right"), "{error}");
    assert!(!error.to_string().contains("secret inside"), "{error}");

    let held = model.hold_next();
    let sent = api.says(&session, &json!({ "content": "hello" })).await;
    held.reached().await;
    let cancel = api.ask(Method::POST, &format!("/sessions/{session}/cancel")).send().await.unwrap();
    assert_eq!(cancel.json::<Value>().await.unwrap(), json!({ "success": true, "cancelled": true }));
    assert_eq!(tab.until("cancelled").await.pop().unwrap().data["turnId"], sent["turnId"]);
    let next = api.says(&session, &json!({ "content": "hello again" })).await;
    let seen = tab.until("done").await;
    assert!(seen.iter().all(|event| event.name != "cancelled"), "told once: {seen:#?}");
    let begun = seen.iter().filter(|event| event.name == "turn_started");
    assert!(
        begun.map(|event| &event.data["turnId"]).eq([&next["turnId"]]),
        "what is over does not begin again"
    );

    let put = api.ask(Method::PUT, &format!("/sessions/{session}")).json(&json!({ "title": "Renamed" }));
    put.send().await.unwrap();
    loop {
        if tab.until("changed").await.pop().unwrap().data["title"] == "Renamed" {
            break;
        }
    }
    api.ask(Method::DELETE, &format!("/sessions/{session}")).send().await.unwrap();
    tab.until("deleted").await;
    assert!(tab.next().await.is_none(), "the stream ends");
    held.open();
    api.bot.stop().await;
}
