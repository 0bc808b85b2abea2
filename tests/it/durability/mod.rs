//! Durability: updates, albums, turns and sends survive kills, outages and lost responses. This file tests how updates
//! are received, and holds the helpers of the others: `doctor`, and queries that the store has no verb for.

mod albums;
mod drafts;
mod kill;
mod outages;
mod restarts;
mod sending;

use crate::harness::{BotUnderTest, Program, Settings, WAIT_TIMEOUT, World, user};
use photothread::store::Store;
use serde_json::json;
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use std::{
    process::Stdio,
    time::{Duration, Instant},
};

/// The output of `photothread doctor`.
fn doctor(settings: &Settings) -> String {
    let mut command = Program::command(settings);
    let done = command.arg("doctor").stdout(Stdio::piped()).output().expect("doctor runs");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Runs a query that yields one number, on either database.
async fn number(settings: &Settings, sql: &str) -> i64 {
    let url = settings.config().database.url.to_url();
    let query = sqlx::AssertSqlSafe(sql.to_owned());
    if url.starts_with("sqlite") {
        let mut conn = SqliteConnection::connect(&url).await.unwrap();
        sqlx::query_scalar(query).fetch_one(&mut conn).await.unwrap()
    } else {
        let mut conn = PgConnection::connect(&url).await.unwrap();
        sqlx::query_scalar(query).fetch_one(&mut conn).await.unwrap()
    }
}

/// Polls until the condition holds. Only for changes in the database that cannot be seen elsewhere.
async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let mut look = tokio::time::interval(Duration::from_millis(20));
    let since = Instant::now();
    loop {
        look.tick().await;
        if is_so().await {
            return;
        }
        assert!(since.elapsed() < WAIT_TIMEOUT, "waited {WAIT_TIMEOUT:?} for {what}, in vain");
    }
}

/// Waits until the inbox, the turns and the outbox have no work left.
async fn at_rest(settings: &Settings) {
    let open = "SELECT (SELECT COUNT(*) FROM inbox WHERE state IN ('received', 'waiting')) \
         + (SELECT COUNT(*) FROM turns WHERE state IN ('pending', 'running')) \
         + (SELECT COUNT(*) FROM outbox WHERE state IN ('queued', 'sending'))";
    eventually("the bot to have nothing to do", async || number(settings, open).await == 0).await;
}

async fn troubled(store: &Store) -> Vec<(&'static str, String)> {
    let sends = store.undelivered_sends(100).await.unwrap();
    sends.into_iter().map(|send| (send.state.as_str(), send.error.unwrap_or_default())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_is_committed_before_it_is_confirmed() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    // The first poll returns at once, the second waits for updates, the third would confirm them.
    world.wait_for_calls("getUpdates", 2).await;
    let confirming = world.next("getUpdates").waits();
    let hello = ann.says("hello").await;
    confirming.reached().await;
    let told = world.all_calls().into_iter().rfind(|call| call.method == "getUpdates").unwrap();
    assert_eq!(told.params["offset"].as_i64(), hello.update_id.map(|id| id + 1), "{told}");
    assert_eq!(number(&settings, "SELECT COUNT(*) FROM inbox").await, 1);
    confirming.open();
    assert_eq!(ann.next_message().await.reply_to, Some(hello.message_id));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_is_delivered_again_is_answered_once() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.wait_for_calls("getUpdates", 2).await;
    let confirming = world.next("getUpdates").waits();
    let hello = ann.says("hello").await;
    assert_eq!(ann.next_message().await.reply_to, Some(hello.message_id));
    confirming.reached().await;
    at_rest(&settings).await;
    bot.stop().await;

    // It was not confirmed, so Telegram delivers it again.
    let bot = BotUnderTest::start(&settings).await;
    world.wait_for_confirmed(hello.update_id.unwrap()).await;
    // An update with another id but the same message is the same message.
    let copy = json!({ "message": { "message_id": hello.message_id, "date": 1_700_000_000, "text": "hello",
        "chat": { "id": 1001, "type": "private", "first_name": "Ann" },
        "from": { "id": 1001, "is_bot": false, "first_name": "Ann" } } });
    world.raw_update(copy);
    world.wait_until_all_confirmed().await;
    at_rest(&settings).await;
    let again = ann.says("hello").await;
    assert_eq!(ann.next_message().await.reply_to, Some(again.message_id), "and nothing in between");
    ann.has_nothing_more();
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn update_ids_may_restart() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let before = ann.says("hello").await;
    assert_eq!(ann.next_message().await.reply_to, Some(before.message_id));
    world.restart_update_ids(500);
    for _ in 0..2 {
        let after = ann.says("hello").await;
        assert!(after.update_id < before.update_id);
        assert_eq!(ann.next_message().await.reply_to, Some(after.message_id));
    }
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_cannot_be_parsed_is_kept_and_others_are_handled() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.hold_updates();
    world.raw_update(json!({ "message": { "message_id": "not a number" } }));
    world.raw_update(json!({ "something_new": { "from": "the future" } }));
    world.raw_update(json!({}));
    let hello = ann.says("hello").await;
    world.release_updates();
    assert_eq!(ann.next_message().await.reply_to, Some(hello.message_id));
    at_rest(&settings).await;
    let count = async |state: &str| {
        number(&settings, &format!("SELECT COUNT(*) FROM inbox WHERE state = '{state}'")).await
    };
    assert_eq!((count("skipped").await, count("done").await), (3, 1));
    let kept = "SELECT COUNT(*) FROM inbox WHERE state = 'skipped' AND raw LIKE '%not a number%'";
    assert_eq!(number(&settings, kept).await, 1);
    bot.stop().await;
}
