//! Background tasks of the program. A task that panics or ends is logged, counted and started again.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::task::{JoinError, JoinSet};
use tracing::error;

const RESTART_DELAY: Duration = Duration::from_millis(if cfg!(test) { 10 } else { 1000 });

/// Tasks that panicked or ended before the program stopped, in order. Tests fail on any entry.
#[derive(Clone, Debug, Default)]
pub struct TaskFailures(Arc<Mutex<Vec<String>>>);

impl TaskFailures {
    pub fn list(&self) -> Vec<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(&self, failure: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
    }
}

/// A set of tasks that run until it is dropped or shut down.
pub(super) struct Supervisor {
    tasks: JoinSet<()>,
    failures: TaskFailures,
}

impl Supervisor {
    pub fn new(failures: TaskFailures) -> Self {
        Self { tasks: JoinSet::new(), failures }
    }

    pub fn failures(&self) -> &TaskFailures {
        &self.failures
    }

    /// Runs a task until the stop: if it panics or ends, it is started again after a second.
    pub fn keep_running<F, W>(&mut self, task: &'static str, work: F)
    where
        F: Fn() -> W + Send + 'static,
        W: Future<Output = ()> + Send + 'static,
    {
        let failures = self.failures.clone();
        self.tasks.spawn(async move {
            loop {
                let how = match run(work()).await {
                    Err(error) if error.is_panic() => "panicked",
                    _ => "ended",
                };
                failures.add(format!("{task} {how}"));
                error!(op = "run_task", task, "task {how}; restarting it in {RESTART_DELAY:?}");
                tokio::time::sleep(RESTART_DELAY).await;
            }
        });
    }

    /// Runs a task once. It may end, but a panic is a failure.
    pub fn run_once(&mut self, task: &'static str, work: impl Future<Output = ()> + Send + 'static) {
        let failures = self.failures.clone();
        self.tasks.spawn(async move {
            if run(work).await.is_err_and(|error| error.is_panic()) {
                failures.add(format!("{task} panicked"));
                error!(op = "run_task", task, "task panicked");
            }
        });
    }

    /// Resolves when every task has ended.
    pub async fn join(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }

    pub async fn shutdown(&mut self) {
        self.tasks.shutdown().await;
    }
}

/// Runs the work as a task of its own, which is aborted when the caller is dropped.
async fn run(work: impl Future<Output = ()> + Send + 'static) -> Result<(), JoinError> {
    let mut one = JoinSet::new();
    one.spawn(work);
    one.join_next().await.unwrap_or(Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[tokio::test]
    async fn a_task_that_panics_or_ends_is_recorded_and_started_again() {
        let mut supervisor = Supervisor::new(TaskFailures::default());
        let starts = Arc::new(AtomicUsize::new(0));
        let counter = starts.clone();
        supervisor.keep_running("worker", move || {
            let start = counter.fetch_add(1, Ordering::SeqCst);
            async move {
                match start {
                    0 => panic!("on purpose"),
                    1 => {}
                    _ => std::future::pending().await,
                }
            }
        });
        while starts.load(Ordering::SeqCst) < 3 {
            tokio::time::sleep(RESTART_DELAY).await;
        }
        assert_eq!(supervisor.failures().list(), ["worker panicked", "worker ended"]);
    }

    #[tokio::test]
    async fn a_stop_is_not_a_failure() {
        let mut supervisor = Supervisor::new(TaskFailures::default());
        supervisor.keep_running("worker", std::future::pending);
        supervisor.run_once("start", async {});
        tokio::task::yield_now().await;
        supervisor.shutdown().await;
        assert_eq!(supervisor.failures().list(), [""; 0]);
    }
}
