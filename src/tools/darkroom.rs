//! Where slow work is done: off the async threads, only so many at a time and only in so much memory, and with
//! panics kept inside. What is done there is the caller's.

use super::{
    ToolError,
    negatives::{Negatives, Shelf},
    views::Views,
};
use imaging::{Fonts, ImagingError, Limits, Stop, Work};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

const MIB: u64 = 1 << 20;
/// A decoded pixel, and how many copies of the picture an edit holds at its peak: before, after and encoded.
const BYTES_PER_PIXEL: u64 = 4 * 3;

/// Cheap to clone; all clones share the same room.
#[derive(Clone, Debug)]
pub struct Darkroom {
    places: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    at_once: usize,
    /// In MiB, like the permits of `memory`.
    whole: u32,
    limits: Limits,
    negatives: Negatives,
    views: Views,
    fonts: Fonts,
}

/// Of the memory for edits, this part may be held by pictures that wait for their next edit.
const HELD_PART: u64 = 4;

/// Dropped with whoever waits, so that a time-out ends the work and not just the waiting.
struct StopOnDrop(Stop);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.now();
    }
}

impl Darkroom {
    pub fn new(edits_at_once: usize, memory_bytes: u64, limits: Limits, fonts: Fonts) -> Self {
        let at_once = edits_at_once.clamp(1, Semaphore::MAX_PERMITS);
        let most = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let held = memory_bytes / HELD_PART;
        let whole = u32::try_from((memory_bytes - held) / MIB).unwrap_or(most).clamp(1, most);
        Self {
            places: Arc::new(Semaphore::new(at_once)),
            memory: Arc::new(Semaphore::new(whole as usize)),
            at_once,
            whole,
            limits,
            negatives: Negatives::new(held),
            views: Views::default(),
            fonts,
        }
    }

    /// A place for the pictures of one turn.
    pub fn shelf(&self) -> Arc<Shelf> {
        Arc::new(Shelf::new(self.negatives.clone()))
    }

    pub(super) fn negatives(&self) -> &Negatives {
        &self.negatives
    }

    pub(super) fn views(&self) -> &Views {
        &self.views
    }

    /// How much all edits together may take, in bytes.
    pub fn memory(&self) -> u64 {
        u64::from(self.whole) * MIB
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn fonts(&self) -> &Fonts {
        &self.fonts
    }

    pub fn at_once(&self) -> usize {
        self.at_once
    }

    /// Runs an edit of a picture of so many pixels, before or after, whichever is more.
    pub async fn develop<T: Send + 'static>(
        &self,
        pixels: u64,
        edit: impl FnOnce(&Work) -> Result<T, ImagingError> + Send + 'static,
    ) -> Result<T, ToolError> {
        let waiting = StopOnDrop(Stop::default());
        let work = Work::new(self.limits, waiting.0.clone()).with_fonts(self.fonts.clone());
        let done = self.run(pixels.saturating_mul(BYTES_PER_PIXEL), move || edit(&work)).await?;
        if let Err(ImagingError::Failed { detail } | ImagingError::Damaged { detail, .. }) = &done {
            tracing::debug!(detail, "a picture could not be edited");
        }
        Ok(done?)
    }

    /// Runs anything slow that takes about so much memory. It keeps its place until it ends, even if nobody waits
    /// for it any more: a thread cannot be stopped from outside.
    pub async fn run<T: Send + 'static>(
        &self,
        memory_bytes: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, ToolError> {
        let place = self.enter(memory_bytes).await?;
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            work()
        });
        done.await.map_err(|error| {
            tracing::error!(%error, "work in the darkroom broke off");
            ToolError::Trouble(
                "This could not be processed: something broke on our side. Try another way, or another file."
                    .to_owned(),
            )
        })
    }

    /// Memory first: whoever holds a place is never waiting for anything. Something larger than the whole room is
    /// let in when the room is empty.
    async fn enter(&self, memory_bytes: u64) -> Result<[OwnedSemaphorePermit; 2], ToolError> {
        let share = u32::try_from(memory_bytes.div_ceil(MIB)).unwrap_or(u32::MAX);
        let share = share.clamp(1, self.whole);
        let closed = |_| ToolError::Trouble("Pictures cannot be edited any more: shutting down.".to_owned());
        let memory = self.memory.clone().acquire_many_owned(share).await.map_err(closed)?;
        let place = self.places.clone().acquire_owned().await.map_err(closed)?;
        Ok([memory, place])
    }
}
