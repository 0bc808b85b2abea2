//! What the agent says when the model cannot: one kind sentence each. Details go to the log and the history row.

use super::asking::{NoAnswer, Seen};
use crate::providers::ProviderError;
use std::time::Duration;

/// When the service does not say how long.
const A_MINUTE: Duration = Duration::from_secs(60);

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

fn soon(wait: Duration) -> String {
    match wait.as_secs().max(1) {
        1 => "a second".into(),
        seconds @ ..=120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    }
}

/// No answer, for the person who asked.
pub fn no_answer(trouble: &NoAnswer) -> String {
    match (&trouble.error, trouble.seen) {
        (ProviderError::RetryAfter(_) | ProviderError::Unreachable(_), Seen::Beginning) => {
            "The model broke off in the middle of its answer. Please ask again.".into()
        }
        (error, _) => provider_trouble(error),
    }
}

fn provider_trouble(error: &ProviderError) -> String {
    match error {
        ProviderError::RetryAfter(wait) => {
            format!("The model is rate-limited; try again in about {}.", soon(wait.unwrap_or(A_MINUTE)))
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
        ProviderError::Setup(_) => {
            "The model isn't set up right: its service doesn't accept the configured key, model or address. \
             Whoever runs this bot finds in its log what to change."
                .into()
        }
        ProviderError::BadAnswer(_) => "The model gave an answer I couldn't use. Please try again.".into(),
    }
}
