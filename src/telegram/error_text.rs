//! Telegram's errors as text that may be logged and stored. The errors' own text may hold the URL, and the URL holds the
//! bot's token.

use teloxide::{ApiError, RequestError};

/// Whether the Bot API server does not know the method. teloxide takes that for a wrong token, which it would be if the other
/// methods did not work.
pub fn is_unknown_method(error: &RequestError) -> bool {
    match error {
        RequestError::Api(ApiError::InvalidToken) => true,
        RequestError::Api(ApiError::Unknown(text)) => text.to_ascii_lowercase().contains("method not found"),
        _ => false,
    }
}

/// Describes the error without the URL.
pub fn describe(error: &RequestError) -> String {
    match error {
        RequestError::Network(e) if e.is_connect() => "Telegram cannot be reached".into(),
        RequestError::Network(e) if e.is_redirect() => {
            "Telegram answered with a redirect to another address; set telegram.api_url to the final address"
                .into()
        }
        RequestError::Network(e) if e.is_timeout() => "Telegram did not answer in time".into(),
        RequestError::Network(_) => "the connection to Telegram broke".into(),
        RequestError::InvalidJson { .. } => "Telegram answered something that is not JSON".into(),
        other => other.to_string(),
    }
}
