//! What the agent says when the model cannot: one kind sentence each. Details go to the log and the history row.

use crate::{providers::ProviderError, tools::Generated};
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

/// That what is sent is not an exact edit. `places` are those it is true of, counted from 1; none if of all.
pub fn generated(how: Generated, models: &[String], places: Option<&[usize]>) -> String {
    let models = models.join(" and ");
    let places: Vec<_> = places.unwrap_or_default().iter().map(ToString::to_string).collect();
    let which = match places.as_slice() {
        [] => String::new(),
        [one] => format!(" (picture {one})"),
        [all @ .., last] => format!(" (pictures {} and {last})", all.join(", ")),
    };
    match how {
        Generated::Whole => format!("Generated with {models}{which}: details may differ from the original."),
        Generated::Part => {
            format!("Generated with {models}{which} inside the chosen part; the rest is the original.")
        }
        Generated::FromWords => format!("Generated with {models}{which} from words."),
    }
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

pub fn provider_trouble(error: &ProviderError) -> String {
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
