//! What every operation runs under: size limits, fonts and a stop flag.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::{Fonts, ImagingError, Limits};

/// Passed to every operation; cheap to clone. Long loops call [`EditContext::check_stopped`], because a thread cannot
/// be stopped from outside.
#[derive(Debug, Clone, Default)]
pub struct EditContext {
    pub limits: Limits,
    pub fonts: Fonts,
    stop: StopFlag,
}

impl EditContext {
    pub fn new(limits: Limits, stop: StopFlag) -> Self {
        Self { limits, stop, fonts: Fonts::default() }
    }

    pub fn with_fonts(self, fonts: Fonts) -> Self {
        Self { fonts, ..self }
    }

    /// The flag that stops the operations of this context.
    pub fn stop_flag(&self) -> &StopFlag {
        &self.stop
    }

    /// Fails with [`ImagingError::Stopped`] once the flag is set. Cheap enough to call for every row of pixels.
    pub fn check_stopped(&self) -> Result<(), ImagingError> {
        if self.stop.is_stopped() { Err(ImagingError::Stopped) } else { Ok(()) }
    }
}

/// Stops the operations whose [`EditContext`] holds a clone of it.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
