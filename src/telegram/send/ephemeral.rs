//! Sends a text that one member of a group sees and that is not part of the chat (Bot API 10.3). The bot must be an
//! administrator; a server that does not know such texts sends it to all.

use crate::{
    domain::UserId,
    telegram::{Telegram, place::Place, plan::Formatted},
};
use serde::Serialize;
use serde_json::Value;
use teloxide::{
    RequestError,
    requests::{JsonRequest, Payload, Request as _},
    types::{ChatId, MessageEntity, ThreadId},
};

/// teloxide's own payload does not have the receiver.
#[derive(Debug, Clone, Serialize)]
struct SendEphemeral {
    chat_id: ChatId,
    #[serde(skip_serializing_if = "Option::is_none")]
    message_thread_id: Option<ThreadId>,
    text: String,
    entities: Vec<MessageEntity>,
    ephemeral_message_parameters: EphemeralMessageParameters,
}

#[derive(Debug, Clone, Serialize)]
struct EphemeralMessageParameters {
    receiver_user_id: i64,
}

impl Payload for SendEphemeral {
    /// Nothing replies to such a message, so its id is not needed.
    type Output = Value;
    const NAME: &'static str = "sendMessage";
}

pub async fn send_ephemeral(
    telegram: &Telegram,
    place: Place,
    body: &Formatted,
    receiver: &UserId,
) -> Result<(), RequestError> {
    let payload = SendEphemeral {
        chat_id: place.chat,
        message_thread_id: place.topic,
        text: body.text.clone(),
        entities: body.entities.clone(),
        ephemeral_message_parameters: EphemeralMessageParameters {
            receiver_user_id: receiver.0.parse().unwrap_or_default(),
        },
    };
    JsonRequest::new(telegram.bot.clone(), payload).send().await.map(drop)
}
