//! `GET /history/recent`: own conversations only, all for admins, limits, tool calls.

use super::{Api, part, problem, text};
use crate::{
    access::{House, Shows},
    harness::{png, user},
};
use reqwest::{Method, StatusCode, multipart::Form};
use serde_json::{Value, json};

fn conversations(recent: &Value) -> Vec<&Value> {
    recent["conversations"].as_array().unwrap().iter().collect()
}

fn roles(conversation: &Value) -> Vec<&str> {
    let entries = conversation["history"].as_array().unwrap();
    entries.iter().map(|entry| entry["role"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn recent_messages_are_grouped_by_conversation_newest_first() {
    let api = Api::open().await;
    let (first, second) = (api.begin().await, api.begin().await);
    for (session, wish) in [(&first, "rotate left"), (&second, "flip it")] {
        let form = Form::new().text("content", wish).part("files", part("a.png", png(40, 30)));
        api.asks(session, form).await;
    }
    let recent = api.read("/history/recent").await;
    let found = conversations(&recent);
    assert_eq!(found.len(), 2, "{recent}");
    for (conversation, session) in found.iter().zip([&second, &first]) {
        assert_eq!(conversation["interfaceType"], "web");
        assert_eq!(conversation["sessionIds"], json!([session]));
        assert_eq!(roles(conversation), ["user", "assistant"]);
        let read = api.read(&format!("/sessions/{session}/history")).await;
        assert_eq!(conversation["history"], read["history"]);
    }
    let newest = api.read("/history/recent?limit=1&per_conversation=1&hours=1").await;
    assert_eq!(conversations(&newest).len(), 1);
    assert_eq!(newest["conversations"][0]["sessionIds"], json!([second]));
    assert_eq!(roles(&newest["conversations"][0]), ["assistant"]);

    let with_tools = api.read("/history/recent?include_tools=true&limit=1").await;
    assert_eq!(roles(&with_tools["conversations"][0]), ["user", "tool_call", "tool", "assistant"]);
    let future = api.read("/history/recent?since=2999-01-01T00:00:00Z").await;
    assert_eq!(future["conversations"], json!([]));
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recent_history_has_limits() {
    let api = Api::open().await;
    for query in [
        "limit=0",
        "limit=101",
        "per_conversation=0",
        "per_conversation=51",
        "hours=0",
        "hours=721",
        "since=1999-01-01T00:00:00Z",
        "since=yesterday",
        "hours=1&since=2999-01-01T00:00:00Z",
        "colour=red",
    ] {
        problem(api.get(&format!("/history/recent?{query}")).await, StatusCode::BAD_REQUEST).await;
    }
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn members_see_their_own_recent_history_and_admins_all() {
    let house = House::open_with(|settings| settings.with("PHOTOTHREAD_WEB__ADMINS", "[1001]")).await;
    let (ann, bob) =
        (house.world.private_chat(user(1001, "Ann")), house.world.private_chat(user(1002, "Bob")));
    let (of_ann, of_bob) = (house.log_in(&ann).await, house.log_in(&bob).await);
    let mut sessions = Vec::new();
    for browser in [&of_ann, &of_bob] {
        let created = house.ask(browser, Method::POST, "/sessions").json(&json!({})).send().await.unwrap();
        let session = text(&created.json::<Value>().await.unwrap()["session"]["sessionId"]);
        let path = format!("/sessions/{session}/messages");
        let posted = house.ask(browser, Method::POST, &path).json(&json!({ "content": "hello" }));
        assert_eq!(posted.send().await.unwrap().status(), StatusCode::ACCEPTED);
        sessions.push(json!([session]));
    }
    let seen = async |browser: &Shows| -> Vec<Value> {
        let recent: Value = house.get(browser, "/history/recent").await.json().await.unwrap();
        let web = conversations(&recent).into_iter().filter(|found| found["interfaceType"] == "web");
        web.map(|found| found["sessionIds"].clone()).collect()
    };
    assert_eq!(seen(&of_bob).await, [sessions[1].clone()]);
    let all = seen(&of_ann).await;
    assert!(all.len() == 2 && sessions.iter().all(|session| all.contains(session)), "{all:?}");
    house.bot.stop().await;
}
