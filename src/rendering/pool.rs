//! Worker pool for CPU-bound work: bounds concurrency and memory, stops on time-out, contains panics.

use super::RenderError;
use imaging::{EditContext, Fonts, ImagingError, Limits, StopFlag};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub(super) const MIB: u64 = 1 << 20;
/// One part in this many of the edit memory belongs to the pixel cache.
const PIXEL_CACHE_SHARE: u64 = 4;

/// Cheap to clone; all clones share the same workers and memory.
#[derive(Clone, Debug)]
pub struct RenderPool {
    workers: Arc<Semaphore>,
    /// One permit per MiB.
    memory: Arc<Semaphore>,
    worker_count: usize,
    memory_mib: u32,
    pixel_cache_bytes: u64,
    limits: Limits,
    fonts: Fonts,
}

/// Stops the work when the future that waits for it is dropped, so that a time-out frees the worker.
struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl RenderPool {
    /// Memory that the pool reserves per pixel: four bytes, and three copies at an edit's peak (before, after, encoded).
    pub const BYTES_PER_PIXEL: u64 = 4 * 3;

    /// `memory_bytes` covers running edits and the pixel cache.
    pub fn new(edits_at_once: usize, memory_bytes: u64, limits: Limits, fonts: Fonts) -> Self {
        let worker_count = edits_at_once.clamp(1, Semaphore::MAX_PERMITS);
        let max_permits = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let pixel_cache_bytes = memory_bytes / PIXEL_CACHE_SHARE;
        let for_edits = (memory_bytes - pixel_cache_bytes) / MIB;
        let memory_mib = u32::try_from(for_edits).unwrap_or(max_permits).clamp(1, max_permits);
        Self {
            workers: Arc::new(Semaphore::new(worker_count)),
            memory: Arc::new(Semaphore::new(memory_mib as usize)),
            worker_count,
            memory_mib,
            pixel_cache_bytes,
            limits,
            fonts,
        }
    }

    /// Memory for all running edits together, in bytes.
    pub fn memory(&self) -> u64 {
        u64::from(self.memory_mib) * MIB
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
        self.worker_count
    }

    /// Runs an edit. `pixels` is the larger of the pixel counts before and after it.
    pub async fn run_edit<T: Send + 'static>(
        &self,
        pixels: u64,
        edit: impl FnOnce(&EditContext) -> Result<T, ImagingError> + Send + 'static,
    ) -> Result<T, RenderError> {
        let stop = StopOnDrop(StopFlag::default());
        let work = EditContext::new(self.limits, stop.0.clone()).with_fonts(self.fonts.clone());
        let result = self.run(pixels.saturating_mul(Self::BYTES_PER_PIXEL), move || edit(&work)).await?;
        if let Err(ImagingError::Failed { detail } | ImagingError::Damaged { detail, .. }) = &result {
            tracing::debug!(op = "run_edit", detail, "a picture could not be edited");
        }
        Ok(result?)
    }

    /// Runs any slow work that takes about `memory_bytes`. The work keeps its worker until it ends, even if the caller
    /// stops waiting: a thread cannot be stopped from outside.
    pub async fn run<T: Send + 'static>(
        &self,
        memory_bytes: u64,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, RenderError> {
        let permits = self.acquire(memory_bytes).await?;
        let running = tokio::task::spawn_blocking(move || {
            let _permits = permits;
            work()
        });
        running.await.map_err(|error| {
            tracing::error!(%error, op = "render_pool", "work on the pool panicked");
            RenderError::Crashed
        })
    }

    /// Memory first, then a worker, so that no worker idles while its work waits for memory. Work larger than the whole
    /// memory runs alone.
    async fn acquire(&self, memory_bytes: u64) -> Result<[OwnedSemaphorePermit; 2], RenderError> {
        let share = u32::try_from(memory_bytes.div_ceil(MIB)).unwrap_or(u32::MAX);
        let share = share.clamp(1, self.memory_mib);
        let closed = |_| RenderError::ShuttingDown;
        let memory = self.memory.clone().acquire_many_owned(share).await.map_err(closed)?;
        let worker = self.workers.clone().acquire_owned().await.map_err(closed)?;
        Ok([memory, worker])
    }
}
