//! Fetching a file that Telegram holds for us.

use bytes::{Bytes, BytesMut};
use futures::StreamExt as _;
use std::time::Duration;
use teloxide::{ApiError, Bot, RequestError, net::Download as _, requests::Requester as _, types::FileId};

/// The Bot API hands out no file larger than this.
pub const TELEGRAM_LIMIT: u64 = 20 * 1024 * 1024;

const TRIES: u32 = 4;

#[derive(Debug, thiserror::Error)]
pub enum DownloadError {
    #[error("over the limit")]
    TooBig,
    #[error("{0}")]
    Gone(String),
    #[error("the connection broke")]
    Broken,
}

/// The whole file in memory, at most `most` bytes of it. Passing trouble is tried again.
pub async fn file(bot: &Bot, file_id: &str, most: u64) -> Result<Bytes, DownloadError> {
    let mut wait = Duration::from_millis(100);
    let mut tries = 1;
    loop {
        match once(bot, file_id, most).await {
            Err(Trouble::Passing(after)) if tries < TRIES => {
                tokio::time::sleep(after.unwrap_or(wait)).await;
                wait *= 3;
                tries += 1;
            }
            Err(Trouble::Passing(_)) => return Err(DownloadError::Broken),
            Err(Trouble::Final(error)) => return Err(error),
            Ok(bytes) => return Ok(bytes),
        }
    }
}

enum Trouble {
    Passing(Option<Duration>),
    Final(DownloadError),
}

async fn once(bot: &Bot, file_id: &str, most: u64) -> Result<Bytes, Trouble> {
    let file = bot
        .get_file(FileId(file_id.to_owned()))
        .await
        .map_err(|error| match error {
            RequestError::RetryAfter(wait) => Trouble::Passing(Some(wait.duration())),
            RequestError::Api(ApiError::Unknown(text)) if text.contains("too big") => {
                Trouble::Final(DownloadError::TooBig)
            }
            RequestError::Api(error) => Trouble::Final(DownloadError::Gone(error.to_string())),
            _ => Trouble::Passing(None),
        })?;
    let mut stream = bot.download_file_stream(&file.path);
    let mut bytes = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(|_| Trouble::Passing(None))?;
        if (bytes.len() + chunk.len()) as u64 > most {
            return Err(Trouble::Final(DownloadError::TooBig));
        }
        bytes.extend_from_slice(&chunk);
    }
    if u64::from(file.meta.size) > bytes.len() as u64 && file.meta.size != u32::MAX {
        return Err(Trouble::Passing(None));
    }
    Ok(bytes.freeze())
}
