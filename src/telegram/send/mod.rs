//! Delivers the outbox: one send per chat at a time, in order, at the pace that Telegram allows. The topics of a chat share
//! all three. Chats do not wait for each other.
//!
//! # The states of an outbox row
//!
//! ```text
//!                claim             Telegram accepted it
//! planned ──▶ queued ──▶ sending ─────────────────────▶ sent
//!               ▲           │
//!               │           ├── not delivered: 429, no connection ──▶ queued, not before a time (`retry`)
//!               └───────────┤
//!                           ├── refused ──▶ queued in another shape, or failed if there is none
//!                           ├── chat closed to the bot, or too many attempts ──▶ failed
//!                           └── the request left and no response came ──▶ unknown
//! ```
//!
//! - **queued**: the end of a turn, or the answer to a command, planned the send in its own transaction. The lowest
//!   `queued` row of a chat is the next, if none of its rows is `sending`.
//! - **sending**: claimed. The request may leave from here on. Files are loaded before the claim.
//! - **sent**: Telegram accepted the request. The ids of its messages are stored in the same transaction, so that a
//!   reply to any of them finds its message and photo.
//! - **unknown**: the request may or may not have been delivered. It is never repeated, and `photothread doctor` lists it.
//! - **failed**: the request was certainly not delivered and no retry can help. `photothread doctor` lists it too.
//!
//! `outcome` decides from Telegram's response which of these happens, `retry` when a send is tried again.
//!
//! A draft (the message that shows a running turn) is also a row. It is inserted as `sending`, because this loop must not
//! deliver it, and becomes `sent` or `unknown`; if it was certainly not delivered, the row is deleted. The first text of
//! the answer then edits the draft's message instead of sending a new one (`drafts`).
//!
//! # What a crash does
//!
//! - While a row is `queued`: nothing. The next start delivers it.
//! - Between the claim and the response: the request may have left. The next start turns `sending` into `unknown`
//!   (`mark_interrupted_sends`). The edit of a draft goes back to `queued` instead, because repeating an edit changes nothing.
//! - After the response, before `sent` is committed: the same as above, so no message is ever sent twice.
//! - A normal stop starts no new send and waits for those on their way, so it leaves no `unknown` row.
//! - The database is away after the response: the commit is retried until it succeeds.

mod deliver;
mod drafts;
mod ephemeral;
mod open_topic;
mod outcome;
mod pacing;
mod request;
mod retry;

pub use drafts::{Drafts, run as run_drafts};
pub use pacing::Pacer;
pub use retry::hold_chat;

use super::{Telegram, in_flight::InFlight};
use crate::{
    domain::{Conversation, InterfaceType},
    retry::while_unavailable,
    store::OutboxRow,
};
use std::{ops::ControlFlow, sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tracing::{Instrument as _, error, field, info_span};

/// How often the outbox is checked without a wake-up.
const CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Delivers the outbox until dropped.
pub async fn run(telegram: Arc<Telegram>) {
    let in_flight = InFlight::default();
    let mut turns = telegram.turns.events();
    // Dropping the set stops the tasks.
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        match telegram.store.conversations_to_send(InterfaceType::Telegram).await {
            Ok(conversations) => {
                for conversation in conversations {
                    let Some(guard) = in_flight.start(conversation.clone()) else { continue };
                    let telegram = telegram.clone();
                    tasks.spawn(async move {
                        send_queued(&telegram, &conversation).await;
                        drop(guard);
                        // A send may have been planned after the last query and before the guard was dropped.
                        telegram.send_wake.notify_one();
                    });
                }
            }
            Err(error) => {
                error!(%error, op = "conversations_to_send", "store error; retrying in {CHECK_INTERVAL:?}");
            }
        }
        tokio::select! {
            () = telegram.send_wake.notified() => {}
            _ = turns.recv() => {}
            () = tokio::time::sleep(CHECK_INTERVAL) => {}
        }
    }
}

/// Delivers everything that one chat has queued, in order.
async fn send_queued(telegram: &Telegram, conversation: &Conversation) {
    loop {
        match while_unavailable("next_send", || telegram.store.next_send(conversation)).await {
            Ok(Some(row)) => match deliver::deliver(telegram, &row).instrument(span(&row)).await {
                ControlFlow::Continue(()) => {}
                ControlFlow::Break(()) => return,
            },
            Ok(None) => return,
            Err(error) => {
                error!(%error, op = "next_send", %conversation, "store error; the chat's sends wait");
                return;
            }
        }
    }
}

fn span(row: &OutboxRow) -> tracing::Span {
    let turn_id = row.turn_id.map(field::display);
    info_span!("send", conversation = %row.conversation, outbox_id = row.outbox_id, turn_id)
}
