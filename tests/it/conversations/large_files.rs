//! Large files: a Bot API server of one's own has no limit of 20 MB, in either direction.

use crate::harness::{Answer, BotUnderTest, ScriptedModel, Settings, World, attachment_ids, user};
use chrono::DateTime;
use photothread::domain::Conversation;
use serde_json::json;

const MIB: usize = 1 << 20;

/// Bytes that are no picture and differ over the whole file.
fn large_file(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at / 7 % 251) as u8).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_file_comes_from_the_disk_of_a_local_server_and_goes_back_as_it_was() {
    let world = World::start().await;
    let model = ScriptedModel::start().await;
    let folder = tempfile::tempdir().unwrap();
    world.serves_locally(folder.path());
    let settings = Settings::new(&world)
        .with_model(&model.base_url())
        .with("PHOTOTHREAD_TELEGRAM__LOCAL_SERVER", "true");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let content = large_file(30 * MIB);
    model.next_with(|request| {
        let ids = attachment_ids(request);
        Answer::Calls(vec![("attach_to_response".into(), json!({ "attachment_ids": ids }))])
    });
    ann.sends_document("backup.bin", content.clone(), "send it back").await;
    let (name, bytes) = ann.next_message().await.document.expect("a document");
    assert_eq!(name, "backup.bin");
    assert!(bytes == content, "{} bytes came back", bytes.len());
    assert_eq!(world.calls("download"), 0, "it was read from the disk");
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_limit_of_the_settings_holds_for_a_local_server_too() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    world.serves_locally(folder.path());
    let settings = Settings::new(&world)
        .with("PHOTOTHREAD_TELEGRAM__LOCAL_SERVER", "true")
        .with("PHOTOTHREAD_ATTACHMENTS__MAX_FILE_BYTES", (22 * MIB).to_string());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_document("backup.bin", large_file(23 * MIB), "what is it?").await;
    let answer = ann.next_message().await;
    assert!(answer.text.contains("backup.bin"), "{}", answer.text);
    ann.sends_document("small.bin", large_file(21 * MIB), "what is it?").await;
    ann.next_message().await;
    settings.until_settled(&world).await;
    bot.stop().await;
    let (store, place) = (settings.store().await, Conversation::telegram(1001));
    let kept = store.recent_attachments(&place, DateTime::UNIX_EPOCH, 10).await.unwrap();
    let names: Vec<&str> = kept.iter().map(|file| file.filename.as_str()).collect();
    assert_eq!(names, ["small.bin"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_the_local_server_lost_is_told() {
    let world = World::start().await;
    let folder = tempfile::tempdir().unwrap();
    world.serves_locally(folder.path());
    let settings = Settings::new(&world).with("PHOTOTHREAD_TELEGRAM__LOCAL_SERVER", "true");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let gate = world.next("getFile").waits_with_its_answer();
    ann.sends_document("notes.txt", "milk, eggs", "read it").await;
    gate.reached().await;
    for file in std::fs::read_dir(folder.path()).unwrap() {
        std::fs::remove_file(file.unwrap().path()).unwrap();
    }
    gate.open();
    let answer = ann.next_message().await;
    assert!(answer.text.contains("couldn't fetch notes.txt"), "{}", answer.text);
    bot.stop().await;
}
