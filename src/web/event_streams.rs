//! Counts the open event streams of each person: one person must not take all connections with streams.

use crate::domain::UserId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Tabs of one person that are live at the same time.
const MAX_PER_PERSON: usize = 20;
/// No person takes more than this part of all connections.
const PERSON_SHARE: usize = 4;

#[derive(Clone)]
pub struct EventStreams {
    max_per_person: usize,
    open: Arc<Mutex<HashMap<UserId, usize>>>,
}

/// One open stream. It counts until it is dropped.
pub struct OpenStream {
    streams: EventStreams,
    user: UserId,
}

impl EventStreams {
    pub fn within(max_connections: usize) -> Self {
        let max_per_person = MAX_PER_PERSON.min(max_connections / PERSON_SHARE).max(1);
        Self { max_per_person, open: Arc::default() }
    }

    fn open(&self) -> MutexGuard<'_, HashMap<UserId, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// None if this person has as many as one may have.
    pub fn start(&self, user: &UserId) -> Option<OpenStream> {
        let mut open = self.open();
        let count = open.entry(user.clone()).or_default();
        if *count >= self.max_per_person {
            return None;
        }
        *count += 1;
        Some(OpenStream { streams: self.clone(), user: user.clone() })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut open = self.streams.open();
        if let Some(count) = open.get_mut(&self.user) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.user);
            }
        }
    }
}
