//! Messages over HTTP: text, files, earlier uploads, and replies to one photo.

use super::{Api, part, problem, text};
use crate::harness::{jpeg, png};
use image::GenericImageView as _;
use reqwest::{Method, StatusCode, multipart::Form};
use serde_json::{Value, json};

async fn size(api: &Api, attachment: &Value) -> (u32, u32) {
    let bytes = api.get(&text(&attachment["url"])).await.bytes().await.unwrap();
    image::load_from_memory(&bytes).unwrap().dimensions()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_is_edited_and_the_history_has_the_tool_calls() {
    let api = Api::open().await;
    let session = api.begin().await;
    let answer = api
        .asks(&session, Form::new().text("content", "rotate left").part("files", part("a.jpg", jpeg(64, 48))))
        .await;
    assert_eq!(size(&api, &answer["attachments"][0]).await, (48, 64));

    let history = api.history(&session).await;
    let roles: Vec<String> = history.iter().map(|entry| text(&entry["role"])).collect();
    assert_eq!(roles, ["user", "tool_call", "tool", "assistant"]);
    let [_, call, result, end] = &history[..] else { panic!("{history:#?}") };
    let content: Value = serde_json::from_str(&text(&call["content"])).unwrap();
    assert_eq!((&content["name"], &call["tool_name"]), (&json!("rotate_image"), &json!("rotate_image")));
    assert!(content["arguments"]["images"].is_array(), "{content}");
    assert_eq!(call["tool_call_id"], result["tool_call_id"], "ids pair up");
    assert!(result["durationMs"].is_u64(), "{result}");
    assert_eq!(result["attachments"], end["attachments"]);
    assert!(history[1..].iter().all(|entry| entry["turnId"] == end["turnId"]));
    assert_eq!(end["agent_id"], "photothread");

    let plain = api.read(&format!("/sessions/{session}/history")).await;
    let roles: Vec<String> = plain["history"].as_array().unwrap().iter().map(|e| text(&e["role"])).collect();
    assert_eq!((roles, plain["messageCount"].as_i64()), (vec!["user".into(), "assistant".into()], Some(2)));
    assert_eq!(plain["threadId"], json!(session));
    let newest = api.read(&format!("/sessions/{session}/history?limit=1")).await;
    assert_eq!(
        (&newest["history"][0]["role"], newest["messageCount"].as_i64()),
        (&json!("assistant"), Some(2))
    );
    let before = newest["nextBefore"].as_i64().unwrap();
    let older = api.read(&format!("/sessions/{session}/history?limit=5&before={before}")).await;
    assert_eq!((older["history"].as_array().unwrap().len(), &older["nextBefore"]), (1, &Value::Null));
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_album_is_one_message_and_a_reply_selects_one_photo() {
    let api = Api::open().await;
    let session = api.begin().await;
    let album = Form::new()
        .text("content", "make them black and white")
        .part("files", part("a.jpg", jpeg(40, 30)))
        .part("files", part("b.png", png(50, 30)));
    let answer = api.asks(&session, album).await;
    let pictures = answer["attachments"].as_array().unwrap();
    assert_eq!(
        (pictures[0]["width"].as_i64(), pictures[1]["width"].as_i64()),
        (Some(40), Some(50)),
        "in order"
    );
    let reply = json!({
        "content": "rotate left",
        "reply_to": answer["internalId"],
        "reply_attachment": pictures[1]["attachmentId"],
    });
    let sent = api.says(&session, &reply).await;
    let rotated = api.answer(&session, &sent["turnId"]).await;
    let made = rotated["attachments"].as_array().unwrap();
    assert_eq!((made.len(), size(&api, &made[0]).await), (1, (30, 50)), "only the second");
    let said =
        api.history(&session).await.into_iter().find(|e| e["internalId"] == sent["messages"][0]).unwrap();
    assert_eq!(said["replyTo"]["attachmentId"], pictures[1]["attachmentId"]);
    assert_eq!(api.read(&format!("/sessions/{session}")).await["session"]["messageCount"], 4);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn uploaded_files_are_attached_and_files_of_other_sessions_are_copied() {
    let api = Api::open().await;
    let (one, two) = (api.begin().await, api.begin().await);
    let upload = api
        .ask(Method::POST, "/attachments")
        .multipart(Form::new().part("file", part("a.jpg", jpeg(64, 48))));
    let upload: Value = upload.send().await.unwrap().json().await.unwrap();
    let id = upload["attachment"]["attachmentId"].clone();
    let sent = api.says(&one, &json!({ "content": "rotate left", "attachment_ids": [id] })).await;
    let answer = api.answer(&one, &sent["turnId"]).await;
    assert_eq!(size(&api, &answer["attachments"][0]).await, (48, 64));
    assert_eq!(api.history(&one).await[0]["attachments"][0]["attachmentId"], id, "the very file");

    let sent = api.says(&two, &json!({ "content": "crop to a square", "attachment_ids": [id, id] })).await;
    let answer = api.answer(&two, &sent["turnId"]).await;
    assert_eq!(size(&api, &answer["attachments"][0]).await, (48, 48));
    let copy = api.history(&two).await[0]["attachments"][0].clone();
    assert_ne!(copy["attachmentId"], id);
    let deleted = api.ask(Method::DELETE, &format!("/sessions/{one}")).send().await.unwrap();
    assert_eq!(deleted.status(), StatusCode::OK);
    assert_eq!(size(&api, &copy).await, (64, 48), "the other session keeps its own");
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_messages_are_refused_and_not_stored() {
    let api = Api::open().await;
    let (session, other) = (api.begin().await, api.begin().await);
    let elsewhere = api.asks(&other, Form::new().text("content", "hello")).await["internalId"].clone();
    let nothing = uuid::Uuid::new_v4();
    for message in [
        json!({ "content": "  " }),
        json!({ "content": "hi", "reply_to": elsewhere }),
        json!({ "content": "hi", "reply_to": 999_999 }),
        json!({ "content": "hi", "reply_attachment": nothing }),
        json!({ "content": "hi", "attachment_ids": [nothing] }),
        json!({ "content": "x".repeat(20_001) }),
        json!({ "content": "hi", "attachment_ids": ["x"] }),
        json!({ "content": 7 }),
        json!({ "words": "hi" }),
    ] {
        let answer = api.ask(Method::POST, &format!("/sessions/{session}/messages")).json(&message);
        problem(answer.send().await.unwrap(), StatusCode::UNPROCESSABLE_ENTITY).await;
    }
    assert_eq!(api.history(&session).await, Vec::<Value>::new());

    // A refused file becomes a note; the message is stored anyway.
    let form = Form::new()
        .text("content", "rotate left")
        .part("files", part("good.jpg", jpeg(64, 48)))
        .part("files", part("empty.jpg", Vec::new()));
    let answer = api.asks(&session, form).await;
    assert!(text(&answer["content"]).contains("empty.jpg is empty"), "{answer}");
    assert_eq!(answer["attachments"].as_array().unwrap().len(), 1);
    api.bot.stop().await;
}
