//! How much history the model is sent, and which files are listed.

use super::{Stage, renamed, said_by, system};
use crate::harness::{Answer, BotUnderTest, ScriptedModel, Settings, World, attachment_ids, jpeg, user};
use chrono::{TimeDelta, Utc};
use photothread::domain::{Conversation, NewMessage, Role, UserId};
use serde_json::json;

const NO_PAST: (&str, &str) = ("PHOTOTHREAD_HISTORY__HISTORY_MAX_AGE_HOURS", "0");

#[tokio::test(flavor = "multi_thread")]
async fn outside_a_thread_the_model_sees_the_last_ten_messages() {
    let stage = Stage::set().await;
    for number in 1..=7 {
        stage.ann.says(&format!("message {number}")).await;
        stage.ann.next_message().await;
    }
    let request = stage.last_request();
    let asked: Vec<String> = (2..=7).map(|number| format!("<<<\nmessage {number}\n>>>")).collect();
    assert_eq!(said_by("user", &request), asked, "five before this one, and their five answers");
    assert_eq!(said_by("assistant", &request), ["Done."; 5]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_older_than_two_hours_are_left_out() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let settings = Settings::new(&world).with_model(&model.base_url());
    let ann = world.private_chat(user(1001, "Ann"));
    let (store, place) = (settings.store().await, Conversation::telegram(ann.chat_id));
    let session = store.start_session(&place, &UserId("1001".into())).await.unwrap();
    for (words, hours) in [("long ago", 3), ("an hour ago", 1)] {
        let timestamp = Utc::now() - TimeDelta::hours(hours);
        let message = NewMessage { timestamp, ..NewMessage::new(place.clone(), session, Role::User, words) };
        store.add_message(&message, &[]).await.unwrap();
    }
    let bot = BotUnderTest::start(&settings).await;
    ann.says("hello").await;
    ann.next_message().await;
    let request = model.requests().pop().unwrap();
    assert_eq!(said_by("user", &request), ["<<<\nan hour ago\n>>>", "<<<\nhello\n>>>"]);
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reply_sees_its_whole_thread_regardless_of_length_and_age() {
    let stage = Stage::set_with(&[NO_PAST]).await;
    let root = stage.ann.says("the root").await;
    stage.ann.next_message().await;
    stage.ann.says("something else").await;
    stage.ann.next_message().await;
    for number in 1..=8 {
        stage.ann.replies(&root, &format!("reply {number}")).await;
        stage.ann.next_message().await;
    }
    let asked = said_by("user", &stage.last_request());
    assert_eq!(asked.len(), 9, "{asked:#?}");
    assert_eq!(asked[0], "<<<\nthe root\n>>>");
    assert!(asked.iter().all(|text| !text.contains("something else")));
    assert!(asked[8].starts_with("In reply to their own message of "), "{}", asked[8]);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_thread_loses_its_oldest_messages_but_never_its_root() {
    let stage = Stage::set_with(&[("PHOTOTHREAD_HISTORY__MAX_THREAD_TOKENS", "200")]).await;
    let photo = stage.ann.sends_photo(jpeg(64, 48), "the root").await;
    stage.ann.next_message().await;
    for number in 1..=6 {
        stage.model.next_with(|request| {
            let images = &attachment_ids(request)[..1];
            let arguments = json!({ "images": images, "direction": "horizontal" });
            Answer::Calls(vec![("flip_image".into(), arguments)])
        });
        stage.model.next_reply(&format!("answer {number}"));
        stage.ann.replies(&photo, &format!("reply {number} {}", "and ".repeat(20))).await;
        stage.ann.next_message().await;
    }
    let request = stage.last_request();
    let asked = said_by("user", &request).join("\n");
    let first = &said_by("user", &request)[0];
    assert!(first.starts_with("<<<\nthe root\n>>>\n[Attachment ID: "), "{first}");
    assert_eq!(asked.matches("left out here").count(), 1, "{asked}");
    assert!(!asked.contains("reply 1 ") && asked.contains("reply 6 "), "{asked}");
    assert_eq!(said_by("assistant", &request).iter().filter(|text| *text == "answer 5").count(), 1);
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn recent_files_are_listed_only_in_a_thread_and_only_if_there_are_any() {
    let stage = Stage::set().await;
    let words = stage.ann.says("hello").await;
    stage.ann.next_message().await;
    stage.ann.replies(&words, "hello again").await;
    stage.ann.next_message().await;
    assert!(!system(&stage.last_request()).contains("Recent Attachments"), "there are none");
    let photo = stage.ann.sends_photo(jpeg(64, 48), "look").await;
    stage.ann.next_message().await;
    assert!(!system(&stage.last_request()).contains("Recent Attachments"), "no thread");
    stage.ann.sends_document("notes.txt", "some words", "").await;
    stage.ann.next_message().await;
    stage.ann.replies(&photo, "and now?").await;
    stage.ann.next_message().await;
    let told = renamed(&system(&stage.last_request()));
    assert!(
        told.ends_with(
            "\n\nRecent Attachments in Conversation:\n\
             - [A1] notes.txt (text/plain) - just now\n\
             - [A2] image.jpg (image/jpeg) - just now"
        ),
        "{told}"
    );
    stage.clear().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn old_files_are_listed_only_if_they_belong_to_the_thread() {
    let stage = Stage::set_with(&[NO_PAST]).await;
    stage.ann.sends_photo(jpeg(70, 48), "another thread").await;
    stage.ann.next_message().await;
    let photo = stage.ann.sends_document("mine.jpg", jpeg(64, 48), "look").await;
    stage.ann.next_message().await;
    stage.ann.replies(&photo, "and now?").await;
    stage.ann.next_message().await;
    let told = renamed(&system(&stage.last_request()));
    let block = told.split("Recent Attachments in Conversation:\n").nth(1).expect("the thread has a file");
    assert_eq!(block, "- [A1] mine.jpg (image/jpeg) - just now");
    stage.clear().await;
}
