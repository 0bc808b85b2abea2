//! What services charged during one tool call. It counts against the budget even if the call fails.

use crate::providers::Usage;
use std::sync::{Arc, Mutex, PoisonError};

/// Clones share one log.
#[derive(Clone, Debug, Default)]
pub struct UsageLog(Arc<Mutex<Vec<Usage>>>);

impl UsageLog {
    pub(super) fn add(&self, usage: Usage) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(usage);
    }

    pub(super) fn take(&self) -> Vec<Usage> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
