//! Downloads the files of a batch: checks the limits, fetches each file from Telegram and stores it. A file that is
//! refused or cannot be fetched becomes a sentence for the person.

mod request;

use super::{replies::find_target, waiting::WaitingMessage};
use crate::{
    access::Scope,
    attachments::AttachmentError,
    domain::Attachment,
    retry,
    store::StoreError,
    telegram::{Telegram, messages, parse::TelegramFile},
};
use backon::Retryable as _;
use futures::{StreamExt as _, stream};
use request::DownloadError;
use std::{collections::HashMap, time::Duration};
use tracing::warn;

/// Files of one batch that are downloaded at a time.
const MAX_CONCURRENT_DOWNLOADS: usize = 4;
const FIRST_STORE_WAIT: Duration = Duration::from_millis(200);
const MAX_STORE_WAIT: Duration = Duration::from_secs(30);

/// The stored file, or the sentence that tells the person why there is none.
type Download = Result<Attachment, String>;

/// By the id of the message that carries the file.
pub type Downloads = HashMap<String, Download>;

/// Downloads every file that is not in `downloads` yet, also those of reply targets that the history does not have.
pub async fn download_all(
    telegram: &Telegram,
    scope: &Scope,
    messages: &[WaitingMessage],
    downloads: &mut Downloads,
) -> Result<(), StoreError> {
    let mut wanted: Vec<(String, TelegramFile)> = Vec::new();
    for WaitingMessage { message, .. } in messages {
        wanted.extend(message.file.clone().map(|file| (message.message_id.clone(), file)));
        if let Some(target) = message.reply.as_ref().filter(|target| target.file.is_some())
            && find_target(telegram, scope.conversation(), target).await?.is_none()
        {
            wanted.extend(target.file.clone().map(|file| (target.message_id.clone(), file)));
        }
    }
    wanted.retain(|(message_id, _)| !downloads.contains_key(message_id));
    // Files of one batch get their rows together, so each counts the ones before it.
    let mut ahead = 0;
    let wanted = wanted.into_iter().map(|(message_id, file)| {
        let before = ahead;
        ahead += file.bytes.unwrap_or_default();
        (message_id, file, before)
    });
    let results = stream::iter(wanted)
        .map(|(message_id, file, ahead)| async move {
            download(telegram, scope, &file, ahead).await.map(|download| (message_id, download))
        })
        .buffered(MAX_CONCURRENT_DOWNLOADS)
        .collect::<Vec<_>>()
        .await;
    for result in results {
        downloads.extend([result?]);
    }
    Ok(())
}

/// `ahead` is the size of the files before it.
async fn download(
    telegram: &Telegram,
    scope: &Scope,
    file: &TelegramFile,
    ahead: u64,
) -> Result<Download, StoreError> {
    let bytes = file.bytes.unwrap_or_default();
    if bytes > request::MAX_DOWNLOAD_BYTES && !telegram.features.local_server {
        return Ok(Err(messages::too_big_for_telegram(file)));
    }
    match telegram.attachments.check_limits(scope, &file.name(), bytes, ahead).await {
        Ok(()) => {}
        Err(AttachmentError::Store(error)) => return Err(error),
        Err(reason) => return Ok(Err(messages::not_kept(file, &reason.to_string()))),
    }
    let max_bytes = telegram.attachments.limits().max_file_bytes;
    // Downloads share the room of uploads. The update is safe in the inbox, so this one waits until there is some.
    let mut room = telegram.attachments.upload_budget().start(scope.user());
    let most = file.bytes.unwrap_or(request::MAX_DOWNLOAD_BYTES).min(max_bytes);
    while matches!(room.grow(most).await, Err(AttachmentError::TooManyUploads)) {}
    let kept = fetch(telegram, scope, file, max_bytes);
    match kept.await {
        Ok(attachment) => Ok(Ok(attachment)),
        Err(DownloadError::NotKept(AttachmentError::Store(error))) => Err(error),
        Err(DownloadError::NotKept(reason)) => Ok(Err(messages::not_kept(file, &reason.to_string()))),
        Err(DownloadError::TooBig) => Ok(Err(messages::too_big_for_telegram(file))),
        Err(error) => {
            warn!(%error, op = "download", kind = file.kind, "download failed; telling the person");
            Ok(Err(messages::could_not_download(file)))
        }
    }
}

/// Downloads the file and stores it. It goes to disk as it comes, not through memory. The object store may be away for
/// long: the update is safe in the inbox, so this waits for it.
async fn fetch(
    telegram: &Telegram,
    scope: &Scope,
    file: &TelegramFile,
    max_bytes: u64,
) -> Result<Attachment, DownloadError> {
    let upload = request::download(telegram, &file.file_id, max_bytes).await?;
    let attachments = &telegram.attachments;
    let upload = attachments.finish_upload(upload, file.filename.as_deref()).await;
    let upload = upload.map_err(DownloadError::NotKept)?;
    let store = async || {
        let staged = attachments.stage_finished(&upload).await?;
        let attachment = staged.attach(scope).await?;
        // The row is added with its message.
        staged.leave_pending();
        Ok(attachment)
    };
    let kept = store
        .retry(retry::forever(FIRST_STORE_WAIT, MAX_STORE_WAIT))
        .when(|error| matches!(error, AttachmentError::Objects(_)))
        .notify(|error: &AttachmentError, wait| {
            warn!(error = error.log_text(), op = "store_file", "object store error; retrying in {wait:?}");
        });
    kept.await.map_err(DownloadError::NotKept)
}
