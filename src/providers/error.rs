//! Provider errors, typed by what the caller does next, with the tokens that the failed request cost.

use super::completion::Usage;
use std::time::Duration;

/// A request without a completion.
#[derive(Debug, thiserror::Error)]
#[error("{kind}")]
pub struct ProviderError {
    pub kind: ProviderErrorKind,
    /// Tokens that the vendor charged anyway: a model that refuses has still read the prompt. `None` if the server
    /// reported no count.
    pub usage: Option<Box<Usage>>,
}

#[derive(Debug, thiserror::Error)]
pub enum ProviderErrorKind {
    /// Retry after this time; without one, after a wait that the caller chooses.
    #[error("rate limited or overloaded")]
    RetryAfter(Option<Duration>),
    /// Retry soon.
    #[error("the provider could not be reached: {0}")]
    Unreachable(String),
    /// Retry with a shorter prompt.
    #[error("the conversation is too long for the model")]
    TooLong,
    /// Final: the model declined because of the content.
    #[error("the model declined")]
    Refused,
    /// Only the operator can fix it: a key, a model name, an address. The text names the setting.
    #[error("the provider is not set up right: {0}")]
    Misconfigured(String),
    #[error("the provider sent an invalid response: {0}")]
    InvalidResponse(String),
}

impl From<ProviderErrorKind> for ProviderError {
    fn from(kind: ProviderErrorKind) -> Self {
        Self { kind, usage: None }
    }
}
