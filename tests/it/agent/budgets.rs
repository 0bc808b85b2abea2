//! Usage and budgets: /usage reports the cost, the history stores it, and a budget stops the next request.
//! A request to the scripted model has 100 input and 20 output tokens: $0.000065 at the price of gpt-5-mini.

use super::Stage;
use crate::{
    api::Api,
    harness::{
        Answer, BotUnderTest, Person, Program, ScriptedModel, Settings, WAIT_TIMEOUT, World, jpeg, user,
    },
};
use chrono::{TimeDelta, Utc};
use photothread::{
    domain::{Conversation, Role, TurnState, UserId},
    store::{RequestUsage, Spender},
};
use serde_json::{Value, json};
use std::time::Duration;

const PER_USER: &str = "PHOTOTHREAD_LIMITS__DAILY_BUDGET_PER_USER";
const PER_CHAT: &str = "PHOTOTHREAD_LIMITS__DAILY_BUDGET_PER_CHAT";
const PER_AGENT: &str = "PHOTOTHREAD_AGENTS__PHOTOTHREAD__DAILY_BUDGET";
/// Less than one request costs.
const ONE_REQUEST: &str = "0.00006";
/// More than one costs, and less than two.
const TWO_REQUESTS: &str = "0.0001";

async fn usage_of(person: &Person) -> String {
    person.says("/usage").await;
    person.next_message().await.text
}

async fn answer_to(person: &Person, words: &str) -> String {
    person.says(words).await;
    person.next_message().await.text
}

#[tokio::test(flavor = "multi_thread")]
async fn usage_reports_the_tokens_of_two_turns_and_the_history_stores_them() {
    let stage = Stage::set().await;
    assert!(usage_of(&stage.ann).await.starts_with("Nothing yet"));
    stage.model.next_calls([("list_attachments", json!({}))]);
    assert_eq!(answer_to(&stage.ann, "what is there?").await, "Done.");
    assert_eq!(answer_to(&stage.ann, "thank you").await, "Done.");
    assert_eq!(
        usage_of(&stage.ann).await,
        "You\nToday: 3 requests, 360 tokens, about $0.0002\nLast 30 days: 3 requests, 360 tokens, about $0.0002"
    );
    let bob = stage.world.private_chat(user(1002, "Bob"));
    assert!(usage_of(&bob).await.starts_with("Nothing yet"), "everybody reads their own");

    let rows = stage.rows().await;
    let asked = rows.iter().filter(|row| row.role != Role::Tool);
    let infos: Vec<&Value> = asked.filter_map(|row| row.reasoning_info.as_ref()).collect();
    assert_eq!(infos.len(), 3);
    for info in infos {
        let expected = json!({
            "provider": "openai", "model": "gpt-5-mini", "input_tokens": 100, "output_tokens": 20, "cost_usd": 0.000065,
        });
        assert_eq!(*info, expected);
    }
    stage.clear().await;
}

