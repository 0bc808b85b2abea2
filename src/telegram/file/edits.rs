//! Edited messages: the text changes, in the batch or in the history. No turn is run again.

use crate::{
    attachments::markers,
    store::StoreError,
    telegram::{
        Telegram,
        parse::{self, MessageText, ReceivedMessage},
        place::Place,
    },
};
use teloxide::types::Message;

/// Changes the stored text of an edited message. False if the message is not stored.
pub async fn apply_edit(telegram: &Telegram, edited: &Message) -> Result<bool, StoreError> {
    let conversation = Place::of_message(edited).conversation();
    let message_id = edited.id.0.to_string();
    let Some(found) = telegram.store.find_message(&conversation, &message_id).await? else {
        return Ok(false);
    };
    let text = parse::message_text(edited, &telegram.identity, &telegram.routes).text;
    let content = markers::with_markers(&text, &found.message.attachments);
    let is_stored = telegram.store.edit_message(&conversation, &message_id, &content).await?;
    telegram.turns.changed(&conversation);
    Ok(is_stored)
}

/// Changes a message that still waits for its batch.
pub fn edit_waiting(telegram: &Telegram, waiting: &mut ReceivedMessage, edited: &Message) {
    let MessageText { text, agent } = parse::message_text(edited, &telegram.identity, &telegram.routes);
    waiting.addressed |= agent.is_some();
    waiting.agent = agent;
    waiting.text = text;
}
