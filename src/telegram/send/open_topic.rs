//! Opens a topic for a new conversation in a private chat, and queues the greeting in it.

use super::{outcome::DeliveryOutcome, retry::hold_chat};
use crate::{
    retry::while_unavailable,
    store::OutboxRow,
    telegram::{Telegram, messages, place::Place, plan},
};
use serde::{Deserialize, Serialize};
use teloxide::{
    requests::{JsonRequest, Payload, Request as _},
    types::{ChatId, MessageId, ThreadId},
};
use tracing::error;

/// teloxide's own payload takes a chat with topics for a group and expects fields that a private chat has not.
#[derive(Debug, Clone, Serialize)]
struct CreateForumTopic {
    chat_id: ChatId,
    name: &'static str,
}

#[derive(Debug, Clone, Deserialize)]
struct CreatedTopic {
    message_thread_id: i32,
}

impl Payload for CreateForumTopic {
    type Output = CreatedTopic;
    const NAME: &'static str = "createForumTopic";
}

/// Telegram refuses this where the person has no topics; the conversation then starts anew in the chat.
pub async fn open_topic(telegram: &Telegram, row: &OutboxRow, place: Place) -> DeliveryOutcome {
    let payload = CreateForumTopic { chat_id: place.chat, name: messages::new_topic_name() };
    let opened = match JsonRequest::new(telegram.bot.clone(), payload).send().await {
        Ok(opened) => opened,
        Err(error) => {
            hold_chat(telegram, &row.conversation, &error);
            return DeliveryOutcome::of_error(&error, row.attempts);
        }
    };
    let topic = Place { topic: Some(ThreadId(MessageId(opened.message_thread_id))), ..place };
    let greeting = plan::plan_message(&messages::new_topic());
    let (conversation, store) = (topic.conversation(), &telegram.store);
    let greet = || store.answer_update(&[], &conversation, None, &greeting);
    if let Err(error) = while_unavailable("answer_update", greet).await {
        error!(%error, op = "answer_update", "store error; the new topic is not greeted");
    }
    DeliveryOutcome::Delivered(Vec::new())
}
