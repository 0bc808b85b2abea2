//! Pictures that are made but not yet files: their pixels wait in memory for the next edit, for a look, or for being
//! sent. Losing one loses nothing: its recipe makes it again.

use crate::domain::AttachmentId;
use imaging::Picture;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const MIB: u64 = 1 << 20;

/// Cheap to clone; all clones share the same pictures.
#[derive(Clone, Debug)]
pub struct Negatives {
    held: Arc<Mutex<HashMap<AttachmentId, Negative>>>,
    room: Arc<Semaphore>,
}

#[derive(Debug)]
struct Negative {
    picture: Arc<Picture>,
    _room: OwnedSemaphorePermit,
}

impl Negatives {
    pub(super) fn new(memory_bytes: u64) -> Self {
        let room = usize::try_from(memory_bytes / MIB).unwrap_or(usize::MAX).min(Semaphore::MAX_PERMITS);
        Self { held: Arc::default(), room: Arc::new(Semaphore::new(room)) }
    }

    /// Takes a picture down, to edit it further.
    pub(super) fn take(&self, id: AttachmentId) -> Option<Picture> {
        let negative = self.lock().remove(&id)?;
        // Somebody may be looking at it just now.
        Some(Arc::try_unwrap(negative.picture).unwrap_or_else(|shared| (*shared).clone()))
    }

    /// A picture to look at.
    pub(super) fn look(&self, id: AttachmentId) -> Option<Arc<Picture>> {
        self.lock().get(&id).map(|negative| negative.picture.clone())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AttachmentId, Negative>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One turn's pictures: gone with the turn.
#[derive(Debug)]
pub struct Shelf {
    negatives: Negatives,
    ids: Mutex<Vec<AttachmentId>>,
}

impl Shelf {
    pub(super) fn new(negatives: Negatives) -> Self {
        Self { negatives, ids: Mutex::default() }
    }

    /// Gives the picture back if there is no room for it.
    pub(super) fn hold(&self, id: AttachmentId, picture: Picture) -> Result<(), Picture> {
        let share = u32::try_from(picture.bytes().div_ceil(MIB)).unwrap_or(u32::MAX).max(1);
        let Ok(room) = self.negatives.room.clone().try_acquire_many_owned(share) else {
            return Err(picture);
        };
        self.negatives.lock().insert(id, Negative { picture: Arc::new(picture), _room: room });
        self.ids.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        Ok(())
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        let ids = std::mem::take(&mut *self.ids.lock().unwrap_or_else(PoisonError::into_inner));
        let mut held = self.negatives.lock();
        for id in ids {
            held.remove(&id);
        }
    }
}
