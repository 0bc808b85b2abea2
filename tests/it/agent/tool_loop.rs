//! The loop of model and tools: every call gets a result, and every turn ends.

use super::{Stage, said_by, tools};
use crate::harness::{Answer, attachment_ids, jpeg, jpeg_of, user};
use serde_json::{Value, json};

const TWO_STEPS: (&str, &str) = ("PHOTOTHREAD_AGENTS__PHOTOTHREAD__MAX_STEPS", "2");

/// An answer with one call, its arguments exactly as given.
fn raw_call(name: &str, arguments: &str) -> Answer {
    let function = json!({ "name": name, "arguments": arguments });
    let call = json!({ "id": "call_raw", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let body = json!({ "id": "r", "choices": [{ "message": message, "finish_reason": "tool_calls" }] });
    Answer::Raw(200, body.to_string())
}

fn last_result(request: &Value) -> String {
    said_by("tool", request).pop().expect("a tool result")
}

#[tokio::test(flavor = "multi_thread")]
async fn after_the_last_step_one_request_without_tools_follows() {
    let stage = Stage::set_with(&[TWO_STEPS]).await;
    stage.model.next_calls([("list_attachments", json!({}))]);
    stage.model.next_calls([("list_attachments", json!({}))]);
    stage.model.next_reply("That is all there is.");
    stage.ann.says("look again and again").await;
    assert_eq!(stage.ann.next_message().await.text, "That is all there is.");
    let requests = stage.model.requests();
    let offered: Vec<bool> = requests.iter().map(|request| !tools(request).is_empty()).collect();
    assert_eq!(offered, [true, true, false]);
    assert_eq!(said_by("tool", &requests[2]).len(), 2);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_keeps_calling_tools_still_ends_with_an_answer() {
    let stage = Stage::set_with(&[TWO_STEPS]).await;
    for _ in 0..3 {
        stage.model.next_calls([("list_attachments", json!({}))]);
    }
    stage.ann.says("go on forever").await;
    assert!(!stage.ann.next_message().await.text.is_empty());
    assert_eq!(stage.model.requests().len(), 3);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_calls_of_a_step_get_their_results_in_order() {
    let stage = Stage::set().await;
    stage.model.next_with(|request| {
        let images = attachment_ids(request);
        Answer::Calls(vec![
            ("rotate_image".into(), json!({ "images": images, "degrees": 90 })),
            ("no_such_tool".into(), json!({})),
            ("get_attachment_info".into(), json!({ "attachment_id": images[0] })),
        ])
    });
    stage.ann.sends_photo(jpeg(64, 48), "turn it and tell me about it").await;
    stage.ann.next_message().await;
    let request = stage.last_request();
    let results: Vec<_> =
        request["messages"].as_array().unwrap().iter().filter(|m| m["role"] == "tool").collect();
    let ids: Vec<_> = results.iter().filter_map(|m| m["tool_call_id"].as_str()).collect();
    assert_eq!(ids, ["call_1", "call_2", "call_3"]);
    let texts = said_by("tool", &request);
    assert!(texts[0].starts_with("Rotated 1 image"), "{}", texts[0]);
    assert!(texts[1].starts_with("Error: There is no tool \"no_such_tool\"."), "{}", texts[1]);
    assert!(texts[2].contains("dimensions: 64×48"), "{}", texts[2]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn mistakes_of_the_model_become_results_it_can_correct() {
    let stage = Stage::set().await;
    stage.model.next(raw_call("rotat_image", "{}"));
    stage.model.next(raw_call("rotate_image", "{\"degrees\": 90"));
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": "a bit" }));
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.model.next_reply("Turned.");
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let answer = stage.ann.next_message().await;
    assert_eq!(answer.caption, "Turned.");
    assert!(answer.photo.is_some());
    let results: Vec<String> = stage.model.requests()[1..].iter().map(last_result).collect();
    assert!(results[0].contains("Did you mean rotate_image?"), "{}", results[0]);
    assert!(results[1].starts_with("Error: The arguments are not JSON"), "{}", results[1]);
    assert!(results[2].starts_with("Error: ") && results[2].contains("degrees"), "{}", results[2]);
    assert!(results[3].starts_with("Rotated 1 image"), "{}", results[3]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_times_out_is_stopped_and_the_turn_continues() {
    let stage = Stage::set_with(&[("PHOTOTHREAD_LIMITS__TOOL_TIMEOUT_SECONDS", "0.1")]).await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 7 }));
    stage.model.next_reply("It is too large for me.");
    // Decoding and rotating this many pixels takes much longer.
    stage.ann.sends_document("poster.jpg", jpeg_of(3000, 3000, [90, 90, 200]), "turn it a little").await;
    assert_eq!(stage.ann.next_message().await.text, "It is too large for me.");
    let result = last_result(&stage.last_request());
    assert!(result.starts_with("Error: rotate_image took longer than 100ms"), "{result}");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_attachment_id_of_another_chat_is_unknown() {
    let stage = Stage::set().await;
    stage.ann.sends_photo(jpeg(64, 48), "secret").await;
    stage.ann.next_message().await;
    let secret = attachment_ids(&stage.last_request()).remove(0);
    let bob = stage.world.private_chat(user(1002, "Bob"));
    let calls = [
        ("rotate_image", json!({ "images": [secret], "degrees": 90 })),
        ("attach_to_response", json!({ "attachment_ids": [secret] })),
        ("get_attachment_info", json!({ "attachment_id": secret })),
        ("read_text_attachment", json!({ "attachment_id": secret })),
        ("undo_edit", json!({ "images": [secret] })),
    ];
    stage.model.next_calls(calls);
    stage.model.next_reply("I don't have that.");
    bob.says(&format!("send me [Attachment ID: {secret}]")).await;
    let answer = bob.next_message().await;
    assert_eq!((answer.text.as_str(), answer.photo), ("I don't have that.", None));
    for result in said_by("tool", &stage.last_request()) {
        assert!(result.starts_with("Error: ") && result.contains("no attachment"), "{result}");
        assert!(!result.contains("image.jpg"), "{result}");
    }
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_sent_even_if_the_model_says_nothing() {
    let stage = Stage::set().await;
    stage.model.next_call_on_all("flip_image", json!({ "direction": "horizontal" }));
    stage.model.next_reply("");
    let photo = stage.ann.sends_photo(jpeg(64, 48), "flip it").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.photo.is_some());
    assert_eq!((answer.caption.as_str(), answer.reply_to), ("", Some(photo.message_id)));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_still_sends_a_sentence() {
    let stage = Stage::set().await;
    stage.model.next_reply("  \n");
    stage.ann.says("hm").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.text.contains("say it another way"), "{}", answer.text);
    stage.clear().await;
}
