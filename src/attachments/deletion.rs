//! Bytes that nobody needs any more are removed, but never from under a file that is just being kept: the same content
//! may be on its way in while an older file with it is deleted.

use super::{AttachmentError, Attachments, ObjectError, VIEW_SIZES, view_key};
use crate::{domain::AttachmentId, store::Doomed};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::{RwLock, RwLockReadGuard};

/// Bytes that are in the store for longer than this without a row will not get one.
const ON_ITS_WAY: Duration = Duration::from_secs(600);
/// A file that waited this long for its row (the database may be away, a person may not have gone on) has lost it.
const NOBODYS: Duration = Duration::from_secs(86_400);
/// How many are removed at a time.
const AT_ONCE: i64 = 100;

/// Bytes that were kept lately and whose row may be still to come.
#[derive(Default)]
pub struct Arrivals {
    /// Held for reading while bytes come in, for writing while some are removed.
    door: RwLock<()>,
    lately: Mutex<HashMap<String, Vec<(AttachmentId, Instant)>>>,
}

impl Arrivals {
    /// While this is held, nothing is removed.
    pub async fn come_in(&self) -> RwLockReadGuard<'_, ()> {
        self.door.read().await
    }

    pub async fn arrive(
        &self,
        key: &str,
        id: AttachmentId,
        put: impl Future<Output = Result<(), ObjectError>>,
    ) -> Result<(), ObjectError> {
        let _coming_in = self.come_in().await;
        put.await?;
        self.lately().entry(key.to_owned()).or_default().push((id, Instant::now()));
        Ok(())
    }

    /// Bytes that came so long ago that no row will come any more: what has none is nobody's.
    fn settled(&self) -> Vec<String> {
        let mut settled = Vec::new();
        self.lately().retain(|key, arrived| {
            arrived.retain(|(_, at)| at.elapsed() < NOBODYS);
            if arrived.is_empty() {
                settled.push(key.clone());
            }
            !arrived.is_empty()
        });
        settled
    }

    /// These files are gone: nobody need wait for their rows.
    fn forget(&self, deleted: &[Doomed]) {
        let mut lately = self.lately();
        for object in deleted {
            if let Some(arrived) = lately.get_mut(&object.object_key) {
                arrived.retain(|(id, _)| *id != object.attachment_id);
            }
        }
    }

    /// Whether a file may be about to use the bytes.
    fn awaits(&self, key: &str) -> bool {
        let lately = self.lately();
        lately.get(key).is_some_and(|arrived| arrived.iter().any(|(_, at)| at.elapsed() < ON_ITS_WAY))
    }

    fn lately(&self) -> MutexGuard<'_, HashMap<String, Vec<(AttachmentId, Instant)>>> {
        self.lately.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attachments {
    /// Removes the bytes of deleted files that no other file has. Returns the hashes of what is gone.
    pub async fn sweep(&self) -> Result<Vec<String>, AttachmentError> {
        let mut gone = Vec::new();
        for key in self.arrivals.settled() {
            let _alone = self.arrivals.door.write().await;
            if !self.store.object_in_use(&key).await? {
                self.objects.delete(&key).await?;
            }
        }
        loop {
            let doomed = self.store.doomed_objects(AT_ONCE).await?;
            self.arrivals.forget(&doomed);
            let mut settled = Vec::new();
            for object in &doomed {
                let _alone = self.arrivals.door.write().await;
                if self.store.object_in_use(&object.object_key).await? {
                    settled.push(object.attachment_id);
                    continue;
                }
                if self.arrivals.awaits(&object.object_key) {
                    continue;
                }
                self.objects.delete(&object.object_key).await?;
                for size in VIEW_SIZES {
                    self.objects.delete(&view_key(&object.sha256, size)).await?;
                }
                gone.push(object.sha256.clone());
                settled.push(object.attachment_id);
            }
            self.store.forget_doomed(&settled).await?;
            // What is left over waits for the next time.
            if settled.is_empty() || (doomed.len() as i64) < AT_ONCE {
                return Ok(gone);
            }
        }
    }
}
