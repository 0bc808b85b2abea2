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

    /// Records that the row of this write is committed.
    pub fn settle(&self, key: &str, id: AttachmentId) {
        self.remove_writes(key, |written_for, _| written_for == id);
    }

    /// The blobs whose time for a row is over.
    fn expired(&self) -> Vec<String> {
        let is_expired = |writes: &[(AttachmentId, Instant)]| writes.iter().all(|(_, at)| is_orphaned(*at));
        let written = self.written();
        written.iter().filter(|(_, writes)| is_expired(writes)).map(|(key, _)| key.clone()).collect()
    }

    fn remove_writes(&self, key: &str, is_over: impl Fn(AttachmentId, Instant) -> bool) {
        let mut written = self.written();
        let Some(writes) = written.get_mut(key) else { return };
        writes.retain(|(id, at)| !is_over(*id, *at));
        if writes.is_empty() {
            written.remove(key);
        }
    }

    /// Removes attachments that were deleted: they had their row.
    fn remove_deleted(&self, deleted: &[ObjectToDelete]) {
        for object in deleted {
            self.settle(&object.object_key, object.attachment_id);
        }
    }

    /// True if a row that uses the blob may be added soon.
    fn may_get_row(&self, key: &str) -> bool {
        let written = self.written();
        written.get(key).is_some_and(|writes| writes.iter().any(|(_, at)| at.elapsed() < ROW_GRACE_PERIOD))
    }

    /// Takes a blob off the list of abandoned ones if another write of the same content is pending: it is listed again if
    /// that one is abandoned, too. True if it was.
    fn unlist_if_pending(&self, key: &str) -> bool {
        // Held meanwhile, so that the other write is not abandoned in between.
        let written = self.written();
        let is_pending = written.contains_key(key);
        if is_pending {
            self.unlist(key);
        }
        is_pending
    }

    fn unlist(&self, key: &str) {
        self.abandoned().retain(|abandoned| abandoned != key);
    }

    fn abandoned(&self) -> MutexGuard<'_, Vec<String>> {
        self.abandoned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn written(&self) -> MutexGuard<'_, HashMap<String, Vec<(AttachmentId, Instant)>>> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_orphaned(written_at: Instant) -> bool {
    written_at.elapsed() >= ORPHAN_AGE
}

/// What a sweep did. What failed stays listed for the next one.
#[derive(Default)]
pub struct Swept {
    /// The hashes of deleted blobs of attachments.
    pub deleted: Vec<String>,
    /// The first error.
    pub error: Option<AttachmentError>,
}

impl Swept {
    /// The value; none for an error, of which the first is kept.
    fn note<T>(&mut self, result: Result<T, AttachmentError>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }
}

impl Attachments {
    /// Deletes the blobs of abandoned uploads, unless a row uses them or another upload brings the same content. Goes on
    /// after an error and returns the first one; a blob stays in the list until it is deleted.
    pub(super) async fn delete_abandoned(&self) -> Result<(), AttachmentError> {
        let mut swept = Swept::default();
        let keys = self.pending_blobs.abandoned().clone();
        for key in keys {
            let _exclusive = self.pending_blobs.lock.write().await;
            if self.pending_blobs.unlist_if_pending(&key) {
                continue;
            }
            if swept.note(self.delete_unless_used(&key).await).is_some() {
                // Before the lock is given back: the same content may be written and abandoned again after that.
                self.pending_blobs.unlist(&key);
            }
        }
        swept.error.map_or(Ok(()), Err)
    }

    async fn delete_unless_used(&self, key: &str) -> Result<(), AttachmentError> {
        if !self.store.object_in_use(key).await? {
            self.objects.delete(key).await?;
        }
        Ok(())
    }

    /// Deletes the blobs and views of deleted attachments that no other attachment uses, and orphaned blobs. Goes on after
    /// an error: one blob that cannot be deleted does not keep the others.
    pub async fn sweep(&self) -> Swept {
        let mut swept = Swept::default();
        swept.note(self.delete_abandoned().await);
        for key in self.pending_blobs.expired() {
            let _exclusive = self.pending_blobs.lock.write().await;
            if swept.note(self.delete_unless_used(&key).await).is_some() {
                self.pending_blobs.remove_writes(&key, |_, at| is_orphaned(at));
            }
        }
        loop {
            let Some(listed) = swept.note(self.store.objects_to_delete(BATCH_SIZE).await.map_err(Into::into))
            else {
                return swept;
            };
            self.pending_blobs.remove_deleted(&listed);
            let mut done = Vec::new();
            for object in &listed {
                match swept.note(self.delete_listed(object).await) {
                    Some(Listed::Deleted) => {
                        swept.deleted.push(object.sha256.clone());
                        done.push(object.attachment_id);
                    }
                    Some(Listed::InUse) => done.push(object.attachment_id),
                    // Blobs that may get a row, or cannot be deleted now, stay listed for the next sweep.
                    Some(Listed::MayGetRow) | None => {}
                }
            }
            let unlisted = swept.note(self.store.unlist_objects(&done).await.map_err(Into::into));
            if unlisted.is_none() || done.is_empty() || (listed.len() as i64) < BATCH_SIZE {
                return swept;
            }
        }
    }

    async fn delete_listed(&self, object: &ObjectToDelete) -> Result<Listed, AttachmentError> {
        let _exclusive = self.pending_blobs.lock.write().await;
        if self.store.object_in_use(&object.object_key).await? {
            return Ok(Listed::InUse);
        }
        if self.pending_blobs.may_get_row(&object.object_key) {
            return Ok(Listed::MayGetRow);
        }
        self.objects.delete(&object.object_key).await?;
        for size in VIEW_SIZES {
            self.objects.delete(&view_key(&object.sha256, size)).await?;
        }
        Ok(Listed::Deleted)
    }
}

/// What became of a blob that was listed for deletion.
enum Listed {
    Deleted,
    /// Another attachment has the same content.
    InUse,
    MayGetRow,
}
