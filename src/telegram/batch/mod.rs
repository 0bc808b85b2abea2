//! Batches: the messages that one sender has waiting in one conversation. An album or a burst is one batch, so that it
//! becomes one turn. `complete` decides when a batch is complete; `file` then turns it into history.
//!
//! A batch is nothing but the `waiting` rows of the inbox. No part of it is held in memory, so a restart changes nothing.

mod complete;
mod park_queue;

pub use complete::{Readiness, complete_at, readiness};
pub use park_queue::ParkQueue;

use super::Telegram;
use crate::store::{BatchedUpdate, StoreError};

/// Makes an inbox row wait for its batch. Returns once that is committed.
pub async fn park(telegram: &Telegram, row: BatchedUpdate) -> Result<(), StoreError> {
    telegram.park_queue.park(&telegram.store, row).await?;
    telegram.batch_wake.notify_one();
    Ok(())
}
