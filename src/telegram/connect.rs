//! Connects to the Bot API: the HTTP client, and the first call, which tells who the bot is.

use super::{BotIdentity, Connected, Parts, Telegram, error_text::describe};
use crate::{config::TelegramFeatures, retry};
use backon::Retryable as _;
use secrecy::{ExposeSecret as _, SecretString};
use std::{sync::Arc, time::Duration};
use telegram_http::redirect::Policy;
use teloxide::{
    ApiError, Bot, RequestError,
    adaptors::CacheMe,
    requests::{Request as _, Requester as _, RequesterExt as _},
};
use tokio::sync::watch;
use tracing::{info, warn};
use url::Url;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Long, because albums are large.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(180);
/// A server of one's own takes files of up to 2 GB and answers once Telegram has them.
const LOCAL_REQUEST_TIMEOUT: Duration = Duration::from_secs(3600);
const FIRST_WAIT: Duration = Duration::from_millis(500);
const MAX_WAIT: Duration = Duration::from_secs(30);

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("Telegram does not know this token; check TELEGRAM_BOT_TOKEN (from @BotFather)")]
    WrongToken,
    #[error("the HTTP client cannot be made")]
    Client,
    #[error("{0}")]
    Unreachable(String),
}

/// A client for the Bot API. A redirect is an error: the token is part of the URL, and teloxide would take the body of a
/// redirect for the file that it downloads.
pub fn bot(token: &SecretString, api_url: &Url, features: TelegramFeatures) -> Result<Bot, ConnectError> {
    let timeout = if features.local_server { LOCAL_REQUEST_TIMEOUT } else { REQUEST_TIMEOUT };
    bot_with(token, api_url, timeout)
}

fn bot_with(token: &SecretString, api_url: &Url, timeout: Duration) -> Result<Bot, ConnectError> {
    let client = telegram_http::Client::builder()
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(timeout)
        .tcp_nodelay(true)
        .redirect(Policy::custom(|redirect| redirect.error("redirects are not followed")))
        .build()
        .map_err(|_| ConnectError::Client)?;
    Ok(Bot::with_client(token.expose_secret(), client).set_api_url(api_url.clone()))
}

async fn get_identity(bot: &CacheMe<Bot>) -> Result<BotIdentity, ConnectError> {
    match bot.get_me().send().await {
        Ok(me) => Ok(BotIdentity { user_id: me.user.id.0, username: me.username().to_owned() }),
        Err(RequestError::Api(ApiError::InvalidToken)) => Err(ConnectError::WrongToken),
        Err(error) => Err(ConnectError::Unreachable(describe(&error))),
    }
}

/// Asks Telegram once whether it knows the token.
pub async fn check_token(token: &SecretString, api_url: &Url) -> Result<BotIdentity, ConnectError> {
    get_identity(&bot_with(token, api_url, REQUEST_TIMEOUT)?.cache_me()).await
}

/// Connects. Retries for as long as Telegram is unreachable; fails only on a wrong token.
pub async fn connect(bot: Bot, parts: Parts) -> Result<Connected, ConnectError> {
    let cached = bot.clone().cache_me();
    let identity = (|| get_identity(&cached))
        .retry(retry::forever(FIRST_WAIT, MAX_WAIT))
        .when(|error| !matches!(error, ConnectError::WrongToken))
        .notify(|error, wait| warn!(%error, op = "get_me", "cannot connect; retrying in {wait:?}"))
        .await?;
    info!(op = "get_me", username = identity.username, "connected to Telegram");
    let telegram = Arc::new(Telegram::new(bot, identity, parts));
    let (caught_up, _) = watch::channel(false);
    Ok(Connected { telegram, cached, caught_up })
}
