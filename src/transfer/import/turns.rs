//! Who may import when: one import per person, two in all, and only as many as fit in memory together. An import that
//! finds no place waits a while and is then asked to come back.

use super::{error::ImportError, limits::MAX_IMPORT_MEMORY};
use crate::{domain::UserId, transfer::json_cost::JsonCost};
use std::{
    collections::HashSet,
    sync::{LazyLock, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

/// Imports at the same time.
static PLACES: Semaphore = Semaphore::const_new(2);
/// Memory of all imports, in steps of `STEP`.
static MEMORY: Semaphore = Semaphore::const_new((MAX_IMPORT_MEMORY / STEP) as usize);
const STEP: u64 = 1 << 20;
/// Copies of a document's texts while it is checked: as it came, as values, as entries and as rows.
const TEXT_COPIES: u64 = 4;
/// How long an import waits for others.
const MAX_WAIT: Duration = Duration::from_secs(30);

static PEOPLE: LazyLock<People> = LazyLock::new(People::default);

/// The people who are importing.
#[derive(Default)]
struct People {
    importing: Mutex<HashSet<UserId>>,
    left: Notify,
}

impl People {
    fn importing(&self) -> MutexGuard<'_, HashSet<UserId>> {
        self.importing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct PersonPlace(UserId);

impl Drop for PersonPlace {
    fn drop(&mut self) {
        PEOPLE.importing().remove(&self.0);
        PEOPLE.left.notify_waiters();
    }
}

/// The right to import, until it is dropped.
pub struct ImportTurn {
    _person: PersonPlace,
    _place: SemaphorePermit<'static>,
}

impl ImportTurn {
    /// Waits for the person's own imports first, so that their imports never wait in the places of others.
    pub async fn wait(user: &UserId) -> Result<Self, ImportError> {
        let turn = async {
            let person = wait_for_person(user).await;
            let place = PLACES.acquire().await.map_err(|_| ImportError::TooMany)?;
            Ok(Self { _person: person, _place: place })
        };
        tokio::time::timeout(MAX_WAIT, turn).await.map_err(|_| ImportError::TooMany)?
    }

    /// Waits for the memory that this document takes; it is taken until the permit is dropped. Fails at once if there is
    /// never that much.
    pub async fn reserve(&self, cost: &JsonCost) -> Result<SemaphorePermit<'static>, ImportError> {
        let steps = cost.memory(TEXT_COPIES).div_ceil(STEP);
        if steps > MAX_IMPORT_MEMORY / STEP {
            return Err(ImportError::TooLarge);
        }
        let reserved = MEMORY.acquire_many(u32::try_from(steps).unwrap_or(u32::MAX));
        let reserved = tokio::time::timeout(MAX_WAIT, reserved).await;
        reserved.ok().and_then(Result::ok).ok_or(ImportError::TooMany)
    }
}

async fn wait_for_person(user: &UserId) -> PersonPlace {
    loop {
        let mut left = std::pin::pin!(PEOPLE.left.notified());
        // Registered before the look, so that a person who leaves in between is not missed.
        left.as_mut().enable();
        if PEOPLE.importing().insert(user.clone()) {
            return PersonPlace(user.clone());
        }
        left.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;

    fn user(name: &str) -> UserId {
        UserId(name.to_owned())
    }

    /// One test, because the places are those of the process.
    #[tokio::test]
    async fn a_person_imports_one_history_at_a_time_and_all_of_them_fit_in_memory() {
        let ann = ImportTurn::wait(&user("ann")).await.unwrap();
        assert!(ImportTurn::wait(&user("ann")).now_or_never().is_none(), "her second import waits");
        let bob = ImportTurn::wait(&user("bob")).await.unwrap();
        assert!(ImportTurn::wait(&user("cat")).now_or_never().is_none(), "two are enough");

        let most = JsonCost::of(&vec![b' '; (MAX_IMPORT_MEMORY / TEXT_COPIES) as usize]);
        let too_much = JsonCost::of(&vec![b' '; (MAX_IMPORT_MEMORY / TEXT_COPIES) as usize + 1]);
        assert!(matches!(ann.reserve(&too_much).await, Err(ImportError::TooLarge)));
        let reserved = ann.reserve(&most).await.unwrap();
        assert!(bob.reserve(&JsonCost::of(b"{}")).now_or_never().is_none(), "nothing is left");
        drop((reserved, ann));
        drop(bob.reserve(&most).await.unwrap());
        ImportTurn::wait(&user("ann")).await.unwrap();
    }
}
