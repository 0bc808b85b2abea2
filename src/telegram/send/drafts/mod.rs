//! Drafts: while a turn runs, one message shows its text so far and the tool that is running, and is edited as that
//! changes. A draft never delays a send. In the end it becomes the answer (`finish`) or is deleted (`remove`).
//!
//! In private chats the text is shown as a native draft where the server has those (`native`): it is no message, so the answer
//! is a send like any other.
//!
//! At most one task writes to a draft at a time (`TurnLocks`), so a late edit cannot overwrite the answer.

mod body;
mod edit;
mod finish;
mod native;
mod remove;
mod show;

pub use finish::{draft_to_edit, turn_into_answer};

use crate::{config::DraftSettings, domain::TurnId, retry::while_unavailable, telegram::Telegram};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::sync::{Notify, OwnedMutexGuard};
use tracing::error;

/// What drafts share with the sender.
pub struct Drafts {
    settings: DraftSettings,
    locks: TurnLocks,
    wake: Notify,
    native: native::NativeDrafts,
}

impl Drafts {
    pub fn new(settings: DraftSettings) -> Self {
        Self {
            settings,
            locks: TurnLocks::default(),
            wake: Notify::new(),
            native: native::NativeDrafts::default(),
        }
    }

    /// A turn or one of its sends has ended, so a draft may have to be removed.
    pub fn wake(&self) {
        self.wake.notify_one();
    }
}

/// One lock for each turn: its holder may write to the draft of the turn.
#[derive(Default)]
struct TurnLocks(Mutex<HashMap<TurnId, Arc<tokio::sync::Mutex<()>>>>);

impl TurnLocks {
    async fn lock(&self, turn: TurnId) -> OwnedMutexGuard<()> {
        let lock = {
            let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            locks.retain(|_, lock| Arc::strong_count(lock) > 1);
            locks.entry(turn).or_default().clone()
        };
        lock.lock_owned().await
    }
}

/// Waits for a draft of this turn that is on its way: a native draft must not reach the chat after the answer. No other
/// starts, because the turn has ended.
pub async fn wait_for_draft(telegram: &Telegram, turn: TurnId) {
    drop(telegram.drafts.locks.lock(turn).await);
}

/// Shows running turns and removes the drafts that are left over, until dropped.
pub async fn run(telegram: Arc<Telegram>) {
    tokio::join!(show::run(&telegram), remove::run(&telegram));
}

/// The turn has no draft any more. Waits while the database is away.
async fn drop_draft(telegram: &Telegram, turn_id: TurnId) {
    let dropped = while_unavailable("delete_draft", || telegram.store.delete_draft(turn_id));
    if let Err(error) = dropped.await {
        error!(%error, op = "delete_draft", %turn_id, "store error; the draft stays recorded");
    }
}
