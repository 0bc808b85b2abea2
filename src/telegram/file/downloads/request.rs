//! Downloads one file from Telegram, or copies it from the disk of a Bot API server of one's own.

use crate::{
    attachments::{AttachmentError, Upload},
    retry,
    telegram::Telegram,
};
use backon::Retryable as _;
use futures::StreamExt as _;
use std::time::Duration;
use teloxide::{ApiError, RequestError, net::Download as _, requests::Requester as _, types::FileId};
use tokio::io::AsyncReadExt as _;
use tracing::warn;

/// The Bot API serves no larger file, unless the server is one's own.
pub const MAX_DOWNLOAD_BYTES: u64 = 20 * 1024 * 1024;

const MAX_ATTEMPTS: usize = 4;
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// A file on disk is copied in parts of this size.
const COPY_BYTES: usize = 256 << 10;

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
    /// It cannot be kept here.
    #[error("{0}")]
    NotKept(AttachmentError),
}

/// Why one attempt failed, by what to do next.
enum AttemptError {
    /// Retry, after this wait if Telegram asks for one.
    Retry(Option<Duration>),
    Final(DownloadError),
}

/// The whole file, if it has at most `max_bytes`. Retries a few times.
pub async fn download(telegram: &Telegram, file_id: &str, max_bytes: u64) -> Result<Upload, DownloadError> {
    let downloaded = (|| try_download(telegram, file_id, max_bytes))
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

async fn try_download(telegram: &Telegram, file_id: &str, max_bytes: u64) -> Result<Upload, AttemptError> {
    let found = telegram.bot.get_file(FileId(file_id.to_owned())).await;
    let file = found.map_err(|error| match error {
        RequestError::RetryAfter(wait) => AttemptError::Retry(Some(wait.duration())),
        RequestError::Api(ApiError::Unknown(text)) if text.contains("too big") => {
            AttemptError::Final(DownloadError::TooBig)
        }
        RequestError::Api(error) => AttemptError::Final(DownloadError::Gone(error.to_string())),
        _ => AttemptError::Retry(None),
    })?;
    // The caller holds the room of the whole file already.
    let mut received = Received { upload: telegram.attachments.start_unpacking(max_bytes), max_bytes };
    // A server that was started with --local gives the path on its disk.
    match file.path.starts_with('/') && telegram.features.local_server {
        true => received.copy(&file.path).await?,
        false => {
            let mut stream = telegram.bot.download_file_stream(&file.path);
            while let Some(chunk) = stream.next().await {
                received.write(chunk.map_err(|_| AttemptError::Retry(None))?).await?;
            }
        }
    }
    // teloxide sets the maximum where the size is missing.
    if u64::from(file.meta.size) > received.upload.len() && file.meta.size != u32::MAX {
        return Err(AttemptError::Retry(None));
    }
    Ok(received.upload)
}

struct Received {
    upload: Upload,
    max_bytes: u64,
}

impl Received {
    async fn write(&mut self, bytes: bytes::Bytes) -> Result<(), AttemptError> {
        if self.upload.len() + bytes.len() as u64 > self.max_bytes {
            return Err(AttemptError::Final(DownloadError::TooBig));
        }
        let written = self.upload.write(bytes).await;
        written.map_err(|error| AttemptError::Final(DownloadError::NotKept(error)))
    }

    async fn copy(&mut self, path: &str) -> Result<(), AttemptError> {
        let unreadable = |error: std::io::Error| {
            // The path holds the token of the bot, so it is not logged.
            warn!(error = %error.kind(), op = "download", "a file of the Bot API server cannot be read; is its folder here?");
            AttemptError::Final(DownloadError::Gone("the server's file cannot be read".into()))
        };
        let mut file = tokio::fs::File::open(path).await.map_err(unreadable)?;
        loop {
            let mut part = bytes::BytesMut::with_capacity(COPY_BYTES);
            if file.read_buf(&mut part).await.map_err(unreadable)? == 0 {
                return Ok(());
            }
            self.write(part.freeze()).await?;
        }
    }
}
