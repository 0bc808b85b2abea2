//! The owner, and the notices to strangers.

use super::*;
use chrono::TimeDelta;

use super::concurrency::waiting_for_a_lock;
use crate::harness::postgres::database;
use sqlx::{Connection as _, PgConnection};

const TELEGRAM: InterfaceType = InterfaceType::Telegram;

on_both! {
    async fn only_the_first_person_becomes_the_owner(store: Store) {
        let bob = UserId("200".into());
        assert_eq!(store.owners(TELEGRAM).await.unwrap(), []);
        assert!(store.become_owner(TELEGRAM, &ann()).await.unwrap());
        assert!(!store.become_owner(TELEGRAM, &bob).await.unwrap());
        assert_eq!(store.owners(TELEGRAM).await.unwrap(), [ann()]);
        assert_eq!(store.owners(InterfaceType::Web).await.unwrap(), [], "of one interface only");
    }

    async fn of_concurrent_pairings_one_succeeds(store: Store) {
        let all = (0..8).map(|n| {
            let store = store.clone();
            async move { store.become_owner(TELEGRAM, &UserId(n.to_string())).await.unwrap() }
        });
        let won = futures::future::join_all(all).await;
        assert_eq!(won.iter().filter(|won| **won).count(), 1, "{won:?}");
        assert_eq!(store.owners(TELEGRAM).await.unwrap().len(), 1);
    }

    async fn a_stranger_is_told_once_per_interval(store: Store) {
        let hour_ago = || Utc::now() - TimeDelta::hours(1);
        assert!(store.claim_stranger_notice(TELEGRAM, &ann(), hour_ago()).await.unwrap());
        assert!(!store.claim_stranger_notice(TELEGRAM, &ann(), hour_ago()).await.unwrap());
        assert!(store.claim_stranger_notice(TELEGRAM, &UserId("200".into()), hour_ago()).await.unwrap(), "each one");
        let after_the_window = Utc::now() + TimeDelta::seconds(1);
        assert!(store.claim_stranger_notice(TELEGRAM, &ann(), after_the_window).await.unwrap());
    }

    async fn a_stranger_can_become_the_owner(store: Store) {
        store.claim_stranger_notice(TELEGRAM, &ann(), long_ago()).await.unwrap();
        assert_eq!(store.owners(TELEGRAM).await.unwrap(), []);
        assert!(store.become_owner(TELEGRAM, &ann()).await.unwrap());
        let later = Utc::now() + TimeDelta::hours(1);
        assert!(!store.claim_stranger_notice(TELEGRAM, &ann(), later).await.unwrap());
        assert_eq!(store.owners(TELEGRAM).await.unwrap(), [ann()]);
    }
}

/// Another instance pairs another person in an open transaction.
#[tokio::test]
async fn a_pairing_waits_for_a_concurrent_one() {
    let url = database().await;
    let store = Store::open(&url).await.unwrap();
    let mut other = PgConnection::connect(&url).await.unwrap();
    let mut pairing = other.begin().await.unwrap();
    let pair = "INSERT INTO people (interface_type, user_id, standing, since) VALUES ('telegram', '200', 'owner', now())";
    sqlx::query(pair).execute(&mut *pairing).await.unwrap();
    let late = tokio::spawn({
        let store = store.clone();
        async move { store.become_owner(TELEGRAM, &ann()).await }
    });
    let mut watcher = PgConnection::connect(&url).await.unwrap();
    while !late.is_finished() && waiting_for_a_lock(&mut watcher).await.is_none() {}
    pairing.commit().await.unwrap();
    assert!(!late.await.unwrap().unwrap());
    assert_eq!(store.owners(TELEGRAM).await.unwrap(), [UserId("200".into())]);
}
