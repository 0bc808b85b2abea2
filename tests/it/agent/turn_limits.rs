//! Turns are bounded per person and in all: the rest wait in order, and other people do not wait for them.

use crate::{
    api::Api,
    harness::{BotUnderTest, Gate, ScriptedModel, Settings, WAIT_TIMEOUT, World, user},
};
use futures::future::join_all;
use serde_json::{Value, json};

/// Starts a conversation on the page for each text, one after the other. Returns session and turn.
async fn starts_conversations(api: &Api, texts: &[String]) -> Vec<(String, Value)> {
    let mut started = Vec::new();
    for text in texts {
        let session = api.begin().await;
        let sent = api.says(&session, &json!({ "content": text })).await;
        started.push((session, sent["turnId"].clone()));
    }
    started
}

/// What the person said in each request to the model, in the order of arrival.
fn said_in_requests(model: &ScriptedModel) -> Vec<String> {
    let last =
        |request: &Value| request["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    model.requests().iter().map(last).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_person_runs_three_turns_at_once_and_nobody_else_waits() {
    let (world, model) = (World::start().await, ScriptedModel::start().await);
    let gates: Vec<Gate> = (0..3).map(|_| model.hold_next()).collect();
    let settings = Settings::new(&world).with_model(&model.base_url());
    let api = Api::with(world, settings).await;
    let texts: Vec<String> = (0..12).map(|n| format!("request number {n:02}")).collect();
    let started = starts_conversations(&api, &texts).await;
    model.wait_for_requests(3).await;

    let ann = api.world.private_chat(user(1001, "Ann"));
    ann.says("hello").await;
    assert_eq!(ann.next_message().await.text, "Done.");
    assert_eq!(model.requests().len(), 4, "three of the first person and Ann's");

    gates.iter().for_each(Gate::open);
    join_all(started.iter().map(|(session, turn)| api.answer(session, turn))).await;
    let mut said = said_in_requests(&model);
    said.remove(3);
    assert_eq!(said.len(), 12);
    for (n, text) in texts.iter().enumerate() {
        let at = said.iter().position(|said| said.contains(text.as_str())).expect("each request was made");
        assert!(at.abs_diff(n) < 3, "request {n} ran at place {at}: {said:#?}");
    }
    assert_eq!(model.refusals(), [""; 0]);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_of_all_people_together_are_bounded_and_go_on_when_one_ends() {
    let (world, model) = (World::start().await, ScriptedModel::start().await);
    let gates: Vec<Gate> = (0..4).map(|_| model.hold_next()).collect();
    let settings =
        Settings::new(&world).with_model(&model.base_url()).with("PHOTOTHREAD_LIMITS__TURNS_AT_ONCE", "2");
    let bot = BotUnderTest::start(&settings).await;
    let people: Vec<_> = (0..4).map(|n| world.private_chat(user(2000 + n, "Person"))).collect();
    for person in &people {
        person.says("hello").await;
    }
    let store = settings.store().await;
    let all_filed = async {
        while store.count_open_turns().await.unwrap() < 4 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, all_filed).await.expect("four turns");
    model.wait_for_requests(2).await;
    for (ended, gate) in gates.iter().enumerate() {
        let started = (ended + 2).min(4);
        model.wait_for_requests(started).await;
        assert_eq!(model.requests().len(), started, "two run, the others wait");
        gate.open();
    }
    for person in &people {
        assert_eq!(person.next_message().await.text, "Done.");
    }
    store.close().await;
    bot.stop().await;
}
