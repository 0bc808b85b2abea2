//! The Telegram message of a draft: its id, and how it is edited.

use crate::{
    store::Draft,
    telegram::{Telegram, place::Place, plan::Formatted},
};
use teloxide::{
    ApiError, RequestError,
    payloads::EditMessageTextSetters as _,
    requests::Requester as _,
    types::{ChatId, MessageId},
};

/// The chat and the id of a draft's message. `None` if the draft has not arrived.
pub fn message_of(draft: &Draft) -> Option<(ChatId, MessageId)> {
    Some((Place::of(&draft.conversation)?.chat, message_id(draft)?))
}

pub fn message_id(draft: &Draft) -> Option<MessageId> {
    draft.shown_id.as_ref()?.parse().ok().map(MessageId)
}

/// Replaces the text of a message. If it has this text already, that is a success too.
pub async fn edit_text(
    telegram: &Telegram,
    chat: ChatId,
    message: MessageId,
    body: &Formatted,
) -> Result<(), RequestError> {
    let request = telegram.bot.edit_message_text(chat, message, &body.text).entities(body.entities.clone());
    match request.await {
        Ok(_) | Err(RequestError::Api(ApiError::MessageNotModified)) => Ok(()),
        Err(error) => Err(error),
    }
}
