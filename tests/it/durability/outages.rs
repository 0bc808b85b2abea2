//! Outages of the database and the object store: no update is lost, and work continues when they are back.

use super::{at_rest, eventually, number, troubled};
use crate::harness::{BotUnderTest, ScriptedModel, Settings, World, jpeg, postgres::PrivateServer, user};
use photothread::domain::Conversation;
use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};
use std::{fs, path::PathBuf};

/// The folder of the object store, which can be made unavailable.
struct Folder(PathBuf);

impl Folder {
    fn of(settings: &Settings) -> Self {
        Self(settings.folder().join("attachments"))
    }

    /// Like a failed mount: the path exists, but cannot be read or written.
    fn breaks(&self) {
        fs::rename(&self.0, self.0.with_extension("away")).unwrap();
        fs::write(&self.0, "not a folder").unwrap();
    }

    /// Like an unplugged disk: the path is gone.
    fn vanishes(&self) {
        fs::rename(&self.0, self.0.with_extension("away")).unwrap();
    }

    fn comes_back(&self) {
        let _ = fs::remove_file(&self.0);
        let _ = fs::remove_dir_all(&self.0);
        fs::rename(self.0.with_extension("away"), &self.0).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_is_stored_when_the_object_store_is_back() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bob = world.private_chat(user(1002, "Bob"));
    let fetching = world.next("download").waits();
    let request = ann.sends_photo(jpeg(300, 200), "rotate left").await;
    fetching.reached().await;
    let folder = Folder::of(&settings);
    folder.breaks();
    fetching.open();
    for _ in 0..3 {
        bob.says("hello").await;
        bob.next_message().await;
    }
    ann.has_nothing_more();
    folder.comes_back();
    let answer = ann.next_message().await;
    assert_eq!(answer.reply_to, Some(request.message_id));
    assert!(answer.photo.is_some(), "{answer:?}");
    assert_eq!(world.calls("download"), 1, "what was fetched is not fetched again");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_is_sent_when_its_files_can_be_read_again() {
    for outage in [Folder::breaks, Folder::vanishes] {
        let world = World::start().await;
        let settings = Settings::new(&world);
        let bot = BotUnderTest::start(&settings).await;
        let ann = world.private_chat(user(1001, "Ann"));
        // The first attempt gets a 429, so that the files must be read again.
        world.next("sendPhoto").meets_flood(1);
        let request = ann.sends_photo(jpeg(300, 200), "rotate left").await;
        world.wait_for_calls("sendPhoto", 1).await;
        let folder = Folder::of(&settings);
        outage(&folder);
        let (store, place) = (settings.store().await, Conversation::telegram(1001));
        eventually("the send to wait for its files", async || {
            let send = store.next_send(&place).await.unwrap();
            send.and_then(|send| send.error).is_some_and(|error| error.contains("attachment store"))
        })
        .await;
        folder.comes_back();
        let answer = ann.next_message().await;
        assert_eq!(answer.reply_to, Some(request.message_id));
        assert!(answer.photo.is_some(), "as a photo, as if nothing had been: {answer:?}");
        at_rest(&settings).await;
        assert_eq!(troubled(&store).await, []);
        bot.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_database_delays_work_and_loses_nothing() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    world.wait_for_calls("getUpdates", 2).await;
    let url = settings.config().database.url.to_url();
    let mut other = SqliteConnection::connect(&url).await.unwrap();
    let lock = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let confirming = world.next("getUpdates").waits();
    let hello = ann.says("hello").await;
    // The update is confirmed only after it is committed.
    let unlocked = async {
        lock.rollback().await.unwrap();
    };
    tokio::join!(unlocked, confirming.reached());
    assert_eq!(number(&settings, "SELECT COUNT(*) FROM inbox").await, 1);
    confirming.open();
    assert_eq!(ann.next_message().await.reply_to, Some(hello.message_id));
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn updates_are_not_confirmed_while_the_database_is_away() {
    let world = World::start().await;
    let server = PrivateServer::start();
    let settings = Settings::new(&world).with("PHOTOTHREAD_DATABASE__URL", server.url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bob = world.private_chat(user(1002, "Bob"));
    ann.says("hello").await;
    ann.next_message().await;
    at_rest(&settings).await;
    world.wait_until_all_confirmed().await;
    server.stop();
    let first = ann.says("hello again").await;
    let second = bob.sends_photo(jpeg(300, 200), "rotate left").await;
    // It polls again and again, and never confirms them.
    let polls = world.calls("getUpdates");
    world.wait_for_calls("getUpdates", polls + 3).await;
    assert!(world.confirmed_offset() <= first.update_id.unwrap());
    server.start_again();
    assert_eq!(ann.next_message().await.reply_to, Some(first.message_id));
    assert_eq!(bob.next_message().await.reply_to, Some(second.message_id));
    at_rest(&settings).await;
    ann.has_nothing_more();
    bob.has_nothing_more();
    assert_eq!(troubled(&settings.store().await).await, []);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn turns_survive_a_restart_of_the_database() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let server = PrivateServer::start();
    let settings =
        Settings::new(&world).with("PHOTOTHREAD_DATABASE__URL", server.url()).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    // Restart it once before a step is stored, and once before the answer is.
    model.next_call_on_all("rotate_image", json!({ "degrees": 90 }));
    model.next_reply("Turned.");
    let (step, answer) = (model.hold_next(), model.hold_next());
    let request = ann.sends_photo(jpeg(300, 200), "turn it").await;
    let mut asked = vec![request.message_id];
    for gate in [step, answer] {
        gate.reached().await;
        let polls = world.calls("getUpdates");
        server.stop();
        gate.open();
        let late = ann.says("are you there?").await;
        world.wait_for_calls("getUpdates", polls + 2).await;
        server.start_again();
        world.wait_for_confirmed(late.update_id.unwrap()).await;
        asked.push(late.message_id);
    }
    let turned = ann.next_message().await;
    assert_eq!((turned.caption.as_str(), turned.reply_to), ("Turned.", Some(request.message_id)));
    assert!(turned.photo.is_some());
    at_rest(&settings).await;
    // Both questions are one turn if the second arrived before the first was filed.
    let answered: Vec<i32> = world.sends_to(1001).iter().filter_map(|message| message.reply_to).collect();
    assert!(answered == asked || answered == [asked[0], asked[2]], "{answered:?} of {asked:?}");
    assert_eq!(number(&settings, "SELECT COUNT(*) FROM turns WHERE state <> 'done'").await, 0);
    assert_eq!(model.refusals(), Vec::<String>::new());
    assert_eq!(troubled(&settings.store().await).await, []);
    bot.stop().await;
}
