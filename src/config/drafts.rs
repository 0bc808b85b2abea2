//! Settings of drafts: when and how often Telegram shows an answer that is still being written.

use serde::Deserialize;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct DraftSettings {
    /// `None` turns drafts off.
    pub after_ms: Option<u64>,
    pub every_ms: u64,
}

impl DraftSettings {
    pub fn after(&self) -> Option<Duration> {
        self.after_ms.map(Duration::from_millis)
    }
    pub fn every(&self) -> Duration {
        Duration::from_millis(self.every_ms)
    }
}
