//! Budget for the bytes of files that are arriving and not stored yet. Over it, a sender waits a little and is then asked
//! to come back. One person never gets more than half of it, so that one person's uploads do not starve those of others.

use super::AttachmentError;
use crate::domain::UserId;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::Notify;

/// How long an upload waits for room.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Cheap to clone; all clones share the same room.
#[derive(Clone)]
pub struct UploadBudget {
    max_bytes: u64,
    max_wait: Duration,
    held: Arc<Mutex<HeldBytes>>,
    freed: Arc<Notify>,
}

#[derive(Default)]
struct HeldBytes {
    by_all: u64,
    by_person: HashMap<UserId, u64>,
}

/// The bytes of one upload. They count until it is dropped.
pub struct Reservation {
    budget: UploadBudget,
    user: UserId,
    bytes: u64,
}

impl UploadBudget {
    pub fn new(max_bytes: u64) -> Self {
        Self { max_bytes, max_wait: MAX_WAIT, held: Arc::default(), freed: Arc::default() }
    }

    /// What one person's uploads may hold together.
    fn person_share(&self) -> u64 {
        self.max_bytes / 2
    }

    /// An empty reservation, which grows as bytes arrive.
    pub fn start(&self, user: &UserId) -> Reservation {
        Reservation { budget: self.clone(), user: user.clone(), bytes: 0 }
    }

    fn held(&self) -> MutexGuard<'_, HeldBytes> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reservation {
    /// Adds bytes, after a wait if there is no room.
    pub async fn grow(&mut self, bytes: u64) -> Result<(), AttachmentError> {
        let limit = self.budget.person_share();
        if self.bytes.saturating_add(bytes) > limit {
            // Waiting would not help: this upload alone is larger than its share.
            let bytes = self.bytes.saturating_add(bytes);
            return Err(AttachmentError::TooLarge { filename: "the file".to_owned(), bytes, limit });
        }
        let (freed, max_wait) = (self.budget.freed.clone(), self.budget.max_wait);
        let wait = async {
            loop {
                let mut notified = std::pin::pin!(freed.notified());
                // Registered before the look, so that room freed in between is not missed.
                notified.as_mut().enable();
                if self.try_grow(bytes) {
                    return;
                }
                notified.await;
            }
        };
        tokio::time::timeout(max_wait, wait).await.map_err(|_| AttachmentError::TooManyUploads)
    }

    fn try_grow(&mut self, bytes: u64) -> bool {
        let mut held = self.budget.held();
        let of_person = held.by_person.get(&self.user).copied().unwrap_or_default();
        if held.by_all + bytes > self.budget.max_bytes || of_person + bytes > self.budget.person_share() {
            return false;
        }
        held.by_all += bytes;
        held.by_person.insert(self.user.clone(), of_person + bytes);
        self.bytes += bytes;
        true
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        let mut held = self.budget.held();
        held.by_all -= self.bytes;
        if let Some(of_person) = held.by_person.get_mut(&self.user) {
            *of_person -= self.bytes;
            if *of_person == 0 {
                held.by_person.remove(&self.user);
            }
        }
        drop(held);
        self.budget.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn user(name: &str) -> UserId {
        UserId(name.to_owned())
    }

    #[tokio::test]
    async fn an_upload_waits_for_room_and_is_then_asked_to_come_back() {
        let budget = UploadBudget::new(100);
        let (mut ann, mut bob, mut cat) =
            (budget.start(&user("ann")), budget.start(&user("bob")), budget.start(&user("cat")));
        ann.grow(50).await.unwrap();
        bob.grow(45).await.unwrap();
        cat.budget.max_wait = Duration::ZERO;
        assert!(matches!(cat.grow(10).await, Err(AttachmentError::TooManyUploads)));
        cat.grow(5).await.unwrap();
        cat.budget.max_wait = MAX_WAIT;
        let mut waiting = std::pin::pin!(cat.grow(40));
        assert!(waiting.as_mut().now_or_never().is_none());
        drop(ann);
        waiting.await.unwrap();
    }

    #[tokio::test]
    async fn one_person_leaves_room_for_others() {
        let budget = UploadBudget { max_wait: Duration::ZERO, ..UploadBudget::new(100) };
        let (mut first, mut second) = (budget.start(&user("ann")), budget.start(&user("ann")));
        first.grow(30).await.unwrap();
        second.grow(20).await.unwrap();
        assert!(matches!(first.grow(1).await, Err(AttachmentError::TooManyUploads)));
        assert!(matches!(second.grow(31).await, Err(AttachmentError::TooLarge { limit: 50, .. })));
        budget.start(&user("bob")).grow(50).await.unwrap();
        drop((first, second));
        assert!(budget.held().by_person.is_empty() && budget.held().by_all == 0);
    }
}
