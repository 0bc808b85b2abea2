//! Pixel cache: decoded pictures of the running turns, so that a chain of edits decodes once. Safe to lose: recipes
//! rebuild it.

use super::workers::MIB;
use crate::domain::AttachmentId;
use imaging::Picture;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Cheap to clone; all clones share the same pictures.
#[derive(Clone, Debug)]
pub struct PixelCache {
    entries: Arc<Mutex<HashMap<AttachmentId, CachedPicture>>>,
    /// One permit per MiB.
    memory: Arc<Semaphore>,
}

/// A picture, and its share of the cache's memory, which is free again when this is dropped.
#[derive(Debug)]
pub(super) struct CachedPicture {
    picture: Arc<Picture>,
    _memory: OwnedSemaphorePermit,
}

impl CachedPicture {
    pub fn picture(&self) -> &Picture {
        &self.picture
    }

    /// The picture, to be edited in place. A view of it may be in work: then this is a copy.
    pub fn into_picture(self) -> Picture {
        Arc::try_unwrap(self.picture).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl PixelCache {
    pub(super) fn new(memory_bytes: u64) -> Self {
        let mib = usize::try_from(memory_bytes / MIB).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { entries: Arc::default(), memory: Arc::new(Semaphore::new(mib)) }
    }

    /// Removes a picture from the cache, to edit it in place. It counts as cached until its edit begins.
    pub(super) fn take(&self, id: AttachmentId) -> Option<CachedPicture> {
        self.lock().remove(&id)
    }

    /// Shares a picture, to make a view of it.
    pub(super) fn get(&self, id: AttachmentId) -> Option<Arc<Picture>> {
        self.lock().get(&id).map(|cached| cached.picture.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AttachmentId, CachedPicture>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Pixel cache of one turn; its pictures are dropped with it.
#[derive(Debug)]
pub struct TurnPixels {
    cache: PixelCache,
    ids: Mutex<Vec<AttachmentId>>,
}

impl TurnPixels {
    pub(super) fn new(cache: PixelCache) -> Self {
        Self { cache, ids: Mutex::default() }
    }

    /// Caches a picture. Gives it back if the cache is full.
    pub fn insert(&self, id: AttachmentId, picture: Picture) -> Result<(), Picture> {
        let share = u32::try_from(picture.bytes().div_ceil(MIB)).unwrap_or(u32::MAX).max(1);
        let Ok(memory) = self.cache.memory.clone().try_acquire_many_owned(share) else {
            return Err(picture);
        };
        self.cache.lock().insert(id, CachedPicture { picture: Arc::new(picture), _memory: memory });
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        Ok(())
    }
}

impl Drop for TurnPixels {
    fn drop(&mut self) {
        let ids = std::mem::take(&mut *self.ids.lock().unwrap_or_else(PoisonError::into_inner));
        let mut entries = self.cache.lock();
        for id in ids {
            entries.remove(&id);
        }
    }
}
