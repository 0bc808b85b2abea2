//! What an operation works under: how large pictures may get, what text is written in, and whether anybody still
//! waits for the result.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::{Fonts, ImagingError, Limits};

/// Cheap to clone. Whatever takes long asks [`Work::go_on`] now and then: a thread cannot be stopped from outside.
#[derive(Debug, Clone, Default)]
pub struct Work {
    pub limits: Limits,
    pub fonts: Fonts,
    stop: Stop,
}

impl Work {
    pub fn new(limits: Limits, stop: Stop) -> Self {
        Self { limits, stop, fonts: Fonts::default() }
    }

    pub fn with_fonts(self, fonts: Fonts) -> Self {
        Self { fonts, ..self }
    }

    /// An error once nobody waits any more. Cheap enough to ask for every row.
    pub fn go_on(&self) -> Result<(), ImagingError> {
        if self.stop.0.load(Ordering::Relaxed) { Err(ImagingError::Stopped) } else { Ok(()) }
    }
}

/// Tells work that it is no longer wanted. Clones tell the same work.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    pub fn now(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
