//! Receives updates by polling: every update is committed to the inbox before Telegram is told that the bot has it.
//!
//! # The states of an inbox row
//!
//! ```text
//!                  parsed, belongs to a batch          filed with its batch
//! getUpdates ──▶ received ─────────────────▶ waiting ─────────────────▶ done ──▶ deleted by upkeep
//!                   │  │                       │                         ▲
//!                   │  └── handled at once ────┼─────────────────────────┘
//!                   │                          │
//!                   └── cannot be handled ─────┴───────────────────────▶ skipped (with a note) ──▶ deleted by upkeep
//! ```
//!
//! - **received**: the raw JSON is committed. `poll` commits all updates of a response in one transaction
//!   (`receive_updates`), passes the new rows to `route`, and only then asks with a higher offset, which tells Telegram
//!   to forget them. A row is new if its key is (`new_update`).
//! - **waiting**: `route` parked the row for the batch of its conversation and sender (`batch`). Messages wait; so do
//!   edits of a message that waits, and the news that a person left while messages of theirs wait.
//! - **done**: nothing is left to do, and the row is emptied: only its key and ids stay, to recognise a repeated
//!   delivery. `file` closes the rows of a batch in the transaction that stores its messages and
//!   its turn. A command is closed in the transaction that plans its answer. Edits of stored messages, changes of
//!   membership and updates of other kinds are closed once they are applied.
//! - **skipped**: the update cannot be parsed, or its handler failed. The row keeps its content and the reason for the
//!   operator until upkeep deletes it. What a person cancels or a stranger wrote is done instead.
//!
//! # What a crash does
//!
//! - Before the commit: Telegram still has the updates and delivers them again.
//! - After the commit, before the higher offset: Telegram delivers them again. Their keys are known, so they are ignored.
//! - While a row is `received`: the next start reads it with `unhandled_updates` and routes it again. A command is
//!   answered once, because its answer is planned in the transaction that closes the row. Its effect, an edit or a
//!   membership change may be applied twice, which does no harm.
//! - While rows are `waiting`: the next start finds them in the database. Whether their batch is complete depends on
//!   arrival times in the database, so a restart does not split an album. Files are downloaded again.
//! - In the transaction that closes rows: the database keeps all of it or nothing.
//! - The database is away: the offset stays, Telegram keeps the updates, and `poll` asks for them again.
//!
//! No update id is compared with an older one: Telegram may restart its numbering.

mod get_updates;
mod new_update;

use crate::{
    retry,
    store::{InboxRow, NewUpdate, Store, StoreError},
};
use backon::{BackoffBuilder as _, ExponentialBackoff};
use get_updates::{GetUpdatesError, LONG_POLL_TIMEOUT, MAX_UPDATES, get_updates};
use new_update::new_update;
use std::time::Duration;
use teloxide::Bot;
use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

const FIRST_WAIT: Duration = Duration::from_millis(200);
const MAX_WAIT: Duration = Duration::from_secs(15);
/// While polling keeps failing, every so many failures are logged.
const LOGGED_FAILURES: u32 = 20;

/// Polls until `committed` is closed. Rows go to `committed` once they are in the database, the rows that a crash left
/// unhandled first. `caught_up` is true while no update is known to be left on Telegram's side.
pub async fn poll(bot: Bot, store: Store, committed: mpsc::Sender<InboxRow>, caught_up: watch::Sender<bool>) {
    let mut offset: Option<i64> = None;
    let mut cursor = Cursor { last_inbox_id: 0, recheck: true };
    let mut failures = PollFailures::new();
    loop {
        // Until we have caught up, Telegram must answer at once: the empty response is what we wait for.
        let timeout = if *caught_up.borrow() { LONG_POLL_TIMEOUT } else { Duration::ZERO };
        let updates = match get_updates(&bot, offset, timeout).await {
            Ok(updates) => updates,
            Err(GetUpdatesError::RetryAfter(wait)) => {
                tokio::time::sleep(wait).await;
                continue;
            }
            Err(GetUpdatesError::Failed(reason)) => {
                caught_up.send_replace(false);
                failures.wait("get_updates", &reason).await;
                continue;
            }
        };
        let new: Vec<NewUpdate> = updates.iter().map(new_update).collect();
        let rows = match cursor.receive(&store, &new).await {
            Ok(rows) => rows,
            Err(error) => {
                // The offset stays: Telegram keeps the updates until they are committed.
                failures.wait("receive_updates", &error.to_string()).await;
                continue;
            }
        };
        failures.clear();
        for row in rows {
            if committed.send(row).await.is_err() {
                return;
            }
        }
        let highest = updates.iter().filter_map(|update| update["update_id"].as_i64()).max();
        offset = highest.map(|id| id + 1).or(offset);
        let is_full = updates.len() == usize::from(MAX_UPDATES);
        if !is_full && (updates.is_empty() || !*caught_up.borrow()) {
            caught_up.send_replace(true);
        }
    }
}

/// Which rows were passed on to be routed.
struct Cursor {
    last_inbox_id: i64,
    /// Rows may be in the inbox that were not passed on: a crash left them, or a commit succeeded whose response was
    /// lost.
    recheck: bool,
}

impl Cursor {
    /// Commits the updates and returns the rows to pass on.
    async fn receive(&mut self, store: &Store, new: &[NewUpdate]) -> Result<Vec<InboxRow>, StoreError> {
        let recheck = std::mem::replace(&mut self.recheck, true);
        let mut rows = store.receive_updates(new).await?;
        if recheck {
            rows = store.unhandled_updates().await?;
            rows.retain(|row| row.inbox_id > self.last_inbox_id);
        }
        self.recheck = false;
        self.last_inbox_id = rows.iter().map(|row| row.inbox_id).fold(self.last_inbox_id, i64::max);
        Ok(rows)
    }
}

/// Consecutive failures: the wait grows with each. Logs the first, then every twentieth, and the recovery.
struct PollFailures {
    count: u32,
    waits: ExponentialBackoff,
}

impl PollFailures {
    fn new() -> Self {
        Self { count: 0, waits: retry::forever(FIRST_WAIT, MAX_WAIT).build() }
    }

    async fn wait(&mut self, op: &'static str, reason: &str) {
        self.count += 1;
        let wait = self.waits.next().unwrap_or(MAX_WAIT);
        if self.count == 1 || self.count.is_multiple_of(LOGGED_FAILURES) {
            warn!(op, failures = self.count, reason, "polling is interrupted; retrying in {wait:?}");
        }
        tokio::time::sleep(wait).await;
    }

    fn clear(&mut self) {
        if self.count > 0 {
            info!(op = "get_updates", failures = self.count, "polling works again");
            *self = Self::new();
        }
    }
}