/// Ann's first request is answered; her next is stopped, before and after a restart. Bob's is not.
async fn check_personal_budget(world: World, settings: Settings, model: ScriptedModel) {
    let settings = settings.with_model(&model.base_url()).with(PER_USER, ONE_REQUEST);
    let bot = BotUnderTest::start(&settings).await;
    let (ann, bob) = (world.private_chat(user(1001, "Ann")), world.private_chat(user(1002, "Bob")));
    assert_eq!(answer_to(&ann, "hello").await, "Done.");
    let question = ann.says("and again?").await;
    let told = ann.next_message().await;
    let expected = "You've used today's budget of $0.00006 for models. It starts anew at 00:00 UTC, in ";
    assert!(told.text.starts_with(expected), "{}", told.text);
    assert!(told.text.ends_with("until then I keep what you send, and you can reply to it then."));
    assert_eq!(told.reply_to, Some(question.message_id));
    assert_eq!(model.requests().len(), 1, "the model is not asked");
    let row = super::rows_of(&settings.store().await, &ann).await.pop().unwrap();
    assert_eq!(row.error.as_deref(), Some("today's budget of $0.00006 of the person is used up"));
    let turn = settings.store().await.turn(row.turn_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(turn.state, TurnState::Failed);

    let usage = usage_of(&ann).await;
    assert!(usage.contains("Today: 1 request, 120 tokens, about $0.000065"), "{usage}");
    assert!(usage.contains("Your budget today: all of $0.00006 used."), "{usage}");
    assert_eq!(answer_to(&bob, "hello").await, "Done.");
    bot.stop().await;

    let bot = BotUnderTest::start(&settings).await;
    assert!(answer_to(&ann, "and now?").await.starts_with("You've used today's budget"));
    assert_eq!(model.requests().len(), 2, "Ann's first and Bob's");
    bot.stop().await;
    let richer = settings.with(PER_USER, "1");
    let bot = BotUnderTest::start(&richer).await;
    ann.replies(&told, "and now?").await;
    assert_eq!(ann.next_message().await.text, "Done.", "with a budget again, a reply goes on");
    assert_eq!(model.refusals(), [""; 0]);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_personal_budget_stops_requests_to_the_model() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    check_personal_budget(world, settings, ScriptedModel::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_personal_budget_stops_requests_on_postgres() {
    let world = World::start().await;
    let settings = Settings::new(&world).on_postgres().await;
    check_personal_budget(world, settings, ScriptedModel::start().await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_budget_exhausted_during_a_turn_still_sends_its_outputs() {
    let stage = Stage::set_with(&[(PER_USER, TWO_REQUESTS)]).await;
    stage.model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    stage.model.next_call_on_all("flip_image", json!({ "direction": "horizontal" }));
    let photo = stage.ann.sends_photo(jpeg(64, 48), "turn it and flip it").await;
    let answers = stage.ann.next_album().await;
    let caption = &answers[0].caption;
    assert!(caption.starts_with("You've used today's budget of $0.0001 for models."), "{caption}");
    assert!(answers.iter().all(|answer| answer.photo.is_some()));
    assert_eq!(answers[0].reply_to, Some(photo.message_id));
    assert_eq!(stage.model.requests().len(), 2);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_budget_is_shared_by_its_people_and_limited_to_the_chat() {
    let stage = Stage::set_with(&[(PER_CHAT, ONE_REQUEST)]).await;
    let group = stage.world.group("Holiday");
    let (ann, bob) = (group.member(user(1001, "Ann")), group.member(user(1002, "Bob")));
    assert_eq!(answer_to(&ann, "@photothread_bot hello").await, "Done.");
    let told = answer_to(&bob, "@photothread_bot hello").await;
    assert!(told.starts_with("This chat has used today's budget of $0.00006 for models."), "{told}");
    assert_eq!(answer_to(&stage.ann, "hello").await, "Done.", "her own chat is another");

    let usage = {
        bob.says("/usage@photothread_bot").await;
        bob.next_message().await.text
    };
    assert_eq!(
        usage,
        "Nothing yet: no model has worked for you in the last 30 days.\n\n\
         This chat, all people together\nToday: 1 request, 120 tokens, about $0.000065\n\
         Last 30 days: 1 request, 120 tokens, about $0.000065\n\n\
         This chat's budget today: all of $0.00006 used.\nBudgets start anew at 00:00 UTC."
    );
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_budget_is_shared_by_all_people() {
    let stage = Stage::set_with(&[(PER_AGENT, ONE_REQUEST)]).await;
    assert_eq!(answer_to(&stage.ann, "hello").await, "Done.");
    let bob = stage.world.private_chat(user(1002, "Bob"));
    let told = answer_to(&bob, "hello").await;
    let expected = "Today's budget of $0.00006 for photothread, of all people together, is used up.";
    assert!(told.starts_with(expected), "{told}");
    assert_eq!(stage.model.requests().len(), 1);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_day_starts_with_the_whole_budget() {
    let stage = Stage::set_with(&[(PER_USER, ONE_REQUEST)]).await;
    let spender = Spender {
        conversation: Conversation::telegram(stage.ann.chat_id),
        user_id: UserId("1001".into()),
        agent_id: "photothread".into(),
    };
    let yesterday = RequestUsage {
        day: Utc::now().date_naive() - TimeDelta::days(1),
        spender,
        provider: "openai".into(),
        model: "gpt-5-mini".into(),
        input_tokens: 1_000_000,
        output_tokens: 0,
        cost_micros: Some(250_000),
    };
    stage.settings.store().await.add_usage(&yesterday).await.unwrap();
    assert_eq!(answer_to(&stage.ann, "good morning").await, "Done.");
    let usage = usage_of(&stage.ann).await;
    assert!(usage.contains("Today: 1 request, 120 tokens, about $0.000065"), "{usage}");
    assert!(usage.contains("Last 30 days: 2 requests, 1,000,120 tokens, about $0.25"), "{usage}");
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_without_a_price_is_reported_and_not_stopped() {
    let llama = ("PHOTOTHREAD_PROVIDERS__OPENAI__MODEL", "llama");
    let stage = Stage::set_with(&[llama, (PER_USER, ONE_REQUEST)]).await;
    for _ in 0..2 {
        assert_eq!(answer_to(&stage.ann, "hello").await, "Done.");
    }
    let usage = usage_of(&stage.ann).await;
    assert!(usage.contains("Today: 2 requests, 240 tokens, price unknown"), "{usage}");
    let info = stage.rows().await.pop().unwrap().body.reasoning_info.unwrap();
    assert_eq!((&info["model"], info.get("cost_usd")), (&json!("llama"), None));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_declined_request_is_counted() {
    let stage = Stage::set_with(&[(PER_USER, ONE_REQUEST)]).await;
    let message = json!({ "role": "assistant", "content": null, "refusal": "no" });
    let usage = json!({ "prompt_tokens": 300, "completion_tokens": 0 });
    let body = json!({
        "id": "r", "model": "gpt-5-mini-2025-08-07", "usage": usage,
        "choices": [{ "message": message, "finish_reason": "stop" }],
    });
    stage.model.next(Answer::Raw(200, body.to_string()));
    assert!(answer_to(&stage.ann, "hello").await.contains("declined"));
    assert!(usage_of(&stage.ann).await.contains("Today: 1 request, 300 tokens, about $0.000075"));
    assert!(answer_to(&stage.ann, "hello").await.starts_with("You've used today's budget"));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_offline_agent_is_free_and_not_stopped_by_a_budget() {
    let world = World::start().await;
    let settings = Settings::new(&world).with(PER_USER, "0").with(PER_AGENT, "0");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "rotate left").await;
    assert!(ann.next_message().await.photo.is_some());
    let usage = usage_of(&ann).await;
    assert!(usage.contains("offline") && usage.contains("costs nothing"), "{usage}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn strangers_cannot_read_usage() {
    let only_ann = ("PHOTOTHREAD_TELEGRAM__ALLOWED_USER_IDS", "[1001]");
    let stage = Stage::set_with(&[("PHOTOTHREAD_TELEGRAM__ALLOW_EVERYONE", "false"), only_ann]).await;
    let bob = stage.world.private_chat(user(1002, "Bob"));
    let told = usage_of(&bob).await;
    assert!(told.contains("private") && !told.contains("yet"), "{told}");
    assert!(usage_of(&stage.ann).await.starts_with("Nothing yet"));
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unenforceable_budget_is_logged_at_start_up() {
    let world = World::start().await;
    let settings = Settings::new(&world)
        .with_model("http://127.0.0.1:9/v1")
        .with("PHOTOTHREAD_PROVIDERS__OPENAI__MODEL", "llama-9000")
        .with(PER_CHAT, "1");
    let program = Program::start(&settings);
    wait_for_log(&program, |line| {
        line.contains("WARN") && line.contains("llama-9000") && line.contains("`prices`")
    })
    .await;
}

/// Twenty conversations started together on the page, with a budget for two requests.
async fn check_parallel_turns(world: World, settings: Settings) {
    let model = ScriptedModel::start().await;
    let settings = settings
        .with_model(&model.base_url())
        .with(PER_USER, TWO_REQUESTS)
        .with("PHOTOTHREAD_LIMITS__TURNS_PER_PERSON", "20")
        .with("PHOTOTHREAD_LIMITS__TURNS_AT_ONCE", "20");
    let api = Api::with(world, settings).await;
    let ask = async || {
        let session = api.begin().await;
        let sent = api.says(&session, &json!({ "content": "hello" })).await;
        api.answer(&session, &sent["turnId"]).await["content"].as_str().unwrap().to_owned()
    };
    let answers = futures::future::join_all((0..20).map(|_| ask())).await;
    let (answered, stopped): (Vec<_>, Vec<_>) = answers.iter().partition(|text| *text == "Done.");
    assert_eq!((answered.len(), model.requests().len()), (2, 2), "{answers:#?}");
    assert!(stopped.iter().all(|text| text.starts_with("You've used today's budget")), "{stopped:#?}");
    assert_eq!(model.refusals(), [""; 0]);
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_turns_stay_within_the_budget() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    check_parallel_turns(world, settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_turns_stay_within_the_budget_on_postgres() {
    let world = World::start().await;
    let settings = Settings::new(&world).on_postgres().await;
    check_parallel_turns(world, settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_request_is_charged_as_estimated() {
    let stage = Stage::set_with(&[(PER_USER, "0.01")]).await;
    let gate = stage.model.hold_next();
    stage.ann.says("hello").await;
    gate.reached().await;
    assert!(answer_to(&stage.ann, "/cancel").await.contains("topped"));
    assert!(answer_to(&stage.ann, "and again?").await.starts_with("You've used today's budget of $0.01"));
    let usage = usage_of(&stage.ann).await;
    assert!(usage.contains("Today: 1 request, 0 tokens, about $0.0"), "{usage}");
    assert_eq!(stage.model.requests().len(), 1);
    gate.open();
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_was_cut_off_by_a_crash_holds_no_budget_after_it() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url()).with(PER_USER, "0.01");
    let ann = world.private_chat(user(1001, "Ann"));
    let program = Program::start(&settings);
    let gate = model.hold_next();
    ann.says("hello").await;
    gate.reached().await;
    program.kill();
    let program = Program::start(&settings);
    let told = ann.next_message().await.text;
    assert!(told.starts_with("You've used today's budget of $0.01"), "{told}");
    assert!(usage_of(&ann).await.contains("Today: 1 request, 0 tokens, about $0.0"));
    gate.open();
    program.kill();
}

/// The lines that the program logs until one of them fits.
async fn wait_for_log(program: &Program, fits: impl Fn(&str) -> bool) {
    let logged = async {
        while !program.log().lines().any(&fits) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(WAIT_TIMEOUT, logged).await.expect("a line in the log in time");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_bot_with_a_hosted_model_and_no_budget_is_warned_of() {
    let world = World::start().await;
    let settings = Settings::new(&world).with_model("http://127.0.0.1:9/v1");
    let program = Program::start(&settings);
    let is_warning = |line: &str| line.contains("WARN") && line.contains("allow_everyone");
    wait_for_log(&program, |line| is_warning(line) && line.contains("daily_budget_per_user")).await;
    drop(program);

    let with_budget = Settings::new(&world).with_model("http://127.0.0.1:9/v1").with(PER_USER, "1");
    for quiet in [with_budget, Settings::new(&world)] {
        let program = Program::start(&quiet);
        answer_to(&world.private_chat(user(1001, "Ann")), "/help").await;
        assert!(!program.log().lines().any(is_warning), "{}", program.log());
    }
}
