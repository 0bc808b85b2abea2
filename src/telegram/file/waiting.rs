//! Reads a batch from the inbox: the waiting messages of one sender in one conversation, with their edits applied.

use super::{edits, membership, migration};
use crate::{
    domain::{Conversation, UserId},
    store::{InboxRow, StoreError},
    telegram::{
        Telegram,
        parse::{self, ReceivedMessage},
    },
};
use teloxide::types::UpdateKind;

/// A message and its inbox row.
pub struct WaitingMessage {
    pub inbox_id: i64,
    pub message: ReceivedMessage,
}

/// Everything that one sender has waiting in one conversation.
#[derive(Default)]
pub struct WaitingBatch {
    pub messages: Vec<WaitingMessage>,
    /// Rows of edits, which are applied already.
    pub edits: Vec<i64>,
    /// Rows that tell that the sender left the chat after their messages.
    pub departures: Vec<i64>,
}

impl WaitingBatch {
    /// The rows that are closed with the batch.
    pub fn inbox_ids(&self) -> Vec<i64> {
        self.messages.iter().map(|waiting| waiting.inbox_id).chain(self.edits.iter().copied()).collect()
    }

    /// Whether any message is meant for the bot.
    pub fn is_addressed(&self) -> bool {
        self.messages.iter().any(|waiting| waiting.message.addressed)
    }
}

/// Reads the batch. Edits are applied to the messages they change, whether those wait or are stored.
pub async fn read_waiting(
    telegram: &Telegram,
    conversation: &Conversation,
    sender: &UserId,
) -> Result<WaitingBatch, StoreError> {
    let mut batch = WaitingBatch::default();
    for InboxRow { inbox_id, raw } in telegram.store.waiting_updates(&conversation.id, &sender.0).await? {
        match parse::parse_update(&raw).map(|parsed| parsed.update.kind) {
            Ok(kind) if membership::is_departure(&kind) => batch.departures.push(inbox_id),
            Ok(UpdateKind::Message(message)) => {
                let message = parse::parse_message(&message, &telegram.identity, &telegram.routes);
                batch.messages.extend(message.map(|mut message| {
                    migration::adopt(conversation, &mut message);
                    WaitingMessage { inbox_id, message }
                }));
            }
            Ok(UpdateKind::EditedMessage(edited)) => {
                let id = edited.id.0.to_string();
                let waits = batch.messages.iter_mut().find(|waiting| waiting.message.message_id == id);
                match waits {
                    Some(waiting) => edits::edit_waiting(telegram, &mut waiting.message, &edited),
                    None => {
                        edits::apply_edit(telegram, &edited).await?;
                    }
                }
                batch.edits.push(inbox_id);
            }
            _ => telegram.store.skip_update(inbox_id, "no longer reads as a message").await?,
        }
    }
    Ok(batch)
}

/// Closes everything that a person has waiting: it is never filed. False if nothing waited.
pub async fn cancel_waiting(
    telegram: &Telegram,
    conversation: &Conversation,
    user: &UserId,
) -> Result<bool, StoreError> {
    loop {
        let rows = telegram.store.waiting_updates(&conversation.id, &user.0).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.inbox_id).collect();
        match telegram.store.close_updates(&ids).await {
            Ok(()) => return Ok(!rows.is_empty()),
            // Some were filed meanwhile, and their turn is cancelled instead.
            Err(StoreError::AlreadyDone) => {}
            Err(error) => return Err(error),
        }
    }
}
