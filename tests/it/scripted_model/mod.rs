//! The scripted model follows its script and refuses requests that OpenAI refuses. The files below test it behind the
//! other APIs.

mod anthropic;
mod gemini;

use crate::harness::{Answer, Said, ScriptedModel, attachment_ids};
use serde_json::{Value, json};

async fn ask(model: &ScriptedModel, request: Value) -> (u16, String) {
    rustls::crypto::ring::default_provider().install_default().ok();
    let url = format!("{}/chat/completions", model.base_url());
    let sent = reqwest::Client::new().post(url).bearer_auth("key").json(&request).send().await.unwrap();
    (sent.status().as_u16(), sent.text().await.unwrap())
}

fn request(messages: Value) -> Value {
    json!({ "model": "scripted", "messages": messages })
}

fn question(text: &str) -> Value {
    request(json!([{ "role": "user", "content": text }]))
}

async fn message(model: &ScriptedModel, request: Value) -> Value {
    let (status, body) = ask(model, request).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str::<Value>(&body).unwrap()["choices"][0]["message"].take()
}

#[tokio::test]
async fn the_script_is_followed_in_order_and_then_the_default() {
    let model = ScriptedModel::start().await;
    model.next_calls([("rotate_image", json!({ "degrees": 90 }))]);
    model.next_reply("Turned.");
    model.next_raw(429, r#"{"error":{"message":"slow down"}}"#);
    model.default_reply("Anything else?");
    let calls = message(&model, question("turn it")).await;
    assert_eq!(calls["tool_calls"][0]["function"]["arguments"], r#"{"degrees":90}"#);
    assert_eq!(message(&model, question("and?")).await["content"], "Turned.");
    assert_eq!(ask(&model, question("and?")).await.0, 429);
    assert_eq!(message(&model, question("and?")).await["content"], "Anything else?");
    assert_eq!(model.requests().len(), 4);
    assert_eq!(model.requests()[0], question("turn it"));
}

#[tokio::test]
async fn a_call_can_name_the_attachments_of_its_request() {
    let model = ScriptedModel::start().await;
    let id = "0191f3a0-0000-7000-8000-000000000001";
    let asked = question(&format!("two\n[Attachment ID: {id}]\n[Attachment ID: {id}]"));
    assert_eq!(attachment_ids(&asked), [id]);
    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    let said = message(&model, asked).await;
    let arguments = said["tool_calls"][0]["function"]["arguments"].as_str().unwrap().to_owned();
    assert_eq!(serde_json::from_str::<Value>(&arguments).unwrap(), json!({ "degrees": 90, "images": [id] }));
}

#[tokio::test]
async fn an_answer_can_be_held_or_dropped() {
    let model = ScriptedModel::start().await;
    let gate = model.hold_next();
    let (said, ()) = tokio::join!(message(&model, question("hello")), async {
        gate.reached().await;
        model.wait_for_requests(1).await;
        gate.open();
    });
    assert_eq!(said["content"], "Done.");
    model.next(Answer::Nothing);
    let url = format!("{}/chat/completions", model.base_url());
    let cut = reqwest::Client::new().post(url).bearer_auth("key").json(&question("hello")).send().await;
    assert!(cut.is_err());
}

#[tokio::test]
async fn a_streamed_answer_adds_up_to_the_same_answer() {
    let model = ScriptedModel::start().await;
    model.next_reply("Turned to the left.");
    let mut asked = question("turn it");
    asked["stream"] = true.into();
    asked["stream_options"] = json!({ "include_usage": true });
    let (_, body) = ask(&model, asked).await;
    let events: Vec<&str> = body.lines().filter_map(|line| line.strip_prefix("data: ")).collect();
    assert_eq!(events.last(), Some(&"[DONE]"));
    let chunks: Vec<Value> = events.iter().filter_map(|event| serde_json::from_str(event).ok()).collect();
    let text: String = chunks.iter().filter_map(|c| c["choices"][0]["delta"]["content"].as_str()).collect();
    assert_eq!(text, "Turned to the left.");
    assert!(chunks.iter().any(|chunk| chunk["choices"][0]["finish_reason"] == "stop"));
    assert_eq!(chunks.last().unwrap()["usage"]["total_tokens"], 120);
}

#[tokio::test]
async fn requests_that_openai_refuses_are_refused_without_using_the_script() {
    let model = ScriptedModel::start().await;
    model.next_reply("still here");
    let user = json!({ "role": "user", "content": "hi" });
    let call =
        |id: &str| json!({ "id": id, "type": "function", "function": { "name": "look", "arguments": "{}" } });
    let calls = json!({ "role": "assistant", "content": null, "tool_calls": [call("a"), call("b")] });
    let result = |id: &str| json!({ "role": "tool", "tool_call_id": id, "content": "ok" });
    let image = json!([{ "type": "image_url", "image_url": { "url": "data:image/jpeg;base64,AA==" } }]);
    let marker = json!({ "type": "text", "text": "[Attachment ID: 0191f3a0-0000-7000-8000-000000000001]" });
    let pictures = json!({ "role": "user", "content": [marker, image[0]] });
    let cases = [
        (json!([]), "empty array"),
        (json!([user, result("a")]), "must be a response to a preceeding message with 'tool_calls'"),
        (json!([user, calls, result("a"), user]), "did not have response messages: b"),
        (json!([user, calls, result("a")]), "did not have response messages: b"),
        (json!([user, calls, result("a"), result("a")]), "must be a response to a preceeding message"),
        (json!([{ "role": "user", "content": null }]), "expected a string"),
        (json!([user, { "role": "assistant", "content": image.clone() }]), "not usable here"),
        (json!([{ "role": "robot", "content": "hi" }]), "Invalid value: 'robot'"),
        (json!([user, calls, result("a"), result("b"), pictures, pictures]), "belong in one message"),
    ];
    for (messages, why) in cases {
        let (status, body) = ask(&model, request(messages)).await;
        let error = serde_json::from_str::<Value>(&body).unwrap()["error"].take();
        assert_eq!((status, error["type"].as_str()), (400, Some("invalid_request_error")));
        assert!(error["message"].as_str().unwrap().contains(why), "{error}");
    }
    let mut unasked = question("hi");
    unasked["stream_options"] = json!({ "include_usage": true });
    assert!(ask(&model, unasked).await.1.contains("only allowed when 'stream' is enabled"));
    assert_eq!(model.refusals().len(), 10);
    let good = json!([user, calls, result("b"), result("a"), pictures, { "role": "user", "content": image }]);
    assert_eq!(message(&model, request(good)).await["content"], "still here");
}

#[tokio::test]
async fn a_request_without_a_key_or_with_another_vendors_key_is_refused() {
    let model = ScriptedModel::start().await;
    rustls::crypto::ring::default_provider().install_default().ok();
    let post = || reqwest::Client::new().post(format!("{}/chat/completions", model.base_url()));
    assert_eq!(post().json(&question("hi")).send().await.unwrap().status(), 401);
    let foreign = post().bearer_auth("key").header("x-api-key", "other").json(&question("hi"));
    assert_eq!(foreign.send().await.unwrap().status(), 400);
    assert_eq!(model.refusals().len(), 2);
}

#[tokio::test]
async fn text_thinking_and_calls_come_in_one_answer() {
    let model = ScriptedModel::start().await;
    let all = Said::text("One moment.").and_call("look", "{\"oops").after_thinking("hm", "c2lnbmVk");
    model.next(Answer::All(all));
    let said = message(&model, question("turn it")).await;
    assert_eq!(
        (&said["content"], &said["reasoning_details"][0]["signature"]),
        (&json!("One moment."), &json!("c2lnbmVk"))
    );
    assert_eq!(said["tool_calls"][0]["function"]["arguments"], "{\"oops");
}

#[tokio::test]
async fn a_half_answer_is_cut_after_its_text() {
    rustls::crypto::ring::default_provider().install_default().ok();
    let model = ScriptedModel::start().await;
    model.always(Answer::Half("I am going to ".into()));
    for stream in [true, false] {
        let mut asked = question("hello");
        asked["stream"] = stream.into();
        let url = format!("{}/chat/completions", model.base_url());
        let mut response =
            reqwest::Client::new().post(url).bearer_auth("key").json(&asked).send().await.unwrap();
        let mut read = Vec::new();
        let broken = loop {
            match response.chunk().await {
                Ok(Some(chunk)) => read.extend_from_slice(&chunk),
                Ok(None) => break false,
                Err(_) => break true,
            }
        };
        let read = String::from_utf8(read).unwrap();
        assert!(broken, "{read}");
        match stream {
            true => assert!(read.contains("going ") && !read.contains("\"stop\""), "{read}"),
            false => assert!(serde_json::from_str::<Value>(&read).is_err(), "{read}"),
        }
    }
}
