//! Outages of the database: verbs fail as `Unavailable`, nothing panics, and all works again afterwards.

use super::{concurrency::waiting_for_a_lock, *};
use crate::harness::postgres::{self, PrivateServer};
use photothread::store::StoreError;
use sqlx::{Connection as _, PgConnection};

#[tokio::test]
async fn verbs_fail_as_unavailable_during_an_outage_and_work_after_it() {
    let server = PrivateServer::start();
    let store = Store::open(&server.url()).await.unwrap();
    let kept = store.receive_updates(&[update("1")]).await.unwrap();

    server.stop();
    for _ in 0..2 {
        let read = store.unhandled_updates().await;
        assert!(matches!(read, Err(StoreError::Unavailable(_))), "{read:?}");
        let write = store.receive_updates(&[update("2")]).await;
        assert!(matches!(write, Err(StoreError::Unavailable(_))), "{write:?}");
    }
    assert!(
        matches!(Store::open(&server.url()).await, Err(StoreError::Unusable(_))),
        "opening says so at once"
    );

    server.start_again();
    let new = store.receive_updates(&[update("1"), update("2")]).await.unwrap();
    assert_eq!(new.len(), 1, "what was committed is still there, what failed is not");
    assert_eq!(store.unhandled_updates().await.unwrap(), [kept, new].concat());
}

#[tokio::test]
async fn a_connection_killed_during_a_verb_is_unavailable() {
    let url = postgres::database().await;
    let store = Store::open(&url).await.unwrap();
    let mut holder = PgConnection::connect(&url).await.unwrap();
    let mut hold = holder.begin().await.unwrap();
    sqlx::query("LOCK TABLE inbox").execute(&mut *hold).await.unwrap();

    let verb = tokio::spawn({
        let store = store.clone();
        async move { store.receive_updates(&[update("1")]).await }
    });
    let mut killer = PgConnection::connect(&url).await.unwrap();
    let pid = loop {
        if let Some(pid) = waiting_for_a_lock(&mut killer).await {
            break pid;
        }
        assert!(!verb.is_finished(), "the table is locked, so nothing can be done");
    };
    sqlx::query("SELECT pg_terminate_backend($1)").bind(pid).execute(&mut killer).await.unwrap();
    let killed = verb.await.unwrap();
    assert!(matches!(killed, Err(StoreError::Unavailable(_))), "{killed:?}");

    hold.rollback().await.unwrap();
    assert_eq!(store.receive_updates(&[update("1")]).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_closed_store_is_unavailable_and_the_error_names_the_verb() {
    let home = tempfile::tempdir().unwrap();
    for url in [sqlite_url(home.path()), postgres::database().await] {
        let store = Store::open(&url).await.unwrap();
        store.close().await;
        let error = store.unhandled_updates().await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{}: {error}", store.kind());
        assert!(error.to_string().starts_with("unhandled_updates: "), "{error}");
    }
}
