//! Limits on stored files, old files, and files that do not fit the database.

use crate::{
    api::{Api, part, problem},
    harness::{BotUnderTest, Program, Settings, World, jpeg, user},
};
use futures::future::join_all;
use photothread::{
    domain::{Conversation, UserId},
    store::Detail,
};
use reqwest::{Method, StatusCode, multipart::Form};
use serde_json::Value;
use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, SystemTime},
};

const PER_CONVERSATION: &str = "PHOTOTHREAD_ATTACHMENTS__MAX_CONVERSATION_BYTES";
const PER_PERSON: &str = "PHOTOTHREAD_ATTACHMENTS__MAX_PERSON_BYTES";

/// Bytes that no compression and no other test makes smaller or equal.
pub fn noise(seed: u8, bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|at| (at as u32).wrapping_mul(2_654_435_761).rotate_left(seed.into()) as u8 ^ seed)
        .collect()
}

pub fn blobs(settings: &Settings) -> Vec<PathBuf> {
    fn files(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.path() {
                path if path.is_dir() => files(&path, found),
                path => found.push(path),
            }
        }
    }
    let mut found = Vec::new();
    files(&settings.folder().join("attachments/sha256"), &mut found);
    found
}

async fn open(settings: impl FnOnce(Settings) -> Settings) -> Api {
    let world = World::start().await;
    let settings = settings(Settings::new(&world).with("TELEGRAM_BOT_TOKEN", ""));
    Api::with(world, settings).await
}

