//! Errors of the model's service: a sentence without details in the chat, the details in the history, and the next message
//! is answered again.

use super::{Stage, said_by};
use crate::harness::{Answer, jpeg};
use photothread::domain::{Message, Role, TurnState};
use serde_json::json;

const SECRET: &str = "internal detail 4711";

fn fault(code: &str) -> String {
    json!({ "error": { "message": format!("{SECRET}, key sk-test-key"), "type": "error", "code": code } })
        .to_string()
}

/// After these answers Ann reads one sentence without details, and her next message is answered.
async fn told_after(trouble: impl IntoIterator<Item = Answer>) -> (String, Message) {
    let stage = Stage::set().await;
    for answer in trouble {
        stage.model.next(answer);
    }
    let request = stage.ann.says("hello").await;
    let told = stage.ann.next_message().await;
    assert_eq!(told.reply_to, Some(request.message_id));
    assert!(!told.text.contains("4711") && !told.text.contains("sk-test"), "{}", told.text);
    assert!(!told.text.contains("HTTP") && !told.text.contains("127.0.0.1"), "{}", told.text);

    let row = stage.rows().await.pop().expect("a row for the failure");
    assert_eq!((row.role, row.content.as_str()), (Role::Assistant, told.text.as_str()));
    assert!(!row.error.as_deref().unwrap_or_default().contains("sk-test-key"), "{:?}", row.error);
    let turn = stage.settings.store().await.turn(row.turn_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(turn.state, TurnState::Failed);

    stage.model.next_reply("Now it works.");
    stage.ann.replies(&told, "try again").await;
    assert_eq!(stage.ann.next_message().await.text, "Now it works.");
    let next = stage.last_request();
    let seen = said_by("user", &next).pop().unwrap();
    assert!(seen.starts_with("In reply to your message of ") && seen.contains(&told.text), "{seen}");
    stage.clear().await;
    (told.text, row)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_is_retried_after_the_given_time() {
    let stage = Stage::set().await;
    stage.model.next(Answer::Busy { retry_after_ms: 20 });
    stage.model.next_reply("Here I am.");
    stage.ann.says("hello").await;
    assert_eq!(stage.ann.next_message().await.text, "Here I am.");
    assert_eq!(stage.model.requests().len(), 2);
    assert!(stage.rows().await.iter().all(|row| row.error.is_none()));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_with_a_long_wait_is_reported_with_the_time() {
    let (told, row) = told_after([Answer::Busy { retry_after_ms: 60_000 }]).await;
    assert_eq!(told, "The model is rate-limited; try again in about 60 seconds.");
    assert_eq!(row.error.as_deref(), Some("rate limited or overloaded"));
}

#[tokio::test(flavor = "multi_thread")]
async fn server_errors_are_retried_and_then_reported() {
    let broken = || Answer::Raw(500, fault("server_error"));
    let (told, row) = told_after([broken(), broken(), broken()]).await;
    assert_eq!(told, "I can't reach the model right now. Please try again in a minute.");
    let error = row.body.error.unwrap();
    assert!(error.contains("HTTP 500") && error.contains(SECRET), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_cut_connection_is_retried_without_notice() {
    let stage = Stage::set().await;
    stage.model.next(Answer::Nothing);
    stage.model.next_reply("Here I am.");
    stage.ann.says("hello").await;
    assert_eq!(stage.ann.next_message().await.text, "Here I am.");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejected_key_is_reported_without_the_key() {
    let (told, row) = told_after([Answer::Raw(401, fault("invalid_api_key"))]).await;
    assert!(told.contains("doesn't accept the configured key"), "{told}");
    assert!(row.body.error.unwrap().contains("HTTP 401"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_html_page_instead_of_an_answer_is_reported() {
    let page = format!("<html><body>{SECRET}</body></html>");
    let (told, row) = told_after([Answer::Raw(200, page)]).await;
    assert_eq!(told, "The model gave an answer I couldn't use. Please try again.");
    assert!(row.body.error.unwrap().contains("not JSON"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_reported_as_one() {
    let message = json!({ "role": "assistant", "content": null, "refusal": SECRET });
    let body = json!({ "id": "r", "choices": [{ "message": message, "finish_reason": "stop" }] });
    let (told, row) = told_after([Answer::Raw(200, body.to_string())]).await;
    assert!(told.contains("declined"), "{told}");
    assert_eq!(row.error.as_deref(), Some("the model declined"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_reported_with_a_way_out() {
    let (told, _) = told_after([Answer::Raw(400, fault("context_length_exceeded"))]).await;
    assert!(told.contains("too long") && told.contains("/new"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn outputs_made_before_an_error_are_still_sent() {
    let stage = Stage::set().await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.model.next_raw(401, &fault("invalid_api_key"));
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.photo.is_some() && answer.caption.contains("key"), "{answer:?}");
    stage.clear().await;
}
