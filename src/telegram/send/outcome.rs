//! `DeliveryOutcome`: what a response, or its absence, says about a send, and what the outbox row becomes.

use super::retry;
use crate::{
    retry::while_unavailable,
    store::{OutboxRow, StoreError},
    telegram::{Telegram, error_text::describe, plan::SendRequest},
};
use std::time::Duration;
use teloxide::{ApiError, RequestError};
use tracing::{error, warn};

/// Texts by which the Bot API reports a 5xx of its own.
const SERVER_ERRORS: [&str; 4] =
    ["Internal Server Error", "Bad Gateway", "Gateway Time", "Service Unavailable"];

/// Texts by which the Bot API reports a topic that was deleted, or closed to the bot.
const TOPIC_ERRORS: [&str; 4] =
    ["message thread not found", "TOPIC_CLOSED", "TOPIC_DELETED", "TOPIC_ID_INVALID"];

/// What happened to a request, by what the sender does next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// Telegram accepted it. These are the ids of its messages.
    Delivered(Vec<String>),
    /// Certainly not delivered. Retry after this wait.
    NotDelivered { retry_after: Duration, reason: String },
    /// Certainly not delivered: Telegram refused this content. Try another shape.
    Refused(String),
    /// Certainly not delivered: the chat or its topic is closed to the bot. Give up.
    Undeliverable(String),
    /// The request left and no clear response came. Do not retry.
    Unknown(String),
}

impl DeliveryOutcome {
    /// What an error says about the request. `attempts` counts the earlier attempts.
    pub fn of_error(error: &RequestError, attempts: i64) -> Self {
        let reason = describe(error);
        match error {
            RequestError::RetryAfter(wait) => Self::NotDelivered { retry_after: wait.duration(), reason },
            // No connection was made, so nothing left.
            RequestError::Network(e) if e.is_connect() || e.is_builder() => {
                Self::NotDelivered { retry_after: retry::connection_wait(attempts), reason }
            }
            RequestError::Network(_) | RequestError::InvalidJson { .. } => Self::Unknown(reason),
            // A 5xx does not say whether the message was accepted.
            RequestError::Api(ApiError::Unknown(text)) if SERVER_ERRORS.iter().any(|e| text.contains(e)) => {
                Self::Unknown(reason)
            }
            RequestError::Api(ApiError::ChatNotFound | ApiError::BotBlocked | ApiError::UserDeactivated) => {
                Self::Undeliverable(reason)
            }
            RequestError::Api(ApiError::Unknown(text)) if text.starts_with("Forbidden") => {
                Self::Undeliverable(reason)
            }
            RequestError::Api(error) if error.to_string().starts_with("Forbidden") => {
                Self::Undeliverable(reason)
            }
            // No other shape helps, and in another topic the answer would have no context.
            RequestError::Api(ApiError::Unknown(text)) if TOPIC_ERRORS.iter().any(|e| text.contains(e)) => {
                Self::Undeliverable(format!("its topic was closed or deleted ({reason})"))
            }
            RequestError::Api(_) | RequestError::Io(_) => Self::Refused(reason),
            RequestError::MigrateToChatId(_) => Self::Undeliverable(reason),
        }
    }
}

/// Writes the outcome into the row. Waits while the database is away.
pub async fn record(telegram: &Telegram, row: &OutboxRow, request: SendRequest, outcome: DeliveryOutcome) {
    match outcome {
        DeliveryOutcome::Delivered(message_ids) => {
            let done = while_unavailable("mark_sent", || telegram.store.mark_sent(row, &message_ids)).await;
            log_store_error("mark_sent", done);
        }
        DeliveryOutcome::NotDelivered { retry_after, reason } => {
            log_store_error("requeue_send", retry::schedule(telegram, row, retry_after, &reason).await);
        }
        DeliveryOutcome::Refused(reason) => {
            log_store_error("replace_send", retry::send_fallback(telegram, row, request, &reason).await);
        }
        DeliveryOutcome::Undeliverable(reason) => {
            warn!(op = "deliver", reason, "the chat is closed to the bot; giving up");
            record_failure(telegram, row, &reason).await;
        }
        DeliveryOutcome::Unknown(reason) => record_unknown(telegram, row.outbox_id, &reason).await,
    }
    if row.turn_id.is_some() {
        telegram.drafts.wake();
    }
    telegram.reactions.wake();
}

/// The row is certainly not delivered and never will be.
pub async fn record_failure(telegram: &Telegram, row: &OutboxRow, reason: &str) {
    let failed =
        while_unavailable("mark_send_failed", || telegram.store.mark_send_failed(row.outbox_id, reason));
    log_store_error("mark_send_failed", failed.await);
}

/// The row may have been delivered.
pub async fn record_unknown(telegram: &Telegram, outbox_id: i64, reason: &str) {
    warn!(op = "deliver", outbox_id, reason, "it is unknown whether this arrived; see `photothread doctor`");
    let unknown =
        while_unavailable("mark_send_unknown", || telegram.store.mark_send_unknown(outbox_id, reason));
    log_store_error("mark_send_unknown", unknown.await);
}

/// The row stays `sending`; the next start makes it `unknown`.
fn log_store_error(op: &'static str, recorded: Result<(), StoreError>) {
    if let Err(error) = recorded {
        error!(%error, op, "store error; the outcome is not recorded");
    }
}