async fn upload(api: &Api, session: Option<&str>, bytes: Vec<u8>) -> reqwest::Response {
    let form = Form::new().part("file", part("noise.bin", bytes));
    let form = match session {
        Some(session) => form.text("session_id", session.to_owned()),
        None => form,
    };
    api.ask(Method::POST, "/attachments").multipart(form).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_arrive_together_stay_within_the_limit_of_a_conversation() {
    let api = open(|settings| settings.with(PER_CONVERSATION, "1000000")).await;
    let session = api.begin().await;
    let uploads = (0..8).map(|seed| upload(&api, Some(&session), noise(seed, 300_000)));
    let mut kept = 0;
    for answer in join_all(uploads).await {
        match answer.status() {
            StatusCode::CREATED => kept += 1,
            _ => {
                let detail = problem(answer, StatusCode::PAYLOAD_TOO_LARGE).await;
                assert!(detail.starts_with("this conversation already keeps"), "{detail}");
            }
        }
    }
    assert_eq!(kept, 3);
    let message = Form::new().text("content", "and this").part("files", part("more.bin", noise(9, 300_000)));
    let answer = api.asks(&session, message).await;
    assert!(answer["content"].as_str().unwrap().contains("already keeps"), "{answer}");
    let gone = async {
        while blobs(&api.settings).len() > 3 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::harness::WAIT_TIMEOUT, gone).await.expect("refused files are deleted");
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_has_one_limit_for_all_conversations() {
    let api = open(|settings| settings.with(PER_PERSON, "1000000")).await;
    for (seed, expected) in [(1, true), (2, true), (3, true), (4, false)] {
        let session = api.begin().await;
        let answer = upload(&api, Some(&session), noise(seed, 300_000)).await;
        if expected {
            assert_eq!(answer.status(), StatusCode::CREATED);
        } else {
            let detail = problem(answer, StatusCode::PAYLOAD_TOO_LARGE).await;
            assert!(detail.contains("in all your conversations"), "{detail}");
        }
    }
    let store = api.settings.store().await;
    let nowhere = Conversation::telegram(9);
    let person = |user: &str| {
        let (store, nowhere, user) = (store.clone(), nowhere.clone(), UserId(user.into()));
        async move { store.stored_bytes(&nowhere, &user).await.unwrap().person }
    };
    assert_eq!((person("local").await, person("1001").await), (900_000, 0));
    store.close().await;
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_album_is_kept_as_far_as_it_fits_and_the_rest_is_refused_with_a_reason() {
    let world = World::start().await;
    let photos = [jpeg(640, 480), jpeg(480, 640), jpeg(641, 480)];
    let room = photos[0].len() + photos[1].len() + 10;
    let settings = Settings::new(&world).with(PER_PERSON, room.to_string());
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_album(&photos, "what files do we have?").await;
    let answer = ann.next_message().await.text;
    assert!(answer.contains("You already keep") && answer.contains("is the limit"), "{answer}");
    let store = settings.store().await;
    let since = chrono::Utc::now() - chrono::TimeDelta::hours(1);
    let kept = store.recent_attachments(&Conversation::telegram(1001), since, 10).await.unwrap();
    assert_eq!(kept.len(), 2);
    let bob = world.private_chat(user(1002, "Bob"));
    bob.sends_photo(jpeg(64, 48), "rotate left").await;
    assert!(bob.next_message().await.photo.is_some(), "another person has room");
    store.close().await;
    bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_little_free_space_files_are_refused_and_words_are_answered() {
    let world = World::start().await;
    let settings = Settings::new(&world).with("PHOTOTHREAD_ATTACHMENTS__MIN_FREE_BYTES", "1000000000000000");
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    ann.sends_photo(jpeg(64, 48), "rotate left").await;
    let answer = ann.next_message().await;
    assert!(answer.photo.is_none() && answer.text.contains("disk here is nearly full"), "{}", answer.text);
    ann.says("what can you do?").await;
    assert!(!ann.next_message().await.text.contains("disk"));
    bot.stop().await;
    assert!(blobs(&settings).is_empty());
    let (report, healthy) = doctor(&settings, &[]);
    assert!(!healthy && report.contains("the disk is full"), "{report}");
}

/// The output of `photothread doctor`, and whether all is well.
fn doctor(settings: &Settings, arguments: &[&str]) -> (String, bool) {
    let mut command = Program::command(settings);
    let done = command.arg("doctor").args(arguments).stdout(Stdio::piped()).output().expect("doctor runs");
    (String::from_utf8(done.stdout).unwrap(), done.status.success())
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_reports_lost_and_orphaned_files_and_deletes_the_orphaned_ones() {
    let api = open(|settings| settings).await;
    let session = api.begin().await;
    for seed in [1, 2] {
        assert_eq!(upload(&api, Some(&session), noise(seed, 1000)).await.status(), StatusCode::CREATED);
    }
    let settings = api.settings;
    api.bot.stop().await;
    let (report, _) = doctor(&settings, &["--repair"]);
    assert!(report.contains("every stored file has a row"), "{report}");

    let kept = blobs(&settings);
    assert_eq!(kept.len(), 2);
    fs::remove_file(&kept[0]).unwrap();
    let folder = settings.folder().join("attachments");
    let orphans = [format!("sha256/ab/ab{}", "0".repeat(62)), format!("views/cd/cd{}-96", "0".repeat(62))];
    for name in &orphans {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let file = fs::File::create(&path).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    }
    // What an interrupted write leaves: object_store does not list it.
    let unfinished = folder.join(format!("sha256/ab/ab{}#1", "2".repeat(62)));
    let file = fs::File::create(&unfinished).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
    let young = folder.join(format!("sha256/ab/ab{}", "1".repeat(62)));
    fs::write(&young, "about to get its row").unwrap();

    let (report, healthy) = doctor(&settings, &[]);
    assert!(!healthy && report.contains("3 stored file(s) without a row"), "{report}");
    assert!(report.contains("has lost its file") && report.contains("1 attachment(s) without"), "{report}");
    let log = {
        let program = Program::start(&settings);
        let found = async {
            while !program.log().contains("do not fit together") {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(crate::harness::WAIT_TIMEOUT, found).await.expect("a line in the log");
        program.kill()
    };
    assert!(log.contains("orphaned=2 unfinished=1 missing=1"), "{log}");

    let (report, _) = doctor(&settings, &["--repair"]);
    assert!(report.contains("3 stored file(s) without a row deleted"), "{report}");
    assert!(!unfinished.exists());
    assert!(orphans.iter().all(|name| !folder.join(name).exists()) && young.exists() && kept[1].exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn old_files_go_unless_a_newer_edit_needs_them_and_their_messages_say_so() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    let bot = BotUnderTest::start(&settings).await;
    let ann = world.private_chat(user(1001, "Ann"));
    let old = ann.sends_photo(jpeg(64, 48), "rotate left").await;
    ann.next_message().await;
    let edited = ann.sends_photo(jpeg(48, 64), "rotate left").await;
    ann.next_message().await;
    bot.stop().await;

    // Everything so far is 40 days old; then the second photo is edited again.
    let database = settings.variables()["PHOTOTHREAD_DATABASE__URL"].clone();
    let mut conn = <sqlx::SqliteConnection as sqlx::Connection>::connect(&database).await.unwrap();
    let aged = (chrono::Utc::now() - chrono::TimeDelta::days(40)).to_rfc3339();
    sqlx::query("UPDATE attachment_metadata SET created_at = $1")
        .bind(aged)
        .execute(&mut conn)
        .await
        .unwrap();
    let bot = BotUnderTest::start(&settings).await;
    ann.replies(&edited, "flip it").await;
    ann.next_message().await;
    bot.stop().await;
    assert_eq!(blobs(&settings).len(), 5, "two photos, two edits, and the new one");

    let settings = settings.with("PHOTOTHREAD_ATTACHMENTS__RETENTION_DAYS", "30");
    let bot = BotUnderTest::start(&settings).await;
    let gone = async {
        while blobs(&settings).len() > 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::harness::WAIT_TIMEOUT, gone).await.expect("old files are deleted");
    ann.replies(&edited, "rotate right").await;
    assert!(ann.next_message().await.photo.is_some(), "a newer edit was made from it");
    ann.replies(&old, "rotate left").await;
    let told = ann.next_message().await;
    assert!(told.photo.is_none() && told.text.starts_with("Which picture?"), "{}", told.text);
    bot.stop().await;

    let store = settings.store().await;
    let session = crate::harness::newest_session(&store, &Conversation::telegram(1001)).await.unwrap();
    let messages =
        store.messages_of_session(session.session_id, None, None, Detail::WithoutTools).await.unwrap();
    let first = &messages[0].content;
    assert!(
        first.starts_with("rotate left\n(") && first.ends_with("was deleted here after 30 days.)"),
        "{first}"
    );
    assert!(messages.iter().all(|message| !message.content.is_empty() || !message.attachments.is_empty()));
    store.close().await;
}

/// The JSON of an upload names the file; its size counts.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_that_a_message_uses_is_counted_once() {
    let api = open(|settings| settings.with(PER_PERSON, "1000")).await;
    let uploaded: Value = upload(&api, None, noise(1, 900)).await.json().await.unwrap();
    let session = api.begin().await;
    let id = &uploaded["attachment"]["attachmentId"];
    let sent =
        api.says(&session, &serde_json::json!({ "content": "keep this", "attachment_ids": [id] })).await;
    api.answer(&session, &sent["turnId"]).await;
    api.bot.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_cannot_be_deleted_now_keeps_no_other_and_is_deleted_later() {
    let api = open(|settings| settings).await;
    let session = api.begin().await;
    for seed in 1..=4 {
        assert_eq!(upload(&api, Some(&session), noise(seed, 1000)).await.status(), StatusCode::CREATED);
    }
    // A folder in the place of a file cannot be deleted as one.
    let stuck = blobs(&api.settings).remove(1);
    fs::remove_file(&stuck).unwrap();
    fs::create_dir(&stuck).unwrap();
    let deleted = api.ask(Method::DELETE, &format!("/sessions/{session}")).send().await.unwrap();
    assert_eq!((deleted.status(), blobs(&api.settings)), (StatusCode::OK, Vec::new()));

    fs::remove_dir(&stuck).unwrap();
    fs::write(&stuck, "still listed").unwrap();
    let api = api.restarted().await;
    let gone = async {
        while stuck.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(crate::harness::WAIT_TIMEOUT, gone).await.expect("the next upkeep deletes it");
    api.bot.stop().await;
}
