//! Concurrency: what two tasks or instances do at the same moment happens once and in order.

use super::*;
use crate::harness::postgres::database;
use futures::future::join_all;
use photothread::store::{Quota, Replacement, StoreError};
use sqlx::{Connection as _, PgConnection, Row as _};
use std::collections::HashSet;

on_both! {
    async fn files_are_added_by_filings_steps_and_replacements_at_once(store: Store) {
        // With a limit, so that the totals are locked.
        let store = store.with_quota(Quota { max_conversation_bytes: 1 << 40, ..Quota::default() });
        let session = store.start_session(&chat(1), &ann()).await.unwrap();
        let all = (0..24).map(|n| {
            let store = store.clone();
            async move {
                let new = picture(&chat(1));
                match n % 3 {
                    0 => {
                        let mut sent = note(&n.to_string(), "here");
                        sent.files.push(FiledFile::New(new));
                        let quiet = Filing { wants_turn: WantsTurn::No, ..filing(&chat(1), vec![sent]) };
                        store.file(&quiet).await.map(drop)
                    }
                    1 => {
                        let carried = vec![new.attachment_id];
                        let step = NewMessage { attachments: carried, ..said(&chat(1), session, "a step") };
                        store.add_message(&step, &[new]).await.map(drop)
                    }
                    _ => {
                        let revision = store.session(session).await?.map_or(0, |session| session.revision);
                        let replacement =
                            Replacement { session, revision, title: None, files: vec![new], rows: Vec::new() };
                        store.replace_history(&replacement).await.map(drop)
                    }
                }
            }
        });
        for done in join_all(all).await {
            done.expect("transactions that add files do not wait for each other in a circle");
        }
    }

    async fn concurrent_filings_start_one_session(store: Store) {
        let all = (0..8).map(|n| {
            let (store, shown_id) = (store.clone(), n.to_string());
            async move { session_of_filed(&store, &chat(1), &ann(), &shown_id).await }
        });
        let sessions: HashSet<_> = join_all(all).await.into_iter().collect();
        assert_eq!(sessions.len(), 1);
    }

    async fn concurrent_deliveries_store_an_update_once(store: Store) {
        let all = (0..8).map(|_| {
            let store = store.clone();
            async move { store.receive_updates(&[update("1"), update("2")]).await.unwrap().len() }
        });
        assert_eq!(join_all(all).await.into_iter().sum::<usize>(), 2);
    }

    async fn concurrent_filings_of_a_batch_file_it_once(store: Store) {
        let row = store.receive_updates(&[update("1")]).await.unwrap().remove(0);
        let all = (0..8).map(|n| {
            let (store, id) = (store.clone(), n.to_string());
            async move {
                let batch = Filing { inbox_ids: vec![row.inbox_id], ..filing(&chat(1), vec![note(&id, "hi")]) };
                match store.file(&batch).await {
                    Ok(_) => 1,
                    Err(StoreError::AlreadyDone) => 0,
                    Err(e) => panic!("{e}"),
                }
            }
        });
        assert_eq!(join_all(all).await.into_iter().sum::<i32>(), 1);
        assert_eq!(store.count_open_turns().await.unwrap(), 1);
    }

    async fn concurrent_claims_take_the_oldest_turn_of_each_conversation_once(store: Store) {
        let mut oldest = HashSet::new();
        for n in 1..=4 {
            for shown_id in ["1", "2", "3"] {
                let filed = store.file(&filing(&chat(n), vec![note(shown_id, "please")])).await.unwrap();
                if shown_id == "1" {
                    oldest.insert(filed.turn.unwrap());
                }
            }
        }
        let all = (0..4).map(|_| {
            let store = store.clone();
            async move { store.claim_turn(MANY).await.unwrap().map(|turn| turn.turn_id) }
        });
        let claimed: HashSet<_> = join_all(all).await.into_iter().flatten().collect();
        assert_eq!(claimed, oldest, "no claimer comes home empty while a conversation is free");
        assert_eq!(store.claim_turn(MANY).await.unwrap(), None);
    }

    async fn concurrent_claims_of_a_send_succeed_once(store: Store) {
        store.answer_update(&[], &chat(1), None, &[text_send("once")]).await.unwrap();
        let id = store.next_send(&chat(1)).await.unwrap().unwrap().outbox_id;
        let all = (0..8).map(|_| {
            let store = store.clone();
            async move { store.claim_send(id).await.unwrap() }
        });
        assert_eq!(join_all(all).await.into_iter().filter(|won| *won).count(), 1);
    }
}

/// A late photo is filed while another instance claims the turn in an open transaction.
#[tokio::test]
async fn a_late_photo_does_not_join_a_turn_that_is_being_claimed() {
    let url = database().await;
    let store = Store::open(&url).await.unwrap();
    let conversation = chat(1);
    let first = store
        .file(&filing(&conversation, vec![album_photo(&conversation, "1", "x")]))
        .await
        .unwrap()
        .turn
        .unwrap();

    let mut other = PgConnection::connect(&url).await.unwrap();
    let mut claim = other.begin().await.unwrap();
    sqlx::query("UPDATE turns SET state = 'running' WHERE turn_id = $1")
        .bind(first.to_string())
        .execute(&mut *claim)
        .await
        .unwrap();

    let batch = filing(&conversation, vec![album_photo(&conversation, "2", "x")]);
    let late = tokio::spawn({
        let store = store.clone();
        async move { store.file(&batch).await }
    });
    let mut watcher = PgConnection::connect(&url).await.unwrap();
    while !late.is_finished() && waiting_for_a_lock(&mut watcher).await.is_none() {}
    claim.commit().await.unwrap();

    assert_ne!(late.await.unwrap().unwrap().turn, Some(first));
    assert_eq!(store.inputs_of_turn(first).await.unwrap().len(), 1);
}

/// The process id of a connection to this database that waits for another one's lock.
pub async fn waiting_for_a_lock(conn: &mut PgConnection) -> Option<i32> {
    let row = sqlx::query(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1",
    )
    .fetch_optional(conn)
    .await
    .unwrap();
    row.map(|row| row.get("pid"))
}
