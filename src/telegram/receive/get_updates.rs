//! `getUpdates` whose response stays raw JSON, so that an update that cannot be parsed is still stored.

use crate::telegram::error_text::describe;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;
use teloxide::{
    Bot, RequestError,
    requests::{JsonRequest, Payload, Request as _},
};

/// How long Telegram may hold a request when there is nothing to deliver.
pub const LONG_POLL_TIMEOUT: Duration = Duration::from_secs(50);
/// A request that takes longer than this has lost its connection.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(65);
/// Updates in one response.
pub const MAX_UPDATES: u8 = 100;
const ALLOWED_UPDATES: [&str; 5] =
    ["message", "edited_message", "callback_query", "my_chat_member", "chat_member"];

/// Why there are no updates, by what the caller does next.
pub enum GetUpdatesError {
    /// Telegram asks to wait for this long. Not a failure.
    RetryAfter(Duration),
    /// Retry later; the text says why.
    Failed(String),
}

#[derive(Debug, Clone, Serialize)]
struct GetUpdates {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<i64>,
    limit: u8,
    /// In seconds.
    timeout: u64,
    allowed_updates: [&'static str; 5],
}

impl Payload for GetUpdates {
    type Output = Vec<Value>;
    const NAME: &'static str = "getUpdates";

    fn timeout_hint(&self) -> Option<Duration> {
        Some(Duration::from_secs(self.timeout))
    }
}

/// Asks for the updates from `offset` on, which confirms all before it.
pub async fn get_updates(
    bot: &Bot,
    offset: Option<i64>,
    timeout: Duration,
) -> Result<Vec<Value>, GetUpdatesError> {
    let payload = GetUpdates {
        offset,
        limit: MAX_UPDATES,
        timeout: timeout.as_secs(),
        allowed_updates: ALLOWED_UPDATES,
    };
    let request = JsonRequest::new(bot.clone(), payload);
    match tokio::time::timeout(REQUEST_TIMEOUT, request.send()).await {
        Ok(Ok(updates)) => Ok(updates),
        Ok(Err(RequestError::RetryAfter(wait))) => Err(GetUpdatesError::RetryAfter(wait.duration())),
        Ok(Err(error)) => Err(GetUpdatesError::Failed(describe(&error))),
        Err(_) => Err(GetUpdatesError::Failed("no answer".into())),
    }
}
