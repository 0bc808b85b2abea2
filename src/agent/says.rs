//! What the agent says when the model cannot: one kind sentence each. Details go to the log and the history row.

use crate::providers::ProviderError;
use std::time::Duration;

/// Something of ours broke.
pub fn apology() -> String {
    "Sorry, something went wrong on my side and I couldn't finish this. Please try again.".into()
}

pub fn took_too_long(limit: Duration) -> String {
    format!("Sorry, this took longer than {} and I stopped. Try a smaller step.", minutes(limit))
}

fn minutes(limit: Duration) -> String {
    match limit.as_secs() {
        seconds @ ..90 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}

/// A picture that was made but is not sent.
pub fn lost(filename: &str, why: &str) -> String {
    format!("I couldn't save {filename}: {why}")
}

/// A turn must end with something said or sent.
pub fn nothing_to_say() -> String {
    "I'm not sure what to do with that. Could you say it another way?".into()
}

pub fn provider_trouble(error: &ProviderError) -> String {
    match error {
        ProviderError::RetryAfter(wait) => {
            format!("The model is rate-limited; try again in about {} seconds.", wait.as_secs().max(1))
        }
        ProviderError::Unreachable(_) => {
            "I can't reach the model right now. Please try again in a minute.".into()
        }
        ProviderError::TooLong => {
            "This conversation has grown too long for the model. Start a new one with /new; \
             you can still reply to any photo."
                .into()
        }
        ProviderError::Refused => "The model declined to do this. Try asking for something else.".into(),
        ProviderError::Auth(_) => {
            "The model's service doesn't accept the configured key. Whoever runs this bot needs to check it."
                .into()
        }
        ProviderError::BadAnswer(_) => "The model gave an answer I couldn't use. Please try again.".into(),
    }
}
