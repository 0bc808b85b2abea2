//! Updates come in here: raw JSON is committed to the inbox first, and only then does the offset move.
//! Duplicates are recognised by key, never by "an id below the last one": Telegram may restart its ids.

use super::error_text::describe;
use crate::store::{InboxRow, NewUpdate, Store, StoreError};
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use teloxide::{
    Bot, RequestError,
    requests::{JsonRequest, Payload, Request as _},
};
use tokio::sync::{mpsc, watch};
use tracing::{error, info, warn};

const LONG_POLL_SECONDS: u32 = 50;
/// A poll that takes longer than this is a dead connection.
const POLL_PATIENCE: Duration = Duration::from_secs(LONG_POLL_SECONDS as u64 + 15);
const BATCH: u8 = 100;

/// `getUpdates` whose answer is left as it came, so that what cannot be parsed is still kept.
#[derive(Debug, Clone, Serialize)]
struct RawUpdates {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i64>,
    limit: u8,
    timeout: u32,
    allowed_updates: [&'static str; 5],
}

impl Payload for RawUpdates {
    type Output = Vec<Value>;
    const NAME: &'static str = "getUpdates";
    fn timeout_hint(&self) -> Option<Duration> {
        Some(Duration::from_secs(u64::from(self.timeout)))
    }
}

/// Recognises an update when it comes again: its id and what it is about. The id alone would confuse two
/// updates if Telegram restarts its numbering.
pub fn update_key(update: &Value) -> String {
    let id = &update["update_id"];
    let about = update.as_object().and_then(|fields| fields.iter().find(|(name, _)| *name != "update_id"));
    match about {
        Some((kind, body)) => {
            let (chat, message, edited) = (&body["chat"]["id"], &body["message_id"], &body["edit_date"]);
            format!("{id}:{kind}:{chat}:{message}:{edited}:{}", body["id"])
        }
        None => format!("{id}:{update}"),
    }
}

/// The chat an update belongs to, whatever kind it is.
fn chat_of(update: &Value) -> Option<String> {
    let bodies = update.as_object()?.values();
    let chats = bodies.map(|body| &body["chat"]["id"]);
    chats.filter_map(Value::as_i64).next().map(|id| id.to_string())
}

/// Polls until told to stop. Rows go to `handled_next` once they are safe; what a crash left unhandled comes first. `caught_up` is true while we know of
/// nothing that Telegram still holds for us.
pub async fn poll(
    bot: Bot,
    store: Store,
    handled_next: mpsc::Sender<InboxRow>,
    caught_up: watch::Sender<bool>,
) {
    let mut offset: Option<i64> = None;
    let mut handed = Handed { last: 0, unsure: true };
    let mut trouble = Backoff::default();
    loop {
        // Until we have caught up, do not let Telegram hold the line: an empty answer is what we wait for.
        let timeout = if *caught_up.borrow() { LONG_POLL_SECONDS } else { 0 };
        let allowed_updates =
            ["message", "edited_message", "callback_query", "my_chat_member", "chat_member"];
        let request =
            JsonRequest::new(bot.clone(), RawUpdates { offset, limit: BATCH, timeout, allowed_updates });
        let updates = match tokio::time::timeout(POLL_PATIENCE, request.send()).await {
            Ok(Ok(updates)) => updates,
            Ok(Err(RequestError::RetryAfter(wait))) => {
                tokio::time::sleep(wait.duration()).await;
                continue;
            }
            Ok(Err(error)) => {
                caught_up.send_replace(false);
                trouble.wait(&describe(&error)).await;
                continue;
            }
            Err(_) => {
                caught_up.send_replace(false);
                trouble.wait("no answer").await;
                continue;
            }
        };
        let next = updates.iter().filter_map(|update| update["update_id"].as_i64()).max().map(|id| id + 1);
        let full = updates.len() == usize::from(BATCH);
        let new: Vec<NewUpdate> = updates
            .iter()
            .map(|update| NewUpdate {
                key: update_key(update),
                raw: update.to_string(),
                conversation_id: chat_of(update),
            })
            .collect();
        let rows = match handed.receive(&store, &new).await {
            Ok(rows) => rows,
            Err(error) => {
                // The offset stays: Telegram keeps the updates until the database can.
                error!(%error, "updates could not be stored; asking for them again");
                trouble.wait("the database").await;
                continue;
            }
        };
        trouble.over();
        for row in rows {
            if handled_next.send(row).await.is_err() {
                return;
            }
        }
        offset = next.or(offset);
        if !full && (updates.is_empty() || !*caught_up.borrow()) {
            caught_up.send_replace(true);
        }
    }
}

/// Which rows were passed on already.
struct Handed {
    last: i64,
    /// There may be rows that nobody was handed: a crash left them, or a commit happened that we did not hear of.
    unsure: bool,
}

impl Handed {
    /// Keeps the updates and returns the rows that nobody was handed yet.
    async fn receive(&mut self, store: &Store, new: &[NewUpdate]) -> Result<Vec<InboxRow>, StoreError> {
        let unsure = std::mem::replace(&mut self.unsure, true);
        let mut rows = store.receive_updates(new).await?;
        if unsure {
            rows = store.unhandled_updates().await?;
            rows.retain(|row| row.inbox_id > self.last);
        }
        self.unsure = false;
        self.last = rows.iter().map(|row| row.inbox_id).fold(self.last, i64::max);
        Ok(rows)
    }
}

/// Waits longer after each failure in a row, and says so once when it begins and once when it is over.
#[derive(Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    async fn wait(&mut self, why: &str) {
        self.failures += 1;
        if self.failures == 1 || self.failures.is_multiple_of(20) {
            warn!(failures = self.failures, "polling is interrupted: {why}");
        }
        let millis = 100u64 << self.failures.min(8);
        tokio::time::sleep(Duration::from_millis(millis.min(15_000))).await;
    }

    fn over(&mut self) {
        if self.failures > 0 {
            info!("polling goes on");
        }
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_update_has_the_same_key_and_a_restarted_id_another() {
        let update = |id: i64, message: i64| json!({"update_id": id, "message": {"message_id": message, "chat": {"id": 5}}});
        assert_eq!(update_key(&update(10, 1)), update_key(&update(10, 1)));
        assert_ne!(update_key(&update(10, 1)), update_key(&update(10, 2)));
        assert_ne!(update_key(&update(10, 1)), update_key(&update(9, 1)));
    }
}
