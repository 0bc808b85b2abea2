//! Invalid imports are refused with index and field, and nothing is stored.

use super::*;
use crate::api::problem;

fn user(words: &str) -> Value {
    json!({ "role": "user", "content": words })
}

fn with(mut entry: Value, field: &str, value: Value) -> Value {
    entry[field] = value;
    entry
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_entries_are_refused_with_index_and_field() {
    let api = Api::open().await;
    let session = api.begin().await;
    api.asks(&session, photo("rotate left")).await;
    let before = (api.history(&session).await, etag(&api, &session).await);
    let nowhere = uuid::Uuid::new_v4().to_string();
    let answer = json!({ "role": "assistant", "content": "yes" });
    let [call, result] = called("c1", &json!({}), "done");
    let cases: Vec<(Value, usize, &str)> = vec![
        (json!([user("a"), 7]), 1, "entry"),
        (json!([user("a"), { "content": "x" }]), 1, "role"),
        (json!([with(user("a"), "role", json!("system"))]), 0, "role"),
        (json!([{ "role": "user" }]), 0, "content"),
        (json!([with(user("a"), "msg", json!("b"))]), 0, "msg"),
        (json!([{ "role": "user", "msg": 7 }]), 0, "msg"),
        (json!([user("a\u{0}b")]), 0, "content"),
        (json!([user(&"x".repeat(200_001))]), 0, "content"),
        (json!([user("a"), with(user("b"), "colour", json!("red"))]), 1, "colour"),
        (json!([with(user("a"), "agentId", json!("x"))]), 0, "agentId"),
        (json!([with(user("a"), "timestamp", json!("yesterday"))]), 0, "timestamp"),
        (json!([with(user("a"), "timestamp", json!(7))]), 0, "timestamp"),
        (json!([with(user("a"), "internalId", json!("7"))]), 0, "internalId"),
        (
            json!([with(user("a"), "internalId", json!(1)), with(user("b"), "internalId", json!(1))]),
            1,
            "internalId",
        ),
        (json!([with(user("a"), "turnId", json!(nowhere))]), 0, "turnId"),
        (json!([with(answer.clone(), "turnId", json!("x"))]), 0, "turnId"),
        (json!([with(user("a"), "tool_call_id", json!("x"))]), 0, "tool_call_id"),
        (json!([with(user("a"), "failed", json!(true))]), 0, "failed"),
        (json!([with(user("a"), "usage", json!({ "model": "m" }))]), 0, "usage"),
        (json!([with(answer.clone(), "usage", json!({ "tokens": 1, "model": "m" }))]), 0, "usage.tokens"),
        (json!([with(answer.clone(), "usage", json!({ "inputTokens": 1 }))]), 0, "usage.model"),
        (json!([with(answer.clone(), "durationMs", json!(-1))]), 0, "durationMs"),
        (json!([with(answer.clone(), "note", json!("x"))]), 0, "note"),
        (json!([with(user("a"), "tags", json!(["a", " : "]))]), 0, "tags[1]"),
        (json!([user("a"), with(user("b"), "refs", json!([{ "url": "javascript:1" }]))]), 1, "refs[0].url"),
        (json!([with(user("a"), "refs", json!([{ "url": format!("turn:{nowhere}") }]))]), 0, "refs[0].url"),
        (
            json!([with(user("a"), "refs", json!([{ "url": format!("attachment:{nowhere}") }]))]),
            0,
            "refs[0].url",
        ),
        (json!([with(user("a"), "attachments", json!([nowhere]))]), 0, "attachments[0]"),
        (json!([with(user("a"), "attachments", json!([{ "attachmentId": nowhere }]))]), 0, "attachments[0]"),
        (json!([with(user("a"), "attachments", json!([{ "id": nowhere }]))]), 0, "attachments[0].id"),
        (json!([with(user("a"), "attachments", json!("x"))]), 0, "attachments"),
        (json!([with(user("a"), "replyTo", json!({ "internalId": 5 }))]), 0, "replyTo.internalId"),
        (json!([with(user("a"), "replyTo", json!({ "message": 5 }))]), 0, "replyTo.message"),
        (json!([with(user("a"), "replyTo", json!({ "attachmentId": nowhere }))]), 0, "replyTo.attachmentId"),
        (json!([user("a"), result]), 1, "tool_call_id"),
        (json!([user("a"), call, result, result]), 3, "tool_call_id"),
        (json!([user("a"), call, user("b"), result]), 3, "tool_call_id"),
        (json!([user("a"), call, call]), 2, "tool_call_id"),
        (json!([call, with(result.clone(), "tool_name", json!("crop_image"))]), 1, "tool_name"),
        (json!([with(call.clone(), "tool_name", json!("crop_image"))]), 0, "tool_name"),
        (json!([with(call.clone(), "tool_call_id", json!(""))]), 0, "tool_call_id"),
        (json!([with(call.clone(), "content", json!("crop it"))]), 0, "content"),
        (json!([with(call.clone(), "content", json!("{\"name\":\"x\"}"))]), 0, "content.arguments"),
        (
            json!([with(call.clone(), "content", json!("{\"name\":\"x\",\"arguments\":{},\"a\":1}"))]),
            0,
            "content.a",
        ),
    ];
    for (body, index, field) in cases {
        let refused = wrongs(puts(&api, &session, &body).await).await;
        assert_eq!(refused[0], (Some(index as u64), field.to_owned()), "{body}");
    }
    for (body, field) in [
        (json!(7), "history"),
        (json!({}), "history"),
        (json!({ "history": {} }), "history"),
        (json!({ "history": [], "colour": "red" }), "colour"),
        (json!({ "history": [], "version": 2 }), "version"),
        (json!({ "history": [], "nextBefore": 5 }), "nextBefore"),
        (json!(vec![user("a"); 10_001]), "history"),
    ] {
        assert_eq!(wrongs(puts(&api, &session, &body).await).await, [(None, field.to_owned())]);
    }
    let many = json!(vec![json!({ "role": "user" }); 500]);
    assert_eq!(wrongs(puts(&api, &session, &many).await).await.len(), 100, "enough is told");
    let gone = format!("/sessions/{}/history", uuid::Uuid::new_v4());
    problem(send(&api, Method::PUT, &gone, &before.1, &json!([])).await, StatusCode::NOT_FOUND).await;
    assert_eq!((api.history(&session).await, etag(&api, &session).await), before);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_of_one_step_become_one_row() {
    let api = Api::open().await;
    let session = api.begin().await;
    let say = |call: Value, said: &str| {
        let mut content: Value = serde_json::from_str(&text(&call["content"])).unwrap();
        content["said"] = json!(said);
        with(call, "content", json!(content.to_string()))
    };
    let ([a, a_done], [b, b_done]) =
        (called("a", &json!({}), "one"), called("b", &json!("not {json"), "two"));
    let history = replaces(&api, &session, &json!([user("go"), say(a, "Both."), b, b_done, a_done])).await;
    assert_eq!(roles(&history), ["user", "tool_call", "tool_call", "tool", "tool"]);
    assert_eq!(history[1]["internalId"], history[2]["internalId"], "one step");
    assert!(
        text(&history[1]["content"]).contains("Both.") && !text(&history[2]["content"]).contains("Both.")
    );
    assert_eq!(
        serde_json::from_str::<Value>(&text(&history[2]["content"])).unwrap()["arguments"],
        "not {json"
    );
    assert_eq!((&history[3]["tool_name"], &history[3]["tool_call_id"]), (&json!("image_info"), &json!("b")));

    let mut other = json!(history);
    other[2]["tags"] = json!(["only the second"]);
    assert_eq!(wrongs(puts(&api, &session, &other).await).await, [(Some(2), "tags".to_owned())]);
    for entry in [1, 2] {
        other[entry]["tags"] = json!(["both"]);
    }
    assert_eq!(replaces(&api, &session, &other).await[2]["tags"], json!(["both"]));
    api.bot.stop().await;
}
