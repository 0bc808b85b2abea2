//! Files batches: a complete batch becomes history and a turn, in one transaction that closes its inbox rows. One file
//! per step:
//!
//! ```text
//! waiting       reads the batch from the inbox
//! edits         applies edits to messages that wait or are stored
//! admission     may the sender use the bot?
//! late_photos   photos that arrive during the downloads join their album
//! downloads     fetches and stores the files
//! replies       finds the message, the photo and the thread that a reply points at
//! compose       builds the transaction
//! membership    who joins and leaves a group
//! migration     groups that became supergroups
//! ```

mod admission;
mod compose;
mod downloads;
mod edits;
mod late_photos;
mod membership;
mod migration;
mod replies;
mod waiting;

pub use edits::apply_edit;
pub use membership::{note_member_update, note_service_message};
pub use migration::{migrate, migration_of};
pub use waiting::cancel_waiting;

use super::{
    Telegram,
    batch::{Readiness, readiness},
    in_flight::InFlight,
    plan,
};
use crate::{
    access::Admission,
    agent,
    domain::{Conversation, InterfaceType, UserId},
    retry::while_unavailable,
    store::{StoreError, WaitingGroup},
};
use chrono::Utc;
use futures::FutureExt as _;
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::{sync::watch, task::JoinSet};
use tracing::{Instrument as _, error, field, info, info_span, warn};
use waiting::{WaitingBatch, read_waiting};

/// How often the inbox is checked without a wake-up.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);
const STORE_RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Files batches when they are complete, until dropped. While updates may be left on Telegram's side, no batch is judged
/// complete.
pub async fn run(telegram: Arc<Telegram>, mut caught_up: watch::Receiver<bool>) {
    let in_flight = InFlight::default();
    // Dropping the set stops the tasks.
    let mut tasks = JoinSet::new();
    let mut turns = telegram.turns.events();
    loop {
        if caught_up.wait_for(|caught_up| *caught_up).await.is_err() {
            return;
        }
        let pause = match telegram.store.waiting_groups().await {
            Ok(groups) => start_complete(&telegram, &in_flight, &mut tasks, &groups),
            Err(error) => {
                error!(%error, op = "waiting_groups", "store error; retrying in {STORE_RETRY_INTERVAL:?}");
                STORE_RETRY_INTERVAL
            }
        };
        while tasks.try_join_next().is_some() {}
        tokio::select! {
            () = telegram.batch_wake.notified() => {}
            // The end of a turn unblocks its conversation. After missed events look as well.
            _ = turns.recv() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Starts to file the complete batches. Returns how long until the next batch may be complete.
fn start_complete(
    telegram: &Arc<Telegram>,
    in_flight: &InFlight<String>,
    tasks: &mut JoinSet<()>,
    groups: &[WaitingGroup],
) -> Duration {
    let now = Utc::now();
    let mut pause = CHECK_INTERVAL;
    for group in groups {
        match readiness(group, &telegram.batch_settings, now) {
            Readiness::Blocked => continue,
            Readiness::Incomplete(wait) => {
                pause = pause.min(wait);
                continue;
            }
            Readiness::Complete => {}
        }
        let Some(guard) = in_flight.start(group.conversation_id.clone()) else { continue };
        let telegram = telegram.clone();
        let conversation = Conversation::new(InterfaceType::Telegram, group.conversation_id.clone());
        let sender = UserId(group.sender_id.clone());
        tasks.spawn(async move {
            let span = info_span!("batch", %conversation, %sender);
            file_batch(&telegram, &conversation, &sender).instrument(span).await;
            drop(guard);
            telegram.batch_wake.notify_one();
        });
    }
    pause
}

/// Files one batch. If the database is away, the batch stays in the inbox. If the batch can never be filed, its sender
/// gets an apology.
async fn file_batch(telegram: &Telegram, conversation: &Conversation, sender: &UserId) {
    match AssertUnwindSafe(try_file(telegram, conversation, sender)).catch_unwind().await {
        Ok(Ok(()) | Err(StoreError::AlreadyDone)) => {}
        Ok(Err(error @ StoreError::Unavailable(_))) => {
            warn!(%error, op = "file_batch", "store error; retrying in {STORE_RETRY_INTERVAL:?}");
            tokio::time::sleep(STORE_RETRY_INTERVAL).await;
        }
        Ok(Err(error)) => {
            error!(%error, op = "file_batch", "the batch cannot be filed; apologising");
            apologise(telegram, conversation, sender).await;
        }
        Err(_) => {
            error!(op = "file_batch", "filing panicked; apologising");
            apologise(telegram, conversation, sender).await;
        }
    }
}

async fn try_file(
    telegram: &Telegram,
    conversation: &Conversation,
    sender: &UserId,
) -> Result<(), StoreError> {
    let batch = read_waiting(telegram, conversation, sender).await?;
    let departures = batch.departures.clone();
    if batch.messages.is_empty() {
        telegram.store.close_updates(&batch.edits).await?;
    } else {
        file_messages(telegram, conversation, sender, batch).await?;
    }
    membership::close_departures(telegram, conversation, sender, &departures).await
}

async fn file_messages(
    telegram: &Telegram,
    conversation: &Conversation,
    sender: &UserId,
    mut batch: WaitingBatch,
) -> Result<(), StoreError> {
    let scope = match telegram.access.admit(conversation, sender).await? {
        Admission::Welcome(scope) => scope,
        Admission::Stranger => return admission::turn_away(telegram, conversation, sender, &batch).await,
    };
    let files = late_photos::download_with_late_photos(telegram, &scope, &mut batch).await?;
    let filing = compose::compose(telegram, &scope, batch, files).await?;
    let filed = match telegram.store.file(&filing).await {
        // Files that arrived at the same time took the room: the messages are filed without theirs.
        Err(StoreError::OverQuota(over)) => {
            telegram.store.file(&compose::without_new_files(filing, over.into())).await?
        }
        filed => filed?,
    };
    let turn_id = filed.turn.map(field::display);
    info!(op = "file_batch", messages = filed.messages.len(), turn_id, "batch filed");
    telegram.turns.changed(conversation);
    if filed.turn.is_some() {
        telegram.turns.wake();
    }
    Ok(())
}

/// Closes the rows of a batch that cannot be filed, with an apology.
async fn apologise(telegram: &Telegram, conversation: &Conversation, sender: &UserId) {
    let sends = plan::plan_message(&agent::messages::apology());
    let answer = || async {
        let rows = telegram.store.waiting_updates(&conversation.id, &sender.0).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.inbox_id).collect();
        telegram.store.answer_update(&ids, conversation, None, &sends).await
    };
    match while_unavailable("answer_update", answer).await {
        Ok(()) | Err(StoreError::AlreadyDone) => {}
        Err(error) => error!(%error, op = "answer_update", "store error; the batch stays in the inbox"),
    }
    telegram.send_wake.notify_one();
}
