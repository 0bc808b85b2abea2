//! Handlers of messages, edits and the move of a group to another id.

use crate::{
    store::{BatchedUpdate, StoreError},
    telegram::{Telegram, batch, file, parse, reactions},
};
use std::sync::Arc;
use teloxide::types::Message;

/// Parks a message for its batch. A message without a person's content may be a service message about members.
pub async fn park_message(
    telegram: &Arc<Telegram>,
    inbox_id: i64,
    message: &Message,
) -> Result<(), StoreError> {
    if let Some((from, to)) = file::migration_of(message) {
        file::migrate(telegram, from, to).await?;
        return telegram.store.close_update(inbox_id).await;
    }
    let Some(incoming) = parse::parse_message(message, &telegram.identity, &telegram.routes) else {
        return file::note_service_message(telegram, inbox_id, message).await;
    };
    let row = BatchedUpdate {
        inbox_id,
        conversation_id: incoming.conversation.id.clone(),
        sender_id: incoming.sender.0.clone(),
        album_id: incoming.album_id.clone(),
    };
    batch::park(telegram, row).await?;
    reactions::show(telegram, inbox_id, &incoming);
    Ok(())
}

/// Changes the stored text of an edited message. The edit of a message that still waits for its batch waits with it.
pub async fn apply_edit(telegram: &Arc<Telegram>, inbox_id: i64, edited: &Message) -> Result<(), StoreError> {
    if file::apply_edit(telegram, edited).await? {
        return telegram.store.close_update(inbox_id).await;
    }
    park_message(telegram, inbox_id, edited).await
}
