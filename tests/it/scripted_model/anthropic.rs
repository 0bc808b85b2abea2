//! The scripted model behind Anthropic's Messages API.

use crate::harness::{Answer, Said, ScriptedModel};
use photothread::providers::Vendor;
use reqwest::RequestBuilder;
use serde_json::{Value, json};

fn post(model: &ScriptedModel) -> RequestBuilder {
    rustls::crypto::ring::default_provider().install_default().ok();
    reqwest::Client::new().post(format!("{}/v1/messages", model.base_url_of(Vendor::Anthropic)))
}

async fn ask(model: &ScriptedModel, request: &Value) -> (u16, String) {
    let post = post(model).header("x-api-key", "key").header("anthropic-version", "2023-06-01");
    let sent = post.json(request).send().await.unwrap();
    (sent.status().as_u16(), sent.text().await.unwrap())
}

fn question(stream: bool) -> Value {
    json!({ "model": "scripted", "max_tokens": 100, "stream": stream,
        "messages": [{ "role": "user", "content": [{ "type": "text", "text": "turn it" }] }] })
}

fn everything() -> Said {
    Said::text("One moment please.")
        .and_call("rotate_image", "{\"degrees\":90}")
        .and_call("look", "{}")
        .after_thinking("They want it turned.", "c2lnbmVk")
}

#[tokio::test]
async fn an_answer_has_a_block_for_thinking_text_and_each_call() {
    let model = ScriptedModel::start().await;
    model.next(Answer::All(everything()));
    let (status, body) = ask(&model, &question(false)).await;
    assert_eq!(status, 200, "{body}");
    let message: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(
        message["content"],
        json!([
            { "type": "thinking", "thinking": "They want it turned.", "signature": "c2lnbmVk" },
            { "type": "text", "text": "One moment please.", "citations": null },
            { "type": "tool_use", "id": "toolu_1", "name": "rotate_image", "input": { "degrees": 90 } },
            { "type": "tool_use", "id": "toolu_2", "name": "look", "input": {} },
        ])
    );
    assert_eq!(
        (&message["stop_reason"], &message["usage"]["output_tokens"]),
        (&json!("tool_use"), &json!(20))
    );
}

#[tokio::test]
async fn streamed_blocks_add_up_to_the_same_answer() {
    let model = ScriptedModel::start().await;
    model.next(Answer::All(everything()));
    let (_, body) = ask(&model, &question(true)).await;
    let mut kinds = Vec::new();
    let mut blocks: Vec<(Value, String)> = Vec::new();
    for event in body.split_terminator("\n\n") {
        let (kind, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(kind.strip_prefix("event: "), data["type"].as_str());
        let at = data["index"].as_u64().unwrap_or_default() as usize;
        match data["type"].as_str().unwrap() {
            "content_block_start" => blocks.push((data["content_block"].clone(), String::new())),
            "content_block_delta" => {
                let delta = data["delta"].as_object().unwrap();
                let added = delta.iter().find(|(name, _)| *name != "type").unwrap().1;
                blocks[at].1 += added.as_str().unwrap();
            }
            other => kinds.push(other.to_owned()),
        }
    }
    assert_eq!(kinds[..2], ["message_start", "ping"]);
    assert_eq!(kinds[kinds.len() - 2..], ["message_delta", "message_stop"]);
    let added: Vec<(&str, &str)> =
        blocks.iter().map(|(block, added)| (block["type"].as_str().unwrap(), added.as_str())).collect();
    assert_eq!(
        added,
        [
            ("thinking", "They want it turned.c2lnbmVk"),
            ("text", "One moment please."),
            ("tool_use", "{\"degrees\":90}"),
            ("tool_use", "{}"),
        ]
    );
    assert_eq!((&blocks[1].0["text"], &blocks[2].0["input"]), (&json!(""), &json!({})), "blocks begin empty");
}

#[tokio::test]
async fn errors_have_the_format_of_anthropic() {
    let model = ScriptedModel::start().await;
    let fault = |body: &str| serde_json::from_str::<Value>(body).unwrap()["error"]["type"].clone();
    let keyless =
        post(&model).header("anthropic-version", "2023-06-01").json(&question(false)).send().await.unwrap();
    assert_eq!(keyless.status(), 401);
    assert_eq!(fault(&keyless.text().await.unwrap()), "authentication_error");
    let versionless = post(&model).header("x-api-key", "key").json(&question(false)).send().await.unwrap();
    assert_eq!(versionless.status(), 400);
    assert_eq!(fault(&versionless.text().await.unwrap()), "invalid_request_error");
    let foreign = post(&model).bearer_auth("key").json(&question(false)).send().await.unwrap();
    assert_eq!(foreign.status(), 400);
    model.next(Answer::Busy { retry_after_ms: 500 });
    let busy = post(&model).header("x-api-key", "key").header("anthropic-version", "2023-06-01");
    let busy = busy.json(&question(true)).send().await.unwrap();
    assert_eq!((busy.status().as_u16(), busy.headers()["retry-after"].to_str().unwrap()), (429, "0.5"));
    assert_eq!(fault(&busy.text().await.unwrap()), "rate_limit_error");
    assert_eq!(model.refusals().len(), 3, "being busy is no refusal");
}
