//! SQLite's settings for durability and foreign keys are in force on the store's own connections.

use super::*;
use photothread::domain::MessageId;

#[tokio::test]
async fn commits_are_durable_and_foreign_keys_are_checked() {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite_in(home.path()).await;
    for (pragma, value) in
        [("journal_mode", "wal"), ("synchronous", "2"), ("foreign_keys", "1"), ("secure_delete", "1")]
    {
        let [writer, reader] = store.sqlite_pragma(pragma).await.unwrap().expect("this is SQLite");
        assert_eq!((writer.as_str(), reader.as_str()), (value, value), "{pragma}");
    }
    let nowhere = NewMessage {
        thread_root_id: Some(MessageId(99)),
        ..said(&chat(1), store.start_session(&chat(1), &ann()).await.unwrap(), "")
    };
    assert!(store.add_message(&nowhere, &[]).await.is_err(), "a thread needs a root that exists");
}

#[tokio::test]
async fn the_folder_is_created_and_data_survives_a_restart() {
    let home = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", home.path().join("not/yet/there.db").display());
    let store = Store::open(&url).await.unwrap();
    assert_eq!(store.kind(), "SQLite");
    let kept = store.receive_updates(&[update("1")]).await.unwrap();
    store.close().await;
    let again = Store::open(&url).await.unwrap();
    assert_eq!(again.unhandled_updates().await.unwrap(), kept);
}

#[tokio::test]
async fn a_reader_does_not_wait_for_a_writer() {
    use sqlx::Connection as _;
    let home = tempfile::tempdir().unwrap();
    let store = sqlite_in(home.path()).await;
    let mut other = sqlx::SqliteConnection::connect(&sqlite_url(home.path())).await.unwrap();
    let writing = other.begin_with("BEGIN IMMEDIATE").await.unwrap();
    assert_eq!(store.unhandled_updates().await.unwrap(), []);
    writing.rollback().await.unwrap();
}
