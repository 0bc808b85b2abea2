//! Faults happen exactly when and where a test orders them.

use super::{bot, call};
use crate::harness::{World, jpeg, user};
use serde_json::json;
use teloxide::{RequestError, net::Download, prelude::*, types::FileId};

const ANN: ChatId = ChatId(1001);

#[tokio::test]
async fn flood_control_applies_to_one_chat() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.private_chat(user(1002, "Bob"));
    let bot = bot(&world);
    world.next_send().in_chat(1001).times(2).meets_flood(7);
    bot.send_message(ChatId(1002), "not you").await.unwrap();
    for _ in 0..2 {
        let refused = bot.send_message(ANN, "hi").await;
        assert!(matches!(refused, Err(RequestError::RetryAfter(wait)) if wait.seconds() == 7), "{refused:?}");
    }
    let (_, me) = call(&world, "getMe", json!({})).await;
    assert_eq!(me["ok"], true);
    ann.has_nothing_more();
    bot.send_message(ANN, "hi").await.unwrap();
    assert_eq!(ann.next_message().await.text, "hi");
}

#[tokio::test]
async fn a_lost_request_has_no_effect() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    world.next("sendMessage").gets_lost();
    assert!(matches!(bot.send_message(ANN, "one").await, Err(RequestError::Network(_))));
    assert!(world.sends_to(1001).is_empty());
    bot.send_message(ANN, "two").await.unwrap();
    assert_eq!(ann.next_message().await.text, "two");
}

#[tokio::test]
async fn a_message_whose_response_is_lost_arrives() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.next("sendMessage").loses_its_answer();
    let outcome = bot(&world).send_message(ANN, "one").await;
    assert!(matches!(outcome, Err(RequestError::Network(_))), "{outcome:?}");
    assert_eq!(ann.next_message().await.text, "one");
    assert_eq!(world.calls("sendMessage"), 1);
}

#[tokio::test]
async fn a_server_error_has_telegrams_format_and_no_effect() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.next("sendMessage").answers(502);
    let (status, answer) = call(&world, "sendMessage", json!({ "chat_id": 1001, "text": "hi" })).await;
    assert_eq!(status, 502);
    assert_eq!(answer, json!({ "ok": false, "error_code": 502, "description": "Bad Gateway" }));
    ann.has_nothing_more();
}

#[tokio::test]
async fn a_gate_holds_a_call_before_or_after_it_happens() {
    let world = World::start().await;
    world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    let before = world.next("sendMessage").waits();
    let (sent, ()) = tokio::join!(async { bot.send_message(ANN, "one").await }, async {
        before.reached().await;
        assert!(world.sends_to(1001).is_empty());
        before.open();
    });
    sent.unwrap();
    let after = world.next("sendMessage").waits_with_its_answer();
    let (sent, ()) = tokio::join!(async { bot.send_message(ANN, "two").await }, async {
        after.reached().await;
        assert_eq!(world.sends_to(1001).len(), 2);
        after.open();
    });
    sent.unwrap();
}

#[tokio::test]
async fn a_call_that_is_dropped_at_the_gate_has_no_effect() {
    let world = World::start().await;
    world.private_chat(user(1001, "Ann"));
    let bot = bot(&world);
    let gate = world.next("sendMessage").waits();
    let caller = tokio::spawn(async move { bot.send_message(ANN, "one").await });
    gate.reached().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    world.wait_for_hang_up("sendMessage").await;
    gate.open();
    assert!(world.sends_to(1001).is_empty());
}

#[tokio::test]
async fn downloads_fail_wait_and_break_when_ordered() {
    let world = World::start().await;
    let ann = world.private_chat(user(1001, "Ann"));
    let original = jpeg(200, 100);
    ann.sends_photo(original.clone(), "").await;
    let (_, updates) = call(&world, "getUpdates", json!({})).await;
    let sizes = updates["result"][0]["message"]["photo"].as_array().unwrap().clone();
    let id = FileId(sizes.last().unwrap()["file_id"].as_str().unwrap().into());
    let bot = bot(&world);
    let path = bot.get_file(id).await.unwrap().path.clone();
    let fetch = async || {
        let mut bytes = Vec::new();
        bot.download_file(&path, &mut bytes).await.map(|()| bytes)
    };
    world.next("download").answers(500);
    assert!(fetch().await.is_err());
    world.next("download").breaks_halfway();
    assert!(fetch().await.is_err());
    world.next("download").gets_lost();
    assert!(fetch().await.is_err());
    let gate = world.next("download").waits();
    let (bytes, ()) = tokio::join!(fetch(), async {
        gate.reached().await;
        gate.open();
    });
    assert_eq!(bytes.unwrap(), original);
    assert_eq!(world.calls("download"), 4);
}
