//! Batches: albums are never split, messages that arrive during a turn are one next turn, chats do not wait for each
//! other.

use super::{Program, at_rest, eventually, number};
use crate::harness::{BotUnderTest, Person, ScriptedModel, Settings, World, jpeg_of, user};
use image::GenericImageView as _;

/// A red photo, identified by its width.
fn photo(width: u32) -> Vec<u8> {
    jpeg_of(width, 100, [200, 60, 40])
}

async fn next_widths(person: &Person) -> Vec<u32> {
    let album = person.next_album().await;
    let width = |bytes: &bytes::Bytes| image::load_from_memory(bytes).unwrap().dimensions().0;
    album.iter().map(|message| width(message.photo.as_ref().expect("a photo"))).collect()
}

async fn waits_in_inbox(settings: &Settings, count: i64) {
    let sql = "SELECT COUNT(*) FROM inbox WHERE state = 'waiting'";
    eventually("the updates to wait for their batch", async || number(settings, sql).await == count).await;
}

async fn turns(settings: &Settings) -> i64 {
    number(settings, "SELECT COUNT(*) FROM turns").await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_album_with_gaps_between_its_photos_is_one_turn() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_TELEGRAM__BATCH__ALBUM_QUIET_MS", "2500");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    for (place, width) in [300, 310, 320, 330].into_iter().enumerate() {
        let caption = if place == 0 { "make them black and white" } else { "" };
        let piece = ann.album_piece("gaps", photo(width), caption).await;
        // Each photo waits in the inbox before the next one is sent.
        world.wait_for_confirmed(piece.update_id.unwrap()).await;
        waits_in_inbox(&settings, place as i64 + 1).await;
    }
    assert_eq!(next_widths(&ann).await, [300, 310, 320, 330]);
    at_rest(&settings).await;
    assert_eq!(turns(&settings).await, 1);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn photos_that_arrive_during_a_download_join_their_album() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let first = world.next("download").waits();
    ann.album_piece("slow", photo(300), "make them black and white").await;
    first.reached().await;
    let second = world.next("download").waits();
    ann.album_piece("slow", photo(310), "").await;
    waits_in_inbox(&settings, 2).await;
    first.open();
    // Once more, while the second photo is downloaded.
    second.reached().await;
    ann.album_piece("slow", photo(320), "").await;
    waits_in_inbox(&settings, 3).await;
    second.open();
    assert_eq!(next_widths(&ann).await, [300, 310, 320]);
    at_rest(&settings).await;
    assert_eq!(turns(&settings).await, 1);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_album_interrupted_by_a_kill_is_one_turn_after_the_start() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let ann = world.private_chat(user(1001, "Ann"));
    for round in 0..3 {
        let album = format!("cut {round}");
        let program = Program::start(&settings);
        // Its quiet time is over before the start, so it is complete at once.
        let fetching = world.next("download").waits();
        ann.album_piece(&album, photo(300), "make them black and white").await;
        fetching.reached().await;
        program.kill();
        for width in [310, 320, 330] {
            ann.album_piece(&album, photo(width), "").await;
        }
        let program = Program::start(&settings);
        assert_eq!(next_widths(&ann).await, [300, 310, 320, 330], "round {round}");
        at_rest(&settings).await;
        assert_eq!(turns(&settings).await, round + 1);
        program.kill();
    }
    ann.has_nothing_more();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_album_that_arrives_during_a_turn_is_one_next_turn() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let held = model.hold_next();
    ann.says("a long story").await;
    held.reached().await;
    for (place, width) in [300, 310, 320].into_iter().enumerate() {
        let caption = if place == 0 { "turn them" } else { "" };
        ann.album_piece("meanwhile", photo(width), caption).await;
        waits_in_inbox(&settings, place as i64 + 1).await;
    }
    model.next_call_on_all("rotate_image", serde_json::json!({ "degrees": 180 }));
    model.next_reply("Turned.");
    held.open();
    assert_eq!(ann.next_message().await.text, "Done.");
    assert_eq!(next_widths(&ann).await, [300, 310, 320]);
    at_rest(&settings).await;
    assert_eq!(turns(&settings).await, 2);
    assert_eq!(model.refusals(), Vec::<String>::new());
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_photo_that_arrives_after_its_albums_turn_gets_a_turn_in_the_same_thread() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let first = ann.album_piece("late", photo(300), "make it black and white").await;
    ann.next_message().await;
    let late = ann.album_piece("late", photo(310), "").await;
    let answer = ann.next_message().await;
    assert_eq!(answer.reply_to, Some(late.message_id));
    let picture = image::load_from_memory(answer.photo.as_ref().expect("a photo")).unwrap();
    assert_eq!(picture.dimensions().0, 310);
    let gray = picture.to_rgb8().pixels().all(|p| p[0].abs_diff(p[1]) < 6 && p[1].abs_diff(p[2]) < 6);
    assert!(gray, "what was asked of the album was done to it, too");
    let store = settings.store().await;
    let place = photothread::domain::Conversation::telegram(1001);
    let root = async |id: i32| {
        store.find_message(&place, &id.to_string()).await.unwrap().expect("it is kept").message.root()
    };
    assert_eq!(root(late.message_id).await, root(first.message_id).await, "one thread");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_that_arrive_during_a_turn_are_one_next_turn() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let held = model.hold_next();
    ann.says("first").await;
    held.reached().await;
    let mut last = None;
    for (count, word) in [(1, "second"), (2, "third"), (3, "fourth")] {
        last = Some(ann.says(word).await);
        waits_in_inbox(&settings, count).await;
    }
    held.open();
    ann.next_message().await;
    assert_eq!(ann.next_message().await.reply_to, last.map(|message| message.message_id));
    at_rest(&settings).await;
    ann.has_nothing_more();
    let requests = model.requests();
    assert_eq!((requests.len(), turns(&settings).await), (2, 2));
    let asked = requests[1]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
    assert!(["second", "third", "fourth"].iter().all(|word| asked.contains(word)), "{asked}");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chat_does_not_wait_for_another() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let bob = world.private_chat(user(1002, "Bob"));
    let cid = world.private_chat(user(1003, "Cid"));
    let thinking = model.hold_next();
    ann.says("think hard").await;
    thinking.reached().await;
    let fetching = world.next("download").waits();
    bob.sends_photo(photo(300), "look").await;
    fetching.reached().await;
    for _ in 0..3 {
        let hello = cid.says("hello").await;
        assert_eq!(cid.next_message().await.reply_to, Some(hello.message_id));
    }
    ann.has_nothing_more();
    bob.has_nothing_more();
    fetching.open();
    bob.next_message().await;
    ann.has_nothing_more();
    thinking.open();
    ann.next_message().await;
    bot.stop().await;
}
