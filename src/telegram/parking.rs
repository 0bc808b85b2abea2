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
