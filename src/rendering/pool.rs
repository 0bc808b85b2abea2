//! Worker pool for CPU-bound work: bounds concurrency, memory and waiting, stops on time-out, contains panics. Reading
//! text has workers of its own, so that no search keeps an edit waiting.

use super::{
    RenderError,
    workers::{Reservation, Workers},
};
use crate::domain::Conversation;
use imaging::{EditContext, Fonts, ImagingError, Limits, StopFlag};
use std::time::Duration;

/// One part in this many of the edit memory belongs to the pixel cache.
const PIXEL_CACHE_SHARE: u64 = 4;
/// Text files that are read or searched at the same time.
const READERS: usize = 2;
/// Memory for reading text, besides the memory for edits.
const READING_MEMORY: u64 = 100 << 20;

/// How much work the pool takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolLimits {
    pub edits_at_once: usize,
    /// Covers running edits and the pixel cache.
    pub memory_bytes: u64,
    /// How long work waits for a worker and for memory.
    pub max_wait: Duration,
}

impl Default for PoolLimits {
    fn default() -> Self {
        Self { edits_at_once: 2, memory_bytes: 768 << 20, max_wait: Duration::from_secs(30) }
    }
}

/// Cheap to clone; all clones share the same workers and memory.
#[derive(Clone, Debug)]
pub struct RenderPool {
    edits: Workers,
    readers: Workers,
    pixel_cache_bytes: u64,
    limits: Limits,
    fonts: Fonts,
}

impl RenderPool {
    pub fn new(pool: PoolLimits, limits: Limits, fonts: Fonts) -> Self {
        let pixel_cache_bytes = pool.memory_bytes / PIXEL_CACHE_SHARE;
        let for_edits = pool.memory_bytes - pixel_cache_bytes;
        Self {
            edits: Workers::new("edits", pool.edits_at_once, for_edits, pool.max_wait),
            readers: Workers::new("searches", READERS, READING_MEMORY, pool.max_wait),
            pixel_cache_bytes,
            limits,
            fonts,
        }
    }

    /// Memory for all running edits together, in bytes.
    pub fn memory(&self) -> u64 {
        self.edits.memory()
    }

    /// Memory set aside for the pixel cache, in bytes.
    pub(super) fn pixel_cache_bytes(&self) -> u64 {
        self.pixel_cache_bytes
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn fonts(&self) -> &Fonts {
        &self.fonts
    }

    pub fn worker_count(&self) -> usize {
        self.edits.count()
    }

    /// Whether an edit of this conversation waits for a worker or for memory at this moment.
    pub fn has_waiting_edits(&self, conversation: &Conversation) -> bool {
        self.edits.has_waiting(conversation)
    }

    /// Waits for the memory that an edit takes at its peak, files included: load them after this. Refuses an edit that
    /// never fits.
    pub async fn reserve_edit(
        &self,
        conversation: &Conversation,
        memory_bytes: u64,
    ) -> Result<Reservation, RenderError> {
        self.edits.reserve(conversation, memory_bytes).await
    }

    /// Runs an edit within the memory that was reserved for it.
    pub async fn run_edit<T: Send + 'static>(
        &self,
        place: &Reservation,
        edit: impl FnOnce(&EditContext) -> Result<T, ImagingError> + Send + 'static,
    ) -> Result<T, RenderError> {
        let (limits, fonts) = (self.limits, self.fonts.clone());
        let work = move |stop: &StopFlag| edit(&EditContext::new(limits, stop.clone()).with_fonts(fonts));
        let result = place.run(work).await?;
        if let Err(ImagingError::Failed { detail } | ImagingError::Damaged { detail, .. }) = &result {
            tracing::debug!(op = "run_edit", detail, "a picture could not be edited");
        }
        Ok(result?)
    }

    /// Memory on the workers for reading text.
    pub async fn reserve_reading(
        &self,
        conversation: &Conversation,
        memory_bytes: u64,
    ) -> Result<Reservation, RenderError> {
        self.readers.reserve(conversation, memory_bytes).await
    }
}
