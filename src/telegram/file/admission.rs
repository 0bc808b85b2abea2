//! Strangers: people who may not use the bot. Their messages reach neither the model nor a download.

use super::waiting::WaitingBatch;
use crate::{
    domain::{Conversation, UserId},
    store::StoreError,
    telegram::{Telegram, messages, plan},
};

/// Closes a stranger's batch. The first time they address the bot, one message tells them that it is private.
pub async fn turn_away(
    telegram: &Telegram,
    conversation: &Conversation,
    sender: &UserId,
    batch: &WaitingBatch,
) -> Result<(), StoreError> {
    if batch.is_addressed() && telegram.access.should_notify(sender).await? {
        let sends = plan::plan_for_one(conversation, sender, &messages::stranger(&sender.0));
        telegram.store.answer_update(&batch.inbox_ids(), conversation, None, &sends).await?;
        telegram.send_wake.notify_one();
        return Ok(());
    }
    telegram.store.close_updates(&batch.inbox_ids()).await
}
