//! `InFlight`: the keys that a task of this process works on, so that no second task starts the same work.

use std::{
    collections::HashSet,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

/// Cheap to clone; all clones share the same keys.
#[derive(Debug, Clone)]
pub struct InFlight<K: Eq + Hash>(Arc<Mutex<HashSet<K>>>);

/// Proof that no other task works on the key. Dropping it, also in a panic, frees the key.
#[derive(Debug)]
pub struct InFlightGuard<K: Eq + Hash> {
    set: InFlight<K>,
    key: K,
}

impl<K: Eq + Hash> Default for InFlight<K> {
    fn default() -> Self {
        Self(Arc::default())
    }
}

impl<K: Eq + Hash + Clone> InFlight<K> {
    /// `None` if a task works on the key already.
    pub fn start(&self, key: K) -> Option<InFlightGuard<K>> {
        let is_free = self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key.clone());
        is_free.then(|| InFlightGuard { set: self.clone(), key })
    }
}

impl<K: Eq + Hash> Drop for InFlightGuard<K> {
    fn drop(&mut self) {
        self.set.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_taken_until_its_guard_is_dropped() {
        let set = InFlight::default();
        let first = set.start("a");
        assert!(first.is_some());
        assert!(set.start("a").is_none());
        assert!(set.start("b").is_some(), "another key is free");
        drop(first);
        assert!(set.start("a").is_some());
    }

    #[test]
    fn a_panic_frees_the_key() {
        let set = InFlight::default();
        let panicking = set.clone();
        let task = std::thread::spawn(move || {
            let _guard = panicking.start("a");
            panic!("on purpose");
        });
        assert!(task.join().is_err());
        assert!(set.start("a").is_some());
    }
}
