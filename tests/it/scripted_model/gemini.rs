//! The scripted model behind Gemini's generateContent API.

use crate::harness::{Answer, Said, ScriptedModel};
use photothread::providers::Vendor;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

fn post(model: &ScriptedModel, call: &str) -> RequestBuilder {
    rustls::crypto::ring::default_provider().install_default().ok();
    let url = format!("{}/v1beta/models/{call}", model.base_url_of(Vendor::Gemini));
    reqwest::Client::new()
        .post(url)
        .json(&json!({ "contents": [{ "role": "user", "parts": [{ "text": "hi" }] }] }))
}

async fn ask(model: &ScriptedModel, call: &str) -> (u16, String) {
    let sent = post(model, call).header("x-goog-api-key", "key").send().await.unwrap();
    (sent.status().as_u16(), sent.text().await.unwrap())
}

fn everything() -> Said {
    Said::text("One moment.")
        .and_call("rotate_image", "{\"degrees\":90}")
        .and_call("look", "{}")
        .after_thinking("They want it turned.", "c2lnbmVk")
}

fn parts(response: &Value) -> &[Value] {
    response["candidates"][0]["content"]["parts"].as_array().unwrap()
}

#[tokio::test]
async fn an_answer_has_a_part_for_thinking_text_and_each_call() {
    let model = ScriptedModel::start().await;
    model.always(Answer::All(everything()));
    let (status, body) = ask(&model, "gemini-2.5-flash:generateContent").await;
    assert_eq!(status, 200, "{body}");
    let response: Value = serde_json::from_str(&body).unwrap();
    let expected = json!([
        { "text": "They want it turned.", "thought": true },
        { "text": "One moment." },
        { "functionCall": { "name": "rotate_image", "args": { "degrees": 90 } }, "thoughtSignature": "c2lnbmVk" },
        { "functionCall": { "name": "look", "args": {} } },
    ]);
    assert_eq!(json!(parts(&response)), expected);
    assert_eq!(response["candidates"][0]["finishReason"], "STOP");
    assert_eq!(
        (&response["usageMetadata"]["totalTokenCount"], &response["modelVersion"]),
        (&json!(120), &json!("gemini-2.5-flash"))
    );
    let (_, body) = ask(&model, "gemini-3.8-flash:generateContent").await;
    let response: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(parts(&response)[2]["functionCall"]["id"], "fc3", "newer models give their calls ids");
}

#[tokio::test]
async fn streamed_parts_are_the_same() {
    let model = ScriptedModel::start().await;
    model.always(Answer::All(everything()));
    let (_, body) = ask(&model, "gemini-2.5-flash:streamGenerateContent?alt=sse").await;
    let events = body.split_terminator("\r\n\r\n").map(|event| event.strip_prefix("data: ").unwrap());
    let chunks: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
    let said: Vec<&Value> = chunks.iter().flat_map(parts).collect();
    let words: Vec<&str> = said.iter().filter_map(|part| part["text"].as_str()).collect();
    assert_eq!(words, ["They want it turned.", "One ", "moment.", ""]);
    assert_eq!(said.iter().filter(|part| part["functionCall"].is_object()).count(), 2);
    let finished: Vec<bool> =
        chunks.iter().map(|chunk| chunk["candidates"][0]["finishReason"] == "STOP").collect();
    assert_eq!(
        finished.iter().position(|finished| *finished),
        Some(chunks.len() - 1),
        "only the last is the end"
    );
    let (_, array) = ask(&model, "gemini-2.5-flash:streamGenerateContent").await;
    assert_eq!(
        serde_json::from_str::<Vec<Value>>(&array).unwrap().len(),
        chunks.len(),
        "without alt=sse, a list"
    );
}

#[tokio::test]
async fn errors_have_the_format_of_google() {
    let model = ScriptedModel::start().await;
    let keyless = post(&model, "gemini-2.5-flash:generateContent").send().await.unwrap();
    assert_eq!(keyless.status(), 403);
    let (status, body) = ask(&model, "gemini-2.5-flash:explainContent").await;
    assert!(status == 404 && body.contains("NOT_FOUND"), "{body}");
    model.next(Answer::Busy { retry_after_ms: 1500 });
    let (status, body) = ask(&model, "gemini-2.5-flash:generateContent").await;
    let error = serde_json::from_str::<Value>(&body).unwrap()["error"].take();
    assert_eq!((status, &error["status"]), (429, &json!("RESOURCE_EXHAUSTED")));
    assert_eq!(error["details"][0]["retryDelay"], "1.5s");
    assert_eq!(model.refusals().len(), 1);
}
