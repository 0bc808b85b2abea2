//! A gate that holds a request until the test opens it, and tells the test when the request has come.

use super::PATIENCE;
use std::sync::Arc;
use tokio::sync::watch;

#[derive(Clone, Debug)]
pub struct Gate {
    arrived: Arc<watch::Sender<usize>>,
    open: Arc<watch::Sender<bool>>,
}

impl Gate {
    pub(super) fn closed() -> Self {
        Gate { arrived: Arc::new(watch::Sender::new(0)), open: Arc::new(watch::Sender::new(false)) }
    }

    /// Waits until a request stands at the gate.
    pub async fn reached(&self) {
        let mut arrived = self.arrived.subscribe();
        let came = tokio::time::timeout(PATIENCE, arrived.wait_for(|n| *n > 0)).await;
        assert!(came.is_ok(), "no request reached the gate within {PATIENCE:?}");
    }

    /// Lets the request, and any later one at this gate, through.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    pub(super) async fn pass(&self) {
        self.arrived.send_modify(|n| *n += 1);
        let mut open = self.open.subscribe();
        // The gate itself keeps the sender alive, so this only ends when it opens.
        let _ = open.wait_for(|open| *open).await;
    }
}
