//! Retries, shortened prompts and fallback agents. Once text of an answer was shown, there is no retry and no fallback.

use super::{Stage, said_by, tools};
use crate::harness::{Answer, jpeg};
use photothread::domain::{Role, TurnState};
use serde_json::{Value, json};

/// Each agent is the fallback of the other: a cycle that must end.
const AGENTS: &str = "{ first: { provider: openai, model: one, fallback: second }, \
     second: { provider: openai, model: two, tools: [flip_image], fallback: first } }";

async fn stage() -> Stage {
    Stage::set_with(&[("PHOTOTHREAD_AGENTS", AGENTS)]).await
}

fn broken() -> Answer {
    Answer::Raw(500, json!({ "error": { "message": "detail 4711", "type": "server_error" } }).to_string())
}

fn too_long() -> Answer {
    let fault = json!({ "message": "detail 4711", "code": "context_length_exceeded" });
    Answer::Raw(400, json!({ "error": fault }).to_string())
}

fn refusal() -> Answer {
    let message = json!({ "role": "assistant", "content": null, "refusal": "detail 4711" });
    let body = json!({ "id": "r", "choices": [{ "message": message, "finish_reason": "stop" }] });
    Answer::Raw(200, body.to_string())
}

fn models(requests: &[Value]) -> Vec<&str> {
    requests.iter().map(|request| request["model"].as_str().unwrap_or_default()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_429_without_a_retry_time_is_retried() {
    let stage = Stage::set().await;
    stage
        .model
        .next_raw(429, &json!({ "error": { "message": "Slow down.", "type": "requests" } }).to_string());
    stage.model.next_reply("Here I am.");
    stage.ann.says("hello").await;
    assert_eq!(stage.ann.next_message().await.text, "Here I am.");
    assert_eq!(stage.model.requests().len(), 2);
    assert!(stage.rows().await.iter().all(|row| row.error.is_none()));
    stage.clear().await;
}

/// A long thread: the root, a tool step and long messages.
async fn long_thread(stage: &Stage) -> crate::harness::Received {
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let mut answer = stage.ann.next_message().await;
    for letter in ["b", "c", "d"] {
        stage.model.next_reply(&letter.to_uppercase().repeat(600));
        stage.ann.replies(&answer, &letter.repeat(600)).await;
        answer = stage.ann.next_message().await;
    }
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_is_too_long_is_shortened_and_retried_once() {
    let stage = Stage::set().await;
    let answer = long_thread(&stage).await;
    let before = stage.model.requests().len();
    stage.model.next(too_long());
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 180 }));
    stage.model.next_reply("Turned round.");
    stage.ann.replies(&answer, "turn it round").await;
    assert_eq!(stage.ann.next_album().await[0].caption, "Turned round.");

    let requests = stage.model.requests();
    let [whole, shorter, after] = &requests[before..] else { panic!("{} requests", requests.len() - before) };
    // The first message is the system prompt, which is not shortened.
    let length = |request: &Value| {
        let said = request["messages"].as_array().unwrap().iter().skip(1);
        said.map(|message| message.to_string().len()).sum::<usize>()
    };
    assert!(length(shorter) < length(whole) * 2 / 3, "{} of {}", length(shorter), length(whole));
    let (all, kept) = (said_by("user", whole), said_by("user", shorter));
    assert_eq!(kept.first(), all.first(), "the root stays");
    let (asked, pixels) = (kept.last().unwrap(), |text: &str| text.matches("[pixels]").count());
    assert!(asked.contains("turn it round") && pixels(asked) == 1, "as does the request: {asked}");
    assert_eq!(pixels(all.last().unwrap()), 2, "with one picture instead of two");
    assert!(kept[1].contains("left out"), "{kept:?}");
    assert!(said_by("user", after)[1].contains("left out"), "and the turn goes on with less");
    assert_eq!(said_by("tool", after).len(), 1, "its own steps are whole");
    assert!(stage.rows().await.iter().all(|row| row.error.is_none()));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_that_stays_too_long_is_reported() {
    let stage = Stage::set().await;
    let answer = long_thread(&stage).await;
    let before = stage.model.requests().len();
    stage.model.next(too_long());
    stage.model.next(too_long());
    stage.ann.replies(&answer, "turn it round").await;
    let told = stage.ann.next_message().await.text;
    assert!(told.contains("too long") && told.contains("/new") && !told.contains("4711"), "{told}");
    assert_eq!(stage.model.requests().len(), before + 2, "once more and not twice");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_fallback_continues_from_the_steps_of_the_first_agent() {
    let stage = stage().await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    for _ in 0..3 {
        stage.model.next(broken());
    }
    stage.model.next_reply("Turned.");
    stage.ann.sends_photo(jpeg(64, 48), "turn it").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.photo.is_some() && answer.caption == "Turned.", "{answer:?}");

    let requests = stage.model.requests();
    assert_eq!(models(&requests), ["one", "one", "one", "one", "two"]);
    let last = requests.last().unwrap();
    assert_eq!(said_by("tool", last).len(), 1, "the step is there, done once");
    assert_eq!(tools(last), ["flip_image"], "with tools of its own");
    let rows = stage.rows().await;
    let whose: Vec<_> = rows.iter().map(|row| row.agent_id.as_deref().unwrap_or_default()).collect();
    assert_eq!(whose, ["first", "first", "first", "second"]);
    assert!(rows.iter().all(|row| row.error.is_none()));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fallback_uses_its_own_tools() {
    let stage = stage().await;
    stage.model.next_raw(401, &json!({ "error": { "message": "no such key" } }).to_string());
    stage.model.next_call_on_all("flip_image", json!({ "direction": "horizontal" }));
    stage.model.next_reply("Flipped.");
    stage.ann.sends_photo(jpeg(64, 48), "flip it").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.photo.is_some() && answer.caption == "Flipped.", "{answer:?}");
    assert_eq!(models(&stage.model.requests()), ["one", "two", "two"]);
    let rows = stage.rows().await;
    let whose: Vec<_> =
        rows.iter().map(|row| (row.role, row.agent_id.as_deref().unwrap_or_default())).collect();
    assert_eq!(
        whose,
        [
            (Role::User, "first"),
            (Role::Assistant, "second"),
            (Role::Tool, "second"),
            (Role::Assistant, "second")
        ]
    );
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn if_all_agents_fail_the_error_of_the_first_is_reported() {
    let stage = stage().await;
    stage.model.next(Answer::Busy { retry_after_ms: 36_000 });
    stage.model.next_raw(401, &json!({ "error": { "message": "detail 4711" } }).to_string());
    stage.ann.says("hello").await;
    let told = stage.ann.next_message().await;
    assert_eq!(told.text, "The model is rate-limited; try again in about 36 seconds.");
    assert_eq!(models(&stage.model.requests()), ["one", "two"], "each once, however they name each other");
    let row = stage.rows().await.pop().unwrap();
    assert_eq!(row.agent_id.as_deref(), Some("first"));
    assert_eq!(row.error.as_deref(), Some("rate limited or overloaded"));
    let turn = stage.settings.store().await.turn(row.turn_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(turn.state, TurnState::Failed);

    stage.model.next_reply("Back again.");
    stage.ann.replies(&told, "now?").await;
    assert_eq!(stage.ann.next_message().await.text, "Back again.");
    assert_eq!(
        models(&stage.model.requests()),
        ["one", "two", "one"],
        "the next message tries the first anew"
    );
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn refusals_and_prompts_that_are_too_long_do_not_use_the_fallback() {
    let stage = stage().await;
    stage.model.next(refusal());
    stage.ann.says("do something bad").await;
    let told = stage.ann.next_message().await.text;
    assert!(told.contains("declined") && !told.contains("4711"), "{told}");
    stage.model.next(too_long());
    stage.model.next(too_long());
    stage.ann.says("hello").await;
    let told = stage.ann.next_message().await.text;
    assert!(told.contains("too long"), "{told}");
    assert!(models(&stage.model.requests()).iter().all(|model| *model == "one"));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_cut_after_it_was_shown_is_reported_and_not_retried() {
    let stage = stage().await;
    stage.model.next(Answer::HalfStream("Once upon a".into()));
    stage.ann.says("tell me a story").await;
    let told = stage.ann.next_message().await;
    assert_eq!(told.text, "The model broke off in the middle of its answer. Please ask again.");
    assert_eq!(models(&stage.model.requests()), ["one"], "neither again nor by another");
    let row = stage.rows().await.pop().unwrap();
    assert!(row.error.as_deref().is_some_and(|error| error.contains("broke off")), "{:?}", row.error);
    stage.model.next_reply("Once upon a time.");
    stage.ann.replies(&told, "again").await;
    assert_eq!(stage.ann.next_message().await.text, "Once upon a time.");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_before_any_text_is_retried() {
    let stage = Stage::set().await;
    stage.model.next(Answer::HalfStream(String::new()));
    stage.model.next_reply("Here I am.");
    stage.ann.says("hello").await;
    assert_eq!(stage.ann.next_message().await.text, "Here I am.");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_offline_agent_takes_over_without_repeating_steps() {
    let agents = "{ hosted: { provider: openai, fallback: spare }, spare: { provider: offline } }";
    let stage = Stage::set_with(&[("PHOTOTHREAD_AGENTS", agents)]).await;
    let no_key = || Answer::Raw(401, json!({ "error": { "message": "no such key" } }).to_string());
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.model.next(no_key());
    stage.ann.sends_photo(jpeg(66, 48), "rotate right").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.photo.is_some() && answer.caption.contains("how far it got"), "one photo: {answer:?}");

    stage.model.next(no_key());
    stage.ann.sends_photo(jpeg(64, 48), "rotate left").await;
    let answer = stage.ann.next_message().await;
    assert!(answer.photo.is_some(), "it does what it can by itself: {answer:?}");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_model_name_is_explained_in_the_history_and_not_in_the_chat() {
    let stage = Stage::set().await;
    stage.model.next_raw(404, &json!({ "error": { "message": "The model does not exist" } }).to_string());
    stage.ann.says("hello").await;
    let told = stage.ann.next_message().await.text;
    assert!(told.contains("isn't set up right") && !told.contains("base_url"), "{told}");
    let error = stage.rows().await.pop().unwrap().body.error.unwrap();
    for named in ["gpt-5-mini", "the agent's model", "providers.openai.base_url"] {
        assert!(error.contains(named), "{error}");
    }
    stage.clear().await;
}
