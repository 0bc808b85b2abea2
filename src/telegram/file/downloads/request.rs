//! Downloads one file from Telegram into memory.

use crate::retry;
use backon::Retryable as _;
use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use std::time::Duration;
use teloxide::{ApiError, Bot, RequestError, net::Download as _, requests::Requester as _, types::FileId};

/// The Bot API serves no larger file.
pub const MAX_DOWNLOAD_BYTES: u64 = 20 * 1024 * 1024;

const MAX_ATTEMPTS: usize = 4;
const FIRST_WAIT: Duration = Duration::from_millis(100);

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("over the limit")]
    TooBig,
    /// Telegram refuses to serve the file.
    #[error("{0}")]
    Gone(String),
    /// Every attempt failed.
    #[error("the connection broke")]
    Broken,
}

/// Why one attempt failed, by what to do next.
enum AttemptError {
    /// Retry, after this wait if Telegram asks for one.
    Retry(Option<Duration>),
    Final(DownloadError),
}

/// The whole file, if it has at most `max_bytes`. Retries a few times.
pub async fn download(bot: &Bot, file_id: &str, max_bytes: u64) -> Result<Bytes, DownloadError> {
    let downloaded = (|| try_download(bot, file_id, max_bytes))
        .retry(retry::limited(FIRST_WAIT, 3.0, MAX_ATTEMPTS))
        .when(|error| matches!(error, AttemptError::Retry(_)))
        .adjust(|error, wait| match error {
            // Without a wait no attempt is left.
            AttemptError::Retry(Some(asked)) => wait.map(|_| *asked),
            _ => wait,
        });
    downloaded.await.map_err(|error| match error {
        AttemptError::Retry(_) => DownloadError::Broken,
        AttemptError::Final(error) => error,
    })
}

async fn try_download(bot: &Bot, file_id: &str, max_bytes: u64) -> Result<Bytes, AttemptError> {
    let file = bot.get_file(FileId(file_id.to_owned())).await.map_err(|error| match error {
        RequestError::RetryAfter(wait) => AttemptError::Retry(Some(wait.duration())),
        RequestError::Api(ApiError::Unknown(text)) if text.contains("too big") => {
            AttemptError::Final(DownloadError::TooBig)
        }
        RequestError::Api(error) => AttemptError::Final(DownloadError::Gone(error.to_string())),
        _ => AttemptError::Retry(None),
    })?;
    let mut stream = bot.download_file_stream(&file.path);
    let mut bytes = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| AttemptError::Retry(None))?;
        if (bytes.len() + chunk.len()) as u64 > max_bytes {
            return Err(AttemptError::Final(DownloadError::TooBig));
        }
        bytes.extend_from_slice(&chunk);
    }
    // teloxide sets the maximum where the size is missing.
    if u64::from(file.meta.size) > bytes.len() as u64 && file.meta.size != u32::MAX {
        return Err(AttemptError::Retry(None));
    }
    Ok(bytes.freeze())
}
