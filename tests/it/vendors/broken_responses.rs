//! Services that answer nonsense, half or not at all: one clear sentence in the chat, the turn failed in the history,
//! and the next message works.

use super::{Spoken, Stage, with_every_model};
use crate::harness::{Answer, Speech};
use photothread::domain::{Role, TurnState};

const UNUSABLE: &str = "The model gave an answer I couldn't use. Please try again.";
const AWAY: &str = "I can't reach the model right now. Please try again in a minute.";
/// Long enough for a slow machine to answer in, short enough to wait for.
const IMPATIENT: (&str, &str) = ("PHOTOTHREAD_LIMITS__MODEL_SILENCE_SECONDS", "1");

/// What Ann is told, and how often the model was asked for it.
struct Told {
    sentence: String,
    asked: usize,
}

/// While the model does only this, Ann reads one sentence without details, and what she says next is answered.
async fn told_while(spoken: Spoken, trouble: Answer) -> Told {
    told_with(spoken, trouble, &[]).await
}

async fn told_with(spoken: Spoken, trouble: Answer, variables: &[(&str, &str)]) -> Told {
    let stage = Stage::set_with(spoken, variables).await;
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

async fn page(spoken: Spoken) {
    let page = "<!doctype html><html><body>Welcome to nginx!</body></html>";
    let told = told_while(spoken, Answer::Page(page.into())).await;
    assert_eq!((told.sentence.as_str(), told.asked), (UNUSABLE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_web_page_instead_of_an_answer_is_told_kindly() {
    with_every_model(page).await;
}

async fn garbled(spoken: Spoken) {
    let told = told_while(spoken, Answer::Garbled).await;
    assert_eq!((told.sentence.as_str(), told.asked), (UNUSABLE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_not_json_is_told_kindly() {
    with_every_model(garbled).await;
}

async fn other_json(spoken: Spoken) {
    for body in
        ["{\"hello\": \"world\"}", "[]", "null", "{\"choices\": 3, \"content\": 3, \"candidates\": 3}"]
    {
        let told = told_while(spoken, Answer::Raw(200, body.into())).await;
        assert_eq!((told.sentence.as_str(), told.asked), (UNUSABLE, 1), "{body}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_no_answer_is_told_kindly() {
    with_every_model(other_json).await;
}

async fn huge(spoken: Spoken) {
    let told = told_while(spoken, Answer::Huge).await;
    assert_eq!((told.sentence.as_str(), told.asked), (UNUSABLE, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_fifty_megabytes_is_not_read_to_the_end() {
    with_every_model(huge).await;
}

async fn silent(spoken: Spoken) {
    let told = told_with(spoken, Answer::Silence(String::new()), &[IMPATIENT]).await;
    assert_eq!(told.sentence, AWAY);
    assert!(told.asked > 1, "it might have passed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_says_nothing_is_given_up() {
    with_every_model(silent).await;
}

async fn half_before_any_text(spoken: Spoken) {
    let stage = Stage::set(spoken).await;
    stage.model.next(Answer::Half(String::new()));
    stage.model.next_reply("Here I am.");
    stage.ann.says("hello").await;
    assert_eq!(stage.ann.next_message().await.text, "Here I am.");
    assert_eq!(stage.model.requests().len(), 2);
    assert!(stage.rows().await.iter().all(|row| row.error.is_none()));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_before_its_first_word_is_asked_for_again() {
    with_every_model(half_before_any_text).await;
}

async fn half(spoken: Spoken) {
    let told = told_while(spoken, Answer::Half("I am going to ".into())).await;
    match spoken.speech {
        Speech::InPieces => assert_eq!(told.asked, 1, "what was shown is not said again in other words"),
        Speech::Whole => assert!(told.asked > 1, "nothing was shown, so it is asked again"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_breaks_off_after_it_was_shown_is_not_silently_begun_again() {
    with_every_model(half).await;
}

async fn falls_silent(spoken: Spoken) {
    let told = told_with(spoken, Answer::Silence("I am going to ".into()), &[IMPATIENT]).await;
    match spoken.speech {
        Speech::InPieces => assert_eq!(told.asked, 1, "what was shown is not said again in other words"),
        Speech::Whole => assert_eq!(told.sentence, AWAY),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_falls_silent_in_the_middle_is_given_up() {
    with_every_model(falls_silent).await;
}
