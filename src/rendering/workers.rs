//! Bounded workers for CPU-bound work: a number of threads, an amount of memory, and a limit on waiting for both.
//!
//! Work waits in the order of arrival. One conversation has at most as much work waiting or running as there are
//! workers; the rest of its work waits behind its own, so that no other conversation waits for it.

use super::RenderError;
use crate::domain::Conversation;
use imaging::StopFlag;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{AcquireError, OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout},
};

pub(super) const MIB: u64 = 1 << 20;

/// Cheap to clone; all clones share the same workers and memory.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    /// What waits, as in "Many edits are waiting right now."
    kind: &'static str,
    threads: Arc<Semaphore>,
    count: usize,
    /// One permit per MiB.
    memory: Arc<Semaphore>,
    memory_mib: u32,
    max_wait: Duration,
    lanes: Arc<Mutex<HashMap<Conversation, Weak<Lane>>>>,
}

/// The work of one conversation.
#[derive(Debug)]
struct Lane {
    places: Arc<Semaphore>,
    waiting: AtomicUsize,
}

/// Memory for one piece of work, and its place among the work of its conversation. Held until it is dropped and the
/// work that runs in it has ended.
#[derive(Debug)]
pub struct Reservation {
    workers: Workers,
    lane: Arc<Lane>,
    permits: Arc<[OwnedSemaphorePermit; 2]>,
    wait_left: Duration,
}

/// Stops the work when the future that waits for it is dropped, so that a time-out frees the worker.
struct StopOnDrop(StopFlag);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.stop();
    }
}

/// Counts as waiting until it is dropped.
struct Waiting<'a>(&'a Lane);

impl<'a> Waiting<'a> {
    fn in_lane(lane: &'a Lane) -> Self {
        lane.waiting.fetch_add(1, Ordering::Relaxed);
        Self(lane)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Workers {
    pub fn new(kind: &'static str, count: usize, memory_bytes: u64, max_wait: Duration) -> Self {
        let count = count.clamp(1, Semaphore::MAX_PERMITS);
        let max_permits = u32::try_from(Semaphore::MAX_PERMITS).unwrap_or(u32::MAX);
        let memory_mib = u32::try_from(memory_bytes / MIB).unwrap_or(max_permits).clamp(1, max_permits);
        Self {
            kind,
            threads: Arc::new(Semaphore::new(count)),
            count,
            memory: Arc::new(Semaphore::new(memory_mib as usize)),
            memory_mib,
            max_wait,
            lanes: Arc::default(),
        }
    }

    pub fn count(&self) -> usize {
        self.count
    }

    /// Memory for all running work together, in bytes.
    pub fn memory(&self) -> u64 {
        u64::from(self.memory_mib) * MIB
    }

    /// Whether work of this conversation waits for a worker or for memory at this moment.
    pub fn has_waiting(&self, conversation: &Conversation) -> bool {
        let lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.get(conversation).and_then(Weak::upgrade);
        lane.is_some_and(|lane| lane.waiting.load(Ordering::Relaxed) > 0)
    }

    /// Waits for memory, and for earlier work of the same conversation. Refuses work that needs more than there is.
    pub async fn reserve(
        &self,
        conversation: &Conversation,
        memory_bytes: u64,
    ) -> Result<Reservation, RenderError> {
        let share = u32::try_from(memory_bytes.div_ceil(MIB)).unwrap_or(u32::MAX).max(1);
        if share > self.memory_mib {
            return Err(RenderError::TooMuchMemory { needed: memory_bytes, limit: self.memory() });
        }
        let lane = self.lane(conversation);
        let since = Instant::now();
        let permits = {
            let _waiting = Waiting::in_lane(&lane);
            let acquire = async {
                let place = lane.places.clone().acquire_owned().await?;
                Ok([place, self.memory.clone().acquire_many_owned(share).await?])
            };
            self.bounded(self.max_wait, acquire).await?
        };
        let wait_left = self.max_wait.saturating_sub(since.elapsed());
        Ok(Reservation { workers: self.clone(), lane, permits: Arc::new(permits), wait_left })
    }

    fn lane(&self, conversation: &Conversation) -> Arc<Lane> {
        let mut lanes = self.lanes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lane) = lanes.get(conversation).and_then(Weak::upgrade) {
            return lane;
        }
        lanes.retain(|_, lane| lane.strong_count() > 0);
        let places = Arc::new(Semaphore::new(self.count));
        let lane = Arc::new(Lane { places, waiting: AtomicUsize::new(0) });
        lanes.insert(conversation.clone(), Arc::downgrade(&lane));
        lane
    }

    async fn bounded<T>(
        &self,
        most: Duration,
        acquire: impl Future<Output = Result<T, AcquireError>>,
    ) -> Result<T, RenderError> {
        match timeout(most, acquire).await {
            Ok(Ok(acquired)) => Ok(acquired),
            Ok(Err(_)) => Err(RenderError::ShuttingDown),
            Err(_) => {
                tracing::warn!(op = "wait_for_worker", kind = self.kind, waited = ?self.max_wait, "gave up waiting");
                Err(RenderError::Busy { kind: self.kind })
            }
        }
    }
}

impl Reservation {
    /// Runs the work on a thread of its own as soon as a worker is free. The work must end soon after its flag is set:
    /// a thread cannot be stopped from outside. Until it ends it keeps its worker and its memory, also if the caller
    /// stops waiting.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&StopFlag) -> T + Send + 'static,
    ) -> Result<T, RenderError> {
        let thread = {
            let _waiting = Waiting::in_lane(&self.lane);
            let acquire = self.workers.threads.clone().acquire_owned();
            self.workers.bounded(self.wait_left, acquire).await?
        };
        let stop = StopOnDrop(StopFlag::default());
        let (flag, permits) = (stop.0.clone(), self.permits.clone());
        let running = tokio::task::spawn_blocking(move || {
            let _held = (thread, permits);
            work(&flag)
        });
        running.await.map_err(|error| {
            tracing::error!(%error, op = "run_work", kind = self.workers.kind, "work on the pool panicked");
            RenderError::Crashed
        })
    }
}
