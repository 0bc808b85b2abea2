//! What must survive: updates, albums, turns and sends through kills, outages and lost answers. Here are the
//! promises about updates coming in, and what the files beside share: the program as a process, and looks at
//! its database that the store has no verb for.

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

/// What `photothread doctor` prints.
fn doctor(settings: &Settings) -> String {
    let mut command = Program::command(settings);
    let done = command.arg("doctor").stdout(Stdio::piped()).output().expect("doctor runs");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// One number from the bot's database, whichever it is.
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

/// Looks again until it is so: for what happens in the database and shows nowhere else.
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

/// Waits until nothing waits, runs or is to be sent.
async fn at_rest(settings: &Settings) {
    let open = "SELECT (SELECT COUNT(*) FROM inbox WHERE state IN ('received', 'waiting')) \
         + (SELECT COUNT(*) FROM turns WHERE state IN ('pending', 'running')) \
         + (SELECT COUNT(*) FROM outbox WHERE state IN ('queued', 'sending'))";
    eventually("the bot to have nothing to do", async || number(settings, open).await == 0).await;
}

async fn troubled(store: &Store) -> Vec<(&'static str, String)> {
    let sends = store.troubled_sends(100).await.unwrap();
    sends.into_iter().map(|send| (send.state.as_str(), send.error.unwrap_or_default())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_is_in_the_database_before_telegram_is_told_that_we_have_it() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    // The first asks what there is, the second waits for news; the third would confirm them.
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
async fn an_update_that_comes_again_is_answered_once() {
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

    // Never confirmed, so Telegram gives it to the next one who asks.
    let bot = BotUnderTest::start(&settings).await;
    world.wait_for_confirmed(hello.update_id.unwrap()).await;
    // The same message in an update of another number is the same message, too.
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
async fn telegram_may_restart_its_numbers() {
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
async fn what_cannot_be_parsed_is_kept_and_the_rest_goes_on() {
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
