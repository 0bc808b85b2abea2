//! When and how a send is tried again: after a 429, after a failed connection, or in another shape after a refusal.

use crate::{
    domain::Conversation,
    retry::{self, while_unavailable},
    store::{OutboxRow, StoreError},
    telegram::{Telegram, plan::SendRequest},
};
use backon::BackoffBuilder as _;
use chrono::{TimeDelta, Utc};
use std::time::{Duration, Instant};
use teloxide::RequestError;
use tracing::{error, info, warn};

/// A send that was certainly not delivered this often is given up.
const MAX_SEND_ATTEMPTS: i64 = 20;
const FIRST_CONNECTION_WAIT: Duration = Duration::from_millis(500);
const MAX_CONNECTION_WAIT: Duration = Duration::from_secs(32);

/// On a 429, sends nothing to this chat until the wait that Telegram asks for is over. Other chats go on.
pub fn hold_chat(telegram: &Telegram, conversation: &Conversation, error: &RequestError) {
    if let RequestError::RetryAfter(wait) = error {
        let now = Instant::now();
        telegram.pacer().hold(conversation.chat_id(), now + wait.duration(), now);
    }
}

/// The wait after a failed connection, by the number of earlier attempts.
pub fn connection_wait(attempts: i64) -> Duration {
    let mut waits = retry::forever(FIRST_CONNECTION_WAIT, MAX_CONNECTION_WAIT).build();
    waits.nth(usize::try_from(attempts).unwrap_or_default()).unwrap_or(MAX_CONNECTION_WAIT)
}

/// Puts a send that was not delivered back into the queue, or gives it up after too many attempts.
pub async fn schedule(
    telegram: &Telegram,
    row: &OutboxRow,
    wait: Duration,
    reason: &str,
) -> Result<(), StoreError> {
    if row.attempts >= MAX_SEND_ATTEMPTS {
        error!(op = "deliver", reason, attempts = row.attempts, "too many attempts; giving up");
        return while_unavailable("mark_send_failed", || {
            telegram.store.mark_send_failed(row.outbox_id, reason)
        })
        .await;
    }
    info!(op = "deliver", reason, "not delivered; retrying in {wait:?}");
    let not_before = Utc::now() + TimeDelta::from_std(wait).unwrap_or(TimeDelta::minutes(5));
    while_unavailable("requeue_send", || telegram.store.requeue_send(row.outbox_id, not_before, reason)).await
}

/// Queues a refused send in its fallback shape, or gives it up if there is none.
pub async fn send_fallback(
    telegram: &Telegram,
    row: &OutboxRow,
    request: SendRequest,
    reason: &str,
) -> Result<(), StoreError> {
    if let SendRequest::OpenTopic { user } = &request {
        // No topic: the new conversation is a session of this one.
        while_unavailable("start_session", || telegram.store.start_session(&row.conversation, user)).await?;
    }
    let Some(fallback) = request.fallback() else {
        error!(op = "deliver", reason, "refused, and no other shape is left; giving up");
        return while_unavailable("mark_send_failed", || {
            telegram.store.mark_send_failed(row.outbox_id, reason)
        })
        .await;
    };
    warn!(op = "deliver", reason, "refused; trying another shape");
    let planned = fallback.into_planned();
    let reshape = || telegram.store.replace_send(row.outbox_id, &planned, row.reply_to.as_deref(), reason);
    while_unavailable("replace_send", reshape).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wait_for_a_connection_doubles_up_to_its_maximum() {
        let waits = [0, 1, 5, 6, 19].map(|attempts| connection_wait(attempts).as_millis());
        assert_eq!(waits, [500, 1000, 16_000, 32_000, 32_000]);
    }
}
