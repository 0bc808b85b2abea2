//! Deletes blobs that no attachment uses. A blob that was just written is kept for a while: its row follows in another
//! transaction, and the same content may be written again while an older attachment with it is deleted.

use super::{AttachmentError, Attachments, ObjectError, VIEW_SIZES, view_key};
use crate::{domain::AttachmentId, store::ObjectToDelete};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use tokio::sync::{RwLock, RwLockReadGuard};

/// A blob of a deleted attachment is kept this long after it was written: another row may be about to use it.
pub const ROW_GRACE_PERIOD: Duration = Duration::from_secs(600);
/// A blob that got no row in this time is orphaned: a crash, a long outage or a person who did not go on.
const ORPHAN_AGE: Duration = Duration::from_secs(86_400);
/// How many blobs are deleted per query.
const BATCH_SIZE: i64 = 100;

/// Blobs that this process wrote recently and that may not have a row yet.
#[derive(Default)]
pub struct PendingBlobs {
    /// Held for reading while a blob is written, for writing while one is deleted.
    lock: RwLock<()>,
    /// By object key: the attachments it was written for, and when.
    written: Mutex<HashMap<String, Vec<(AttachmentId, Instant)>>>,
    /// Object keys of blobs that were written for nothing: the upload or its message was given up.
    abandoned: Mutex<Vec<String>>,
}

impl PendingBlobs {
    /// No blob is deleted while the guard is held.
    pub async fn block_deletion(&self) -> RwLockReadGuard<'_, ()> {
        self.lock.read().await
    }

    /// Runs `write` while no blob is deleted, and records the blob as pending.
    pub async fn record(
        &self,
        key: &str,
        id: AttachmentId,
        write: impl Future<Output = Result<(), ObjectError>>,
    ) -> Result<(), ObjectError> {
        let _guard = self.block_deletion().await;
        write.await?;
        self.written().entry(key.to_owned()).or_default().push((id, Instant::now()));
        Ok(())
    }

    /// Records that the blob gets no row from this write.
    pub fn abandon(&self, key: &str, id: AttachmentId) {
        let mut written = self.written();
        let Some(writes) = written.get_mut(key) else { return };
        writes.retain(|(written_for, _)| *written_for != id);
        if writes.is_empty() {
            written.remove(key);
            self.abandoned().push(key.to_owned());
        }
    }

    /// Removes and returns the blobs whose time for a row is over.
    fn take_expired(&self) -> Vec<String> {
        let mut expired = Vec::new();
        self.written().retain(|key, writes| {
            writes.retain(|(_, at)| at.elapsed() < ORPHAN_AGE);
            if writes.is_empty() {
                expired.push(key.clone());
            }
            !writes.is_empty()
        });
        expired
    }

    /// Removes attachments that were deleted: they had their row.
    fn remove_deleted(&self, deleted: &[ObjectToDelete]) {
        let mut written = self.written();
        for object in deleted {
            if let Some(writes) = written.get_mut(&object.object_key) {
                writes.retain(|(id, _)| *id != object.attachment_id);
            }
        }
    }

    /// True if a row that uses the blob may be added soon.
    fn may_get_row(&self, key: &str) -> bool {
        let written = self.written();
        written.get(key).is_some_and(|writes| writes.iter().any(|(_, at)| at.elapsed() < ROW_GRACE_PERIOD))
    }

    /// True if a write of the same content is not abandoned.
    fn is_pending(&self, key: &str) -> bool {
        self.written().contains_key(key)
    }

    fn abandoned(&self) -> MutexGuard<'_, Vec<String>> {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, HashMap<String, Vec<(AttachmentId, Instant)>>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Attachments {
    /// Deletes the blobs of abandoned uploads, unless a row uses them or another upload brings the same content.
    pub(super) async fn delete_abandoned(&self) -> Result<(), AttachmentError> {
        loop {
            let Some(key) = self.pending_blobs.abandoned().pop() else { return Ok(()) };
            let _exclusive = self.pending_blobs.lock.write().await;
            if self.pending_blobs.is_pending(&key) {
                continue;
            }
            let deleted = async {
                if !self.store.object_in_use(&key).await? {
                    self.objects.delete(&key).await?;
                }
                Ok(())
            };
            let deleted: Result<(), AttachmentError> = deleted.await;
            if deleted.is_err() {
                self.pending_blobs.abandoned().push(key);
                return deleted;
            }
        }
    }

    /// Deletes the blobs and views of deleted attachments that no other attachment uses, and orphaned blobs. Returns the
    /// hashes of the blobs of deleted attachments.
    pub async fn sweep(&self) -> Result<Vec<String>, AttachmentError> {
        self.delete_abandoned().await?;
        let mut deleted = Vec::new();
        for key in self.pending_blobs.take_expired() {
            let _exclusive = self.pending_blobs.lock.write().await;
            if !self.store.object_in_use(&key).await? {
                self.objects.delete(&key).await?;
            }
        }
        loop {
            let listed = self.store.objects_to_delete(BATCH_SIZE).await?;
            self.pending_blobs.remove_deleted(&listed);
            let mut done = Vec::new();
            for object in &listed {
                let _exclusive = self.pending_blobs.lock.write().await;
                if self.store.object_in_use(&object.object_key).await? {
                    done.push(object.attachment_id);
                    continue;
                }
                if self.pending_blobs.may_get_row(&object.object_key) {
                    continue;
                }
                self.objects.delete(&object.object_key).await?;
                for size in VIEW_SIZES {
                    self.objects.delete(&view_key(&object.sha256, size)).await?;
                }
                deleted.push(object.sha256.clone());
                done.push(object.attachment_id);
            }
            self.store.unlist_objects(&done).await?;
            // Blobs that may get a row stay listed for the next sweep.
            if done.is_empty() || (listed.len() as i64) < BATCH_SIZE {
                return Ok(deleted);
            }
        }
    }
}
