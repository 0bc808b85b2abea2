//! Everyday conversations with every vendor's API.

use super::{Stage, VendorCase, with_every_model};
use crate::harness::{
    Answer, Said, Settings, jpeg, jpeg_of,
    reading::{attachment_ids, last_words, pictures, results, tools},
};
use serde_json::json;

const SIGNATURE: &str = "c2lnbmVkIGJ5IHRoZSBtb2RlbA==";

async fn photo(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next_reply("A gradient from black to blue.");
    let photo = stage.ann.sends_photo(jpeg(64, 48), "what is this?").await;
    let answer = stage.ann.next_message().await;
    assert_eq!(answer.text, "A gradient from black to blue.");
    assert_eq!(answer.reply_to, Some(photo.message_id));
    let request = stage.last_request();
    assert_eq!((pictures(&request), attachment_ids(&request).len()), (1, 1));
    assert!(last_words(&request).contains("what is this?"), "{request}");
    assert!(tools(&request).contains(&"crop_image"), "{request}");
    let usage = stage.rows().await.pop().unwrap().body.reasoning_info.expect("what it took");
    assert_eq!(usage["provider"], case.vendor.as_str());
    assert_eq!((&usage["input_tokens"], &usage["output_tokens"]), (&json!(100), &json!(20)));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_with_a_question_is_shown_and_answered() {
    with_every_model(photo).await;
}

async fn tool_turn(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.model.next_reply("I turned it.");
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let answer = stage.ann.next_message().await;
    assert_eq!(answer.caption, "I turned it.");
    let turned = image::load_from_memory(&answer.photo.expect("the turned photo")).unwrap();
    assert_eq!((turned.width(), turned.height()), (48, 64));
    let result = results(&stage.last_request()).pop().expect("a result");
    assert!(result.starts_with("Rotated 1 image"), "{result}");
    assert_eq!(attachment_ids(&stage.last_request()).len(), 2, "the photo and what was made of it");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_is_run_and_its_output_is_sent() {
    with_every_model(tool_turn).await;
}

async fn looking(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next_with(|request| {
        let region = json!({ "left": 0, "top": 0, "right": 500, "bottom": 500 });
        let arguments = json!({ "image": attachment_ids(request)[0], "region": region });
        Answer::Calls(vec![("look_at_image".into(), arguments)])
    });
    stage.model.next_reply("It is black up there.");
    stage.ann.sends_photo(jpeg(640, 480), "what is in the corner?").await;
    assert_eq!(stage.ann.next_message().await.text, "It is black up there.");
    let seen: Vec<usize> = stage.model.requests().iter().map(pictures).collect();
    assert_eq!(seen, [1, 2], "the photo, then its corner too");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_picture_in_a_result_is_shown() {
    with_every_model(looking).await;
}

async fn parallel(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next_with(|request| {
        let ids = attachment_ids(request);
        let said = Said::text("Let me see. ")
            .and_call("rotate_image", &json!({ "images": [ids[0]], "degrees": 90 }).to_string())
            .and_call("no_such_tool", "{}")
            .and_call("rotate_image", &json!({ "images": [ids[1]], "degrees": 180 }).to_string())
            .and_call("get_attachment_info", &json!({ "attachment_id": ids[1] }).to_string());
        Answer::All(said)
    });
    stage.model.next_reply("Both are turned.");
    let photos = [jpeg_of(60, 40, [90, 90, 200]), jpeg_of(61, 40, [200, 90, 90])];
    stage.ann.sends_album(&photos, "turn the first, and the second upside down").await;
    assert_eq!(stage.ann.next_album().await[0].caption, "Both are turned.");
    let request = stage.last_request();
    let results = results(&request);
    assert_eq!(results.len(), 4, "{results:#?}");
    assert!(
        results[0].starts_with("Rotated 1 image") && results[2].starts_with("Rotated 1 image"),
        "{results:#?}"
    );
    assert!(results[1].starts_with("Error: There is no tool"), "{}", results[1]);
    assert!(results[3].contains("61×40"), "{}", results[3]);
    assert!(request.to_string().contains("Let me see."), "what it said beside its calls is kept");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_calls_of_a_step_are_answered_in_order() {
    with_every_model(parallel).await;
}

async fn thinking(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next_with(|request| {
        let arguments = json!({ "images": attachment_ids(request), "degrees": 90 }).to_string();
        let said = Said::text("One moment.").and_call("rotate_image", &arguments);
        Answer::All(said.after_thinking("They want it turned.", SIGNATURE))
    });
    stage.model.next(Answer::All(Said::text("Turned.").after_thinking("It worked.", "bGF0ZXI=")));
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let answer = stage.ann.next_message().await;
    assert_eq!(answer.caption, "Turned.", "thoughts stay inside");
    assert!(stage.last_request().to_string().contains(SIGNATURE), "{}", stage.last_request());
    stage.ann.replies(&answer, "thanks").await;
    assert_eq!(stage.ann.next_message().await.text, "Done.");
    let words = stage.rows().await.iter().map(|row| row.content.clone()).collect::<Vec<_>>().join("\n");
    assert!(!words.contains("They want") && !words.contains("It worked"), "{words}");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signed_thinking_is_sent_back_unchanged_and_not_shown_to_people() {
    with_every_model(thinking).await;
}

async fn day_later(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next_with(|request| {
        let arguments = json!({ "images": attachment_ids(request), "degrees": 90 }).to_string();
        let said = Said::default().and_call("rotate_image", &arguments);
        Answer::All(said.after_thinking("They want it turned.", SIGNATURE))
    });
    stage.model.next_reply("Turned.");
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let turned = stage.ann.next_message().await;

    // Only a reply still brings these messages up.
    let old = |settings: Settings| settings.with("PHOTOTHREAD_HISTORY__HISTORY_MAX_AGE_HOURS", "0");
    let stage = stage.restarted_with(old).await;
    stage.model.next_with(|request| {
        let newest = attachment_ids(request).pop();
        Answer::Calls(vec![("filter_image".into(), json!({ "images": [newest], "filter": "sepia" }))])
    });
    stage.model.next_reply("And sepia.");
    stage.ann.replies(&turned, "and now sepia").await;
    let answer = stage.ann.next_message().await;
    assert_eq!(answer.caption, "And sepia.");
    let sepia = image::load_from_memory(&answer.photo.expect("a photo")).unwrap();
    assert_eq!((sepia.width(), sepia.height()), (48, 64), "it went on from the turned one");
    let results = results(&stage.last_request());
    assert_eq!(results.len(), 2, "{results:#?}");
    assert!(results[0].starts_with("Rotated") && results[1].starts_with("Filtered"), "{results:#?}");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_a_day_later_continues_the_thread() {
    with_every_model(day_later).await;
}

async fn busy(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next(Answer::Busy { retry_after_ms: 20 });
    stage.model.next_reply("Here I am.");
    stage.ann.says("hello").await;
    assert_eq!(stage.ann.next_message().await.text, "Here I am.");
    assert_eq!(stage.model.requests().len(), 2);
    assert!(stage.rows().await.iter().all(|row| row.error.is_none()));
    stage.model.always(Answer::Busy { retry_after_ms: 90_000 });
    stage.ann.says("and now?").await;
    let told = stage.ann.next_message().await.text;
    assert_eq!(told, "The model is rate-limited; try again in about 90 seconds.");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_is_retried_after_the_given_time() {
    with_every_model(busy).await;
}

async fn garbage(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next(Answer::All(Said::default().and_call("rotate_image", "{\"degrees\": 90")));
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": "a bit" }));
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.model.next_reply("Turned.");
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.photo.is_some() && answer.caption == "Turned.", "{answer:?}");
    let results = results(&stage.last_request());
    assert_eq!(results.len(), 3, "{results:#?}");
    assert!(results[0].starts_with("Error: The arguments are "), "{}", results[0]);
    assert!(results[1].starts_with("Error: ") && results[1].contains("degrees"), "{}", results[1]);
    assert!(results[2].starts_with("Rotated 1 image"), "{}", results[2]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_arguments_are_refused_and_can_be_corrected() {
    with_every_model(garbage).await;
}

async fn twelve_rounds(case: VendorCase) {
    let stage = Stage::set_with(case, &[("PHOTOTHREAD_AGENTS__PHOTOTHREAD__MAX_STEPS", "12")]).await;
    for _ in 0..12 {
        stage.model.next_with(|request| {
            let newest = attachment_ids(request).pop();
            Answer::Calls(vec![("rotate_image".into(), json!({ "images": [newest], "degrees": 90 }))])
        });
    }
    stage.model.next_reply("Three times round.");
    stage.ann.sends_photo(jpeg(64, 48), "turn it twelve times").await;
    let answer = stage.ann.next_message().await;
    assert_eq!(answer.caption, "Three times round.");
    let turned = image::load_from_memory(&answer.photo.expect("a photo")).unwrap();
    assert_eq!((turned.width(), turned.height()), (64, 48));
    assert_eq!(stage.model.requests().len(), 13);
    assert_eq!(results(&stage.last_request()).len(), 12);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn twelve_tool_steps_end_with_an_answer() {
    with_every_model(twelve_rounds).await;
}
