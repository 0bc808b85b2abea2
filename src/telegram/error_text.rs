//! Telegram's errors as text that may be logged and stored. The errors' own text may hold the URL, and the URL holds the
//! bot's token.

use teloxide::RequestError;

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
