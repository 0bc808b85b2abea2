//! Broken, cut and missing answers: one sentence in the chat, a failed turn in the history, and the next message is
//! answered.

use super::{Stage, VendorCase, with_every_model};
use crate::harness::{Answer, Streaming};
use photothread::domain::{Role, TurnState};

const UNUSABLE: &str = "The model gave an answer I couldn't use. Please try again.";
const AWAY: &str = "I can't reach the model right now. Please try again in a minute.";
/// Long enough for a slow machine to answer in time, short enough to wait for.
const SHORT_SILENCE: (&str, &str) = ("PHOTOTHREAD_LIMITS__MODEL_SILENCE_SECONDS", "1");

/// The sentence in the chat, and the number of requests to the model.
struct Told {
    sentence: String,
    asked: usize,
}

/// While the model gives only this answer, Ann reads one sentence without details, and her next message is answered.
async fn told_while(case: VendorCase, trouble: Answer) -> Told {
    told_with(case, trouble, &[]).await
}

async fn told_with(case: VendorCase, trouble: Answer, variables: &[(&str, &str)]) -> Told {
    let stage = Stage::set_with(case, variables).await;
    stage.model.always(trouble);
    let request = stage.ann.says("hello").await;
    let told = stage.ann.next_message().await;
    let asked = stage.model.requests().len();
    assert_eq!(told.reply_to, Some(request.message_id));
    for detail in ["HTTP", "127.0.0.1", "JSON", "html", "{", "oops"] {
        assert!(!told.text.contains(detail), "{}", told.text);
    }

    let row = stage.rows().await.pop().expect("a row for the failure");
    assert_eq!((row.role, row.content.as_str()), (Role::Assistant, told.text.as_str()));
    assert!(row.error.is_some());
    let store = stage.settings.store().await;
    assert_eq!(store.turn(row.turn_id.unwrap()).await.unwrap().unwrap().state, TurnState::Failed);

    stage.model.default_reply("Now it works.");
    stage.ann.replies(&told, "try again").await;
    assert_eq!(stage.ann.next_message().await.text, "Now it works.");
    stage.ann.has_nothing_more();
    stage.clear().await;
    Told { sentence: told.text, asked }
}

async fn page(case: VendorCase) {
    let page = "<!doctype html><html><body>Welcome to nginx!</body></html>";
    let told = told_while(case, Answer::Page(page.into())).await;
    assert_eq!((told.sentence.as_str(), told.asked), (UNUSABLE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_html_page_instead_of_an_answer_is_reported() {
    with_every_model(page).await;
}

async fn garbled(case: VendorCase) {
    let told = told_while(case, Answer::Garbled).await;
    assert_eq!((told.sentence.as_str(), told.asked), (UNUSABLE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_json_is_reported() {
    with_every_model(garbled).await;
}

async fn other_json(case: VendorCase) {
    for body in
        ["{\"hello\": \"world\"}", "[]", "null", "{\"choices\": 3, \"content\": 3, \"candidates\": 3}"]
    {
        let told = told_while(case, Answer::Raw(200, body.into())).await;
        assert_eq!((told.sentence.as_str(), told.asked), (UNUSABLE, 1), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_no_answer_is_reported() {
    with_every_model(other_json).await;
}

async fn huge(case: VendorCase) {
    let told = told_while(case, Answer::Huge).await;
    assert_eq!((told.sentence.as_str(), told.asked), (UNUSABLE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_fifty_megabytes_is_not_read_to_the_end() {
    with_every_model(huge).await;
}

async fn silent(case: VendorCase) {
    let told = told_with(case, Answer::Silence(String::new()), &[SHORT_SILENCE]).await;
    assert_eq!(told.sentence, AWAY);
    assert!(told.asked > 1, "a silent model is retried");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_sends_nothing_times_out() {
    with_every_model(silent).await;
}

async fn half_before_any_text(case: VendorCase) {
    let stage = Stage::set(case).await;
    stage.model.next(Answer::Half(String::new()));
    stage.model.next_reply("Here I am.");
    stage.ann.says("hello").await;
    assert_eq!(stage.ann.next_message().await.text, "Here I am.");
    assert_eq!(stage.model.requests().len(), 2);
    assert!(stage.rows().await.iter().all(|row| row.error.is_none()));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_cut_before_its_first_word_is_retried() {
    with_every_model(half_before_any_text).await;
}

async fn half(case: VendorCase) {
    let told = told_while(case, Answer::Half("I am going to ".into())).await;
    match case.streaming {
        Streaming::On => assert_eq!(told.asked, 1, "no retry after text was shown"),
        Streaming::Off => assert!(told.asked > 1, "nothing was shown, so it is retried"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_cut_after_it_was_shown_is_not_retried() {
    with_every_model(half).await;
}

async fn falls_silent(case: VendorCase) {
    let told = told_with(case, Answer::Silence("I am going to ".into()), &[SHORT_SILENCE]).await;
    match case.streaming {
        Streaming::On => assert_eq!(told.asked, 1, "no retry after text was shown"),
        Streaming::Off => assert_eq!(told.sentence, AWAY),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_stops_in_the_middle_times_out() {
    with_every_model(falls_silent).await;
}
