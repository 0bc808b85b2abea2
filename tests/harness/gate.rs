//! A gate that holds a request until the test opens it. The test can wait for the request to arrive.

use super::WAIT_TIMEOUT;
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

    /// Waits until a request has arrived at the gate.
    pub async fn reached(&self) {
        let mut arrived = self.arrived.subscribe();
        let came = tokio::time::timeout(WAIT_TIMEOUT, arrived.wait_for(|n| *n > 0)).await;
        assert!(came.is_ok(), "no request reached the gate within {WAIT_TIMEOUT:?}");
    }

    /// Lets this request and all later ones through.
    pub fn open(&self) {
        self.open.send_replace(true);
    }

    pub(super) async fn pass(&self) {
        self.arrived.send_modify(|n| *n += 1);
        let mut open = self.open.subscribe();
        // The gate holds the sender, so this ends only when it is opened.
        let _ = open.wait_for(|open| *open).await;
    }
}
