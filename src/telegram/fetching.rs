//! The files of a batch: fetched from Telegram, checked against the limits and kept, or a sentence about why not.

use super::{
    Telegram, download,
    filing::{Waiting, find_target},
    messages,
    parse::TelegramFile,
};
use crate::{
    access::Scope,
    attachments::{AttachmentError, NewFile},
    domain::Attachment,
    store::StoreError,
};
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use std::{collections::HashMap, time::Duration};
use tracing::warn;

/// How many files of one batch are fetched at a time.
const DOWNLOADS_AT_ONCE: usize = 4;

/// By the id of the message that carries it: a file that was kept, or what to tell the person instead.
pub type Files = HashMap<String, Result<Attachment, String>>;

/// Fetches every file not fetched yet, including those of messages pointed at that we never saw.
pub async fn fetch_all(
    telegram: &Telegram,
    scope: &Scope,
    messages: &[Waiting],
    files: &mut Files,
) -> Result<(), StoreError> {
    let mut wanted: Vec<(String, TelegramFile)> = Vec::new();
    for Waiting { incoming, .. } in messages {
        wanted.extend(incoming.file.clone().map(|file| (incoming.message_id.clone(), file)));
        if let Some(target) = incoming.reply.as_ref().filter(|target| target.file.is_some())
            && find_target(telegram, scope.conversation(), target).await?.is_none()
        {
            wanted.extend(target.file.clone().map(|file| (target.message_id.clone(), file)));
        }
    }
    wanted.retain(|(carrier, _)| !files.contains_key(carrier));
    let fetched = stream::iter(wanted)
        .map(|(carrier, file)| async move {
            fetch(telegram, scope, &file).await.map(|fetched| (carrier, fetched))
        })
        .buffered(DOWNLOADS_AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    for result in fetched {
        files.extend([result?]);
    }
    Ok(())
}

async fn fetch(
    telegram: &Telegram,
    scope: &Scope,
    file: &TelegramFile,
) -> Result<Result<Attachment, String>, StoreError> {
    let bytes = file.bytes.unwrap_or_default();
    if bytes > download::TELEGRAM_LIMIT {
        return Ok(Err(messages::too_big_for_telegram(file)));
    }
    match telegram.attachments.check_room(scope.conversation(), &file.name(), bytes).await {
        Ok(()) => {}
        Err(AttachmentError::Store(error)) => return Err(error),
        Err(reason) => return Ok(Err(messages::not_kept(file, &reason.to_string()))),
    }
    let most = telegram.attachments.limits().max_file_bytes;
    match download::file(&telegram.bot, &file.file_id, most).await {
        Ok(bytes) => keep(telegram, scope, file, bytes).await,
        Err(download::DownloadError::TooBig) => Ok(Err(messages::too_big_for_telegram(file))),
        Err(error) => {
            warn!(kind = file.kind, %error, "a download failed for good");
            Ok(Err(messages::could_not_download(file)))
        }
    }
}

async fn keep(
    telegram: &Telegram,
    scope: &Scope,
    file: &TelegramFile,
    bytes: Bytes,
) -> Result<Result<Attachment, String>, StoreError> {
    let mut wait = Duration::from_millis(200);
    loop {
        let new = NewFile::from_person(bytes.clone(), file.filename.clone());
        match telegram.attachments.keep(scope, new).await {
            Ok(attachment) => return Ok(Ok(attachment)),
            Err(AttachmentError::Store(error)) => return Err(error),
            // The update is safe in the inbox, so there is time to wait for the object store.
            Err(AttachmentError::Objects(error)) => {
                warn!(%error, "a file cannot be kept just now; trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(Duration::from_secs(30));
            }
            Err(reason) => return Ok(Err(messages::not_kept(file, &reason.to_string()))),
        }
    }
}
