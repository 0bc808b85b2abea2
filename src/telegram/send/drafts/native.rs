//! Native drafts: `sendMessageDraft` (Bot API 9.5) shows a growing answer in a private chat without a message. Telegram drops
//! it after half a minute, or when the answer comes.

use crate::{
    domain::TurnId,
    telegram::{Telegram, error_text::is_unknown_method, place::Place, plan::Formatted},
};
use serde::Serialize;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use teloxide::{
    RequestError,
    requests::{JsonRequest, Payload, Request as _},
    types::{ChatId, MessageEntity, ThreadId, True},
};

/// A draft is shown again before Telegram drops it.
pub const REFRESH_INTERVAL: Duration = Duration::from_secs(20);

/// Whether the server has the method. It is tried once, and forgotten with the process.
#[derive(Default)]
pub struct NativeDrafts {
    is_unknown: AtomicBool,
}

impl NativeDrafts {
    pub fn may_work(&self, place: Place) -> bool {
        place.chat.is_user() && !self.is_unknown.load(Ordering::Relaxed)
    }

    /// True if the server does not know the method.
    pub fn remember(&self, error: &RequestError) -> bool {
        let is_unknown = is_unknown_method(error);
        if is_unknown {
            self.is_unknown.store(true, Ordering::Relaxed);
        }
        is_unknown
    }
}

/// teloxide does not have the method.
#[derive(Debug, Clone, Serialize)]
struct SendMessageDraft {
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<ThreadId>,
    draft_id: u32,
    text: String,
    entities: Vec<MessageEntity>,
}

impl Payload for SendMessageDraft {
    type Output = True;
    const NAME: &'static str = "sendMessageDraft";
}

pub async fn send_draft(
    telegram: &Telegram,
    place: Place,
    turn: TurnId,
    body: &Formatted,
) -> Result<(), RequestError> {
    let payload = SendMessageDraft {
        chat_id: place.chat,
        message_thread_id: place.topic,
        draft_id: draft_id(turn),
        text: body.text.clone(),
        entities: body.entities.clone(),
    };
    JsonRequest::new(telegram.bot.clone(), payload).send().await.map(drop)
}

/// The same for a turn over restarts, and never zero. The end of the id is random.
fn draft_id(turn: TurnId) -> u32 {
    let [.., a, b, c, d] = *turn.0.as_bytes();
    u32::from_be_bytes([a & 0x7f, b, c, d]).max(1)
}
