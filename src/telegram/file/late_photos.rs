//! Late album photos: photos that arrive while the files of their album are downloaded join its batch, so that the album
//! is not split.

use super::{
    downloads::{Downloads, download_all},
    waiting::{WaitingBatch, WaitingMessage, read_waiting},
};
use crate::{
    access::Scope,
    store::{StoreError, WaitingGroup},
    telegram::{Telegram, batch::complete_at},
};
use chrono::Utc;

/// Downloads the files of the batch, and of the late photos that join it meanwhile.
pub async fn download_with_late_photos(
    telegram: &Telegram,
    scope: &Scope,
    batch: &mut WaitingBatch,
) -> Result<Downloads, StoreError> {
    let mut downloads = Downloads::default();
    loop {
        download_all(telegram, scope, &batch.messages, &mut downloads).await?;
        let late = find_late_photos(telegram, scope, batch).await?;
        if late.is_empty() {
            return Ok(downloads);
        }
        batch.messages.extend(late);
        // More photos may be late: wait for the quiet time once more.
        wait_until_complete(telegram, scope).await?;
    }
}

/// Photos of the batch's albums that wait now and are not in the batch.
async fn find_late_photos(
    telegram: &Telegram,
    scope: &Scope,
    batch: &WaitingBatch,
) -> Result<Vec<WaitingMessage>, StoreError> {
    let waiting = read_waiting(telegram, scope.conversation(), scope.user()).await?;
    let known = batch.inbox_ids();
    let in_album_of_batch = |new: &WaitingMessage| {
        new.message.album_id.is_some()
            && batch.messages.iter().any(|old| old.message.album_id == new.message.album_id)
    };
    let new = waiting.messages.into_iter().filter(|new| !known.contains(&new.inbox_id));
    Ok(new.filter(in_album_of_batch).collect())
}

async fn wait_until_complete(telegram: &Telegram, scope: &Scope) -> Result<(), StoreError> {
    let groups = telegram.store.waiting_groups().await?;
    let is_ours = |group: &&WaitingGroup| {
        group.conversation_id == scope.conversation().id && group.sender_id == scope.user().0
    };
    if let Some(group) = groups.iter().find(is_ours) {
        let left = complete_at(group, &telegram.batch_settings) - Utc::now();
        tokio::time::sleep(left.to_std().unwrap_or_default()).await;
    }
    Ok(())
}
