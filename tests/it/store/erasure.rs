//! Deleted content is in none of SQLite's files: not while the program runs, not after a stop, and not in a database of a
//! version that left it behind.

use super::*;
use photothread::{
    domain::{Message, Reference, TurnState},
    store::{FinishedTurn, MessageAnnotation, Replacement, ReplacementRow, RowContent, schema},
};
use sqlx::{Connection as _, SqliteConnection};
use std::path::Path;
use uuid::Uuid;

/// A word that occurs nowhere else, in one piece for the full-text index.
fn secret() -> String {
    format!("secret{}", Uuid::new_v4().simple())
}

/// How often each file of the folder holds the word, its full-text form included.
fn occurrences(folder: &Path, word: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap();
        // The full-text index stores a word after the prefix that it shares with its neighbour: look for its end.
        let tail = &word.as_bytes()[word.len() - 20..];
        let count = bytes.windows(tail.len()).filter(|window| *window == tail).count();
        if count > 0 {
            found.push((path.file_name().unwrap().to_string_lossy().into_owned(), count));
        }
    }
    found
}

/// Fills two sessions in turns, so that their rows share pages and pages are split.
async fn two_sessions(store: &Store, word: &str) -> [SessionId; 2] {
    let (first, second) = (chat(1), chat(2));
    let deleted = store.start_session(&first, &ann()).await.unwrap();
    let kept = store.start_session(&second, &ann()).await.unwrap();
    for n in 0..60 {
        let long = "x ".repeat(n * 37 % 900);
        let note = NewMessage {
            refs: vec![reference(word)],
            tags: vec![word.into()],
            ..said(&first, deleted, &format!("{word} {long} {word}{n}"))
        };
        store.add_message(&note, &[]).await.unwrap();
        store.add_message(&said(&second, kept, &format!("harmless{n} {long}")), &[]).await.unwrap();
    }
    let update = NewUpdate { raw: word.into(), conversation_id: Some("1".into()), ..update("1") };
    let row = store.receive_updates(&[update]).await.unwrap().remove(0);
    store.skip_update(row.inbox_id, word).await.unwrap();
    store.rename_session(deleted, word).await.unwrap();
    answered_turn(store, &first, deleted, word).await;
    [deleted, kept]
}

fn reference(word: &str) -> Reference {
    serde_json::from_value(json!({ "url": format!("https://example.org/{word}"), "title": word })).unwrap()
}

/// A turn that was answered on Telegram.
async fn answered_turn(store: &Store, conversation: &Conversation, session: SessionId, word: &str) {
    let filing = Filing { session: Some(session), ..filing(conversation, vec![note("900", word)]) };
    store.file(&filing).await.unwrap();
    let turn = store.claim_turn(MANY).await.unwrap().unwrap();
    let message = NewMessage { turn_id: Some(turn.turn_id), ..answered(conversation, session, word) };
    let (state, sends) = (TurnState::Done, [text_send(word)]);
    let finish = FinishedTurn { turn: &turn, state, message: &message, sends: &sends, reply_to: None };
    store.finish_turn(&finish).await.unwrap();
    let send = store.next_send(conversation).await.unwrap().unwrap();
    store.claim_send(send.outbox_id).await.unwrap();
    store.mark_sent(&send, &["901".into()]).await.unwrap();
}

async fn messages(store: &Store, session: SessionId) -> Vec<Message> {
    store.messages_of_session(session, None, None, Detail::WithTools).await.unwrap()
}

#[tokio::test]
async fn a_deleted_session_is_in_no_file() {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite_in(home.path()).await;
    let word = secret();
    let [deleted, kept] = two_sessions(&store, &word).await;
    assert!(!occurrences(home.path(), &word).is_empty());
    store.delete_session(deleted).await.unwrap().unwrap();
    assert_eq!(occurrences(home.path(), &word), [], "while it runs");
    assert_eq!(messages(&store, kept).await.len(), 60);
    store.close().await;
    assert_eq!(occurrences(home.path(), &word), [], "after the stop");
}

