//! Deletes drafts that will not become an answer: of turns that were cancelled or answered with files.

use super::{drop_draft, edit::message_of};
use crate::{
    retry::while_unavailable,
    store::Draft,
    telegram::{
        Telegram,
        send::{outcome::DeliveryOutcome, retry::hold_chat},
    },
};
use std::time::{Duration, Instant};
use teloxide::requests::Requester as _;
use tracing::error;

const RETRY_INTERVAL: Duration = Duration::from_secs(5);
/// How often drafts are checked without a wake-up.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

#[derive(PartialEq, Eq)]
enum Removal {
    Done,
    RetryLater,
}

/// Removes drafts until dropped.
pub async fn run(telegram: &Telegram) {
    loop {
        let mut pause = CHECK_INTERVAL;
        for draft in spare_drafts(telegram).await {
            if remove(telegram, &draft).await == Removal::RetryLater {
                pause = RETRY_INTERVAL;
            }
        }
        tokio::select! {
            () = telegram.drafts.wake.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn spare_drafts(telegram: &Telegram) -> Vec<Draft> {
    while_unavailable("abandoned_drafts", || telegram.store.abandoned_drafts()).await.unwrap_or_else(
        |error| {
            error!(%error, op = "abandoned_drafts", "store error; retrying in {CHECK_INTERVAL:?}");
            Vec::new()
        },
    )
}

async fn remove(telegram: &Telegram, draft: &Draft) -> Removal {
    let _lock = telegram.drafts.locks.lock(draft.turn_id).await;
    if let Some((chat, message)) = message_of(draft) {
        if telegram.pacer().is_held(draft.conversation.chat_id(), Instant::now()) {
            return Removal::RetryLater;
        }
        if let Err(error) = telegram.bot.delete_message(chat, message).await {
            hold_chat(telegram, &draft.conversation, &error);
            match DeliveryOutcome::of_error(&error, 0) {
                DeliveryOutcome::NotDelivered { .. } | DeliveryOutcome::Unknown(_) => {
                    return Removal::RetryLater;
                }
                // The message is gone, or it can no longer be deleted.
                _ => {}
            }
        }
    }
    drop_draft(telegram, draft.turn_id).await;
    Removal::Done
}
