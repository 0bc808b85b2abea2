//! Group commit for parked rows: a commit waits for the disk, so rows that are parked meanwhile share the next one.

use crate::store::{BatchedUpdate, Store, StoreError};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::oneshot::{self, error::TryRecvError};

/// A row and the channel that tells its caller that it is committed.
type QueuedRow = (BatchedUpdate, oneshot::Sender<()>);

/// Rows that wait for the next commit.
#[derive(Default)]
pub struct ParkQueue {
    queue: Mutex<Vec<QueuedRow>>,
    /// Its holder commits for all rows in the queue.
    commit_lock: tokio::sync::Mutex<()>,
}

impl ParkQueue {
    /// Returns once the row is committed as waiting.
    pub async fn park(&self, store: &Store, row: BatchedUpdate) -> Result<(), StoreError> {
        loop {
            let (done, mut committed) = oneshot::channel();
            self.queue().push((row.clone(), done));
            let _commit = self.commit_lock.lock().await;
            match committed.try_recv() {
                Ok(()) => return Ok(()),
                // The task that took this row from the queue failed or was dropped.
                Err(TryRecvError::Closed) => continue,
                Err(TryRecvError::Empty) => {}
            }
            let (rows, callers): (Vec<BatchedUpdate>, Vec<_>) =
                std::mem::take(&mut *self.queue()).into_iter().unzip();
            if store.add_to_batches(&rows).await.is_err() {
                // Another row may be the one that the database refuses, so each caller tries again with its own.
                drop(callers);
                return store.add_to_batches(&[row]).await;
            }
            for caller in callers {
                // A caller that was dropped has its row parked all the same.
                let _ = caller.send(());
            }
            return Ok(());
        }
    }

    fn queue(&self) -> MutexGuard<'_, Vec<QueuedRow>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::NewUpdate;
    use futures::future::join_all;

    async fn store_with_updates(folder: &std::path::Path) -> (Store, Vec<BatchedUpdate>) {
        let store = Store::open(&format!("sqlite://{}", folder.join("test.db").display())).await.unwrap();
        let updates: Vec<_> = (0..20)
            .map(|n| NewUpdate { key: n.to_string(), raw: "{}".into(), conversation_id: None })
            .collect();
        let rows = store.receive_updates(&updates).await.unwrap();
        let parked = rows.iter().map(|row| BatchedUpdate {
            inbox_id: row.inbox_id,
            conversation_id: "1".into(),
            sender_id: "2".into(),
            album_id: None,
        });
        (store, parked.collect())
    }

    #[tokio::test]
    async fn all_rows_that_are_parked_at_once_are_committed() {
        let folder = tempfile::tempdir().unwrap();
        let (store, rows) = store_with_updates(folder.path()).await;
        let queue = ParkQueue::default();
        let parks = rows.into_iter().map(|row| queue.park(&store, row));
        assert!(join_all(parks).await.iter().all(Result::is_ok));
        assert_eq!(store.waiting_updates("1", "2").await.unwrap().len(), 20);
    }

    #[tokio::test]
    async fn all_callers_get_the_error_of_an_unavailable_database() {
        let folder = tempfile::tempdir().unwrap();
        let (store, rows) = store_with_updates(folder.path()).await;
        store.close().await;
        let queue = ParkQueue::default();
        let parks = rows.into_iter().map(|row| queue.park(&store, row));
        assert!(join_all(parks).await.iter().all(Result::is_err));
    }
}
