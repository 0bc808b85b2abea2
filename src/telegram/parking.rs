//! Messages parked for their batch. A commit waits for the disk, so messages that come meanwhile share the next one.

use crate::store::{Parked, Store, StoreError};
use std::sync::{Mutex, PoisonError};
use tokio::sync::{Mutex as Turnstile, oneshot};

/// Where messages queue for a commit.
#[derive(Default)]
pub struct Parking {
    queue: Mutex<Vec<(Parked, oneshot::Sender<()>)>>,
    /// Whoever is through commits for all who queue behind.
    turnstile: Turnstile<()>,
}

impl Parking {
    /// Returns once the message is safely parked.
    pub async fn park(&self, store: &Store, parked: Parked) -> Result<(), StoreError> {
        loop {
            let (done, mut told) = oneshot::channel();
            self.queue.lock().unwrap_or_else(PoisonError::into_inner).push((parked.clone(), done));
            let _mine = self.turnstile.lock().await;
            match told.try_recv() {
                Ok(()) => return Ok(()),
                // Whoever had it failed or was dropped.
                Err(oneshot::error::TryRecvError::Closed) => continue,
                Err(oneshot::error::TryRecvError::Empty) => {}
            }
            let all = std::mem::take(&mut *self.queue.lock().unwrap_or_else(PoisonError::into_inner));
            let (together, everyone): (Vec<Parked>, Vec<_>) = all.into_iter().unzip();
            if store.park_updates(&together).await.is_err() {
                // One of the others may be what the database refuses: from here each answers for itself.
                drop(everyone);
                return store.park_updates(&[parked]).await;
            }
            for one in everyone {
                // One that no longer listens is parked all the same.
                let _ = one.send(());
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewUpdate;
    use futures::future::join_all;

    async fn store_with_updates(folder: &std::path::Path) -> (Store, Vec<Parked>) {
        let store = Store::open(&format!("sqlite://{}", folder.join("test.db").display())).await.unwrap();
        let updates: Vec<_> = (0..20)
            .map(|n| NewUpdate { key: n.to_string(), raw: "{}".into(), conversation_id: None })
            .collect();
        let rows = store.receive_updates(&updates).await.unwrap();
        let parked = rows.iter().map(|row| Parked {
            inbox_id: row.inbox_id,
            conversation_id: "1".into(),
            sender_id: "2".into(),
            album_id: None,
        });
        (store, parked.collect())
    }

    #[tokio::test]
    async fn everyone_who_parks_at_once_is_parked() {
        let folder = tempfile::tempdir().unwrap();
        let (store, messages) = store_with_updates(folder.path()).await;
        let parking = Parking::default();
        let parks = messages.into_iter().map(|message| parking.park(&store, message));
        assert!(join_all(parks).await.iter().all(Result::is_ok));
        assert_eq!(store.waiting_updates("1", "2").await.unwrap().len(), 20);
    }

    #[tokio::test]
    async fn everyone_hears_of_a_database_that_is_away() {
        let folder = tempfile::tempdir().unwrap();
        let (store, messages) = store_with_updates(folder.path()).await;
        store.close().await;
        let parking = Parking::default();
        let parks = messages.into_iter().map(|message| parking.park(&store, message));
        assert!(join_all(parks).await.iter().all(Result::is_err));
    }
}