#[tokio::test]
async fn replaced_words_are_in_no_file() {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite_in(home.path()).await;
    let (conversation, word) = (chat(1), secret());
    let session = store.start_session(&conversation, &ann()).await.unwrap();
    let update = NewUpdate { raw: word.clone(), conversation_id: Some("1".into()), ..update("1") };
    let row = store.receive_updates(&[update]).await.unwrap().remove(0);
    let first = note("1", &word);
    let filing = Filing {
        session: Some(session),
        inbox_ids: vec![row.inbox_id],
        ..filing(&conversation, vec![first])
    };
    store.file(&Filing { wants_turn: WantsTurn::No, ..filing }).await.unwrap();
    assert!(store.edit_message(&conversation, "1", "harmless").await.unwrap());
    assert_eq!(occurrences(home.path(), &word), [], "an edited message, its update and the preview");

    answered_turn(&store, &conversation, session, &word).await;
    let stored = messages(&store, session).await;
    let revision = async || store.session(session).await.unwrap().unwrap().revision;
    let annotation = MessageAnnotation {
        session,
        revision: revision().await,
        message: stored[0].internal_id,
        refs: Some(vec![reference(&word)]),
        tags: Some(vec![word.clone()]),
    };
    store.annotate_message(&annotation).await.unwrap();
    let emptied = MessageAnnotation {
        revision: revision().await,
        refs: Some(vec![]),
        tags: Some(vec![]),
        ..annotation
    };
    store.annotate_message(&emptied).await.unwrap();
    let rewritten = |message: &Message| ReplacementRow {
        content: RowContent::Rewritten(
            message.internal_id,
            NewMessage { content: "harmless".into(), ..message.body.clone() },
        ),
        thread_root: None,
        reply_to: None,
    };
    let rows = stored.iter().map(rewritten).collect();
    let new = Replacement { session, revision: revision().await, title: None, files: Vec::new(), rows };
    store.replace_history(&new).await.unwrap();
    assert_eq!(messages(&store, session).await.len(), 3);
    assert_eq!(
        occurrences(home.path(), &word),
        [],
        "rewritten messages, what was sent of them, tags and references"
    );
    store.close().await;
}

#[tokio::test]
async fn a_reader_delays_the_erasure_and_not_the_deletion() {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite_in(home.path()).await;
    let word = secret();
    let [deleted, _] = two_sessions(&store, &word).await;
    let mut reader = SqliteConnection::connect(&sqlite_url(home.path())).await.unwrap();
    let mut reading = reader.begin().await.unwrap();
    sqlx::query("SELECT COUNT(*) FROM message_history").execute(&mut *reading).await.unwrap();
    assert!(store.delete_session(deleted).await.unwrap().is_some());
    assert!(!occurrences(home.path(), &word).is_empty(), "the reader still needs the old pages");
    reading.rollback().await.unwrap();
    store.truncate_wal().await;
    assert_eq!(occurrences(home.path(), &word), []);
    store.close().await;
}

#[tokio::test]
async fn a_database_of_an_older_version_is_cleaned_once() {
    let home = tempfile::tempdir().unwrap();
    let (url, word) = (sqlite_url(home.path()), secret());
    schema::migrate_to(&url, 6).await.unwrap();
    let mut old = SqliteConnection::connect(&url).await.unwrap();
    sqlx::query("PRAGMA secure_delete = OFF").execute(&mut old).await.unwrap();
    for n in 0..50 {
        let raw = format!("{word} {}", "x".repeat(n * 20));
        let sql =
            "INSERT INTO inbox (update_key, raw, arrived_at, state) VALUES ($1, $2, '2026-01-01', 'done')";
        sqlx::query(sql).bind(n.to_string()).bind(raw).execute(&mut old).await.unwrap();
    }
    sqlx::query("DELETE FROM inbox").execute(&mut old).await.unwrap();
    old.close().await.unwrap();
    assert!(!occurrences(home.path(), &word).is_empty(), "the older version leaves the words in free pages");

    let store = sqlite_in(home.path()).await;
    assert_eq!(occurrences(home.path(), &word), []);
    let [version, _] = store.sqlite_pragma("user_version").await.unwrap().unwrap();
    assert_eq!(version, "1", "the next start does not do it again");
    store.close().await;
}
