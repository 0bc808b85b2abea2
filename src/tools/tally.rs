//! What a call had services do for it, so that it can be charged for even if nothing came of it.

use crate::providers::Usage;
use std::sync::{Arc, Mutex, PoisonError};

/// Clones count together.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<Mutex<Vec<Usage>>>);

impl Tally {
    pub(super) fn add(&self, usage: Usage) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(usage);
    }

    pub(super) fn take(&self) -> Vec<Usage> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
