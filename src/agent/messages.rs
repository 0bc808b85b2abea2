//! Every sentence that the agent itself sends to people. Details of an error go to the log and the history row.

use super::{
    budgets::{BudgetExhausted, BudgetOwner},
    model_request::{ModelFailure, Streamed},
};
use crate::{providers::ProviderErrorKind, tools::Generated};
use chrono::{DateTime, TimeDelta, Timelike as _, Utc};
use std::time::Duration;

/// Told when the service gives no wait.
const DEFAULT_WAIT: Duration = Duration::from_secs(60);

/// For an internal error.
pub fn apology() -> String {
    "Sorry, something went wrong on my side and I couldn't finish this. Please try again.".into()
}

pub fn took_too_long(limit: Duration) -> String {
    format!("Sorry, this took longer than {} and I stopped. Try a smaller step.", describe_limit(limit))
}

fn describe_limit(limit: Duration) -> String {
    match limit.as_secs() {
        seconds @ ..90 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds / 60),
    }
}

/// For an output that could not be rendered or stored.
pub fn not_stored(filename: &str, why: &str) -> String {
    format!("I couldn't save {filename}: {why}")
}

/// The provenance line of generated pictures. `places` are their positions, counted from 1; none for all.
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

/// For a turn without text and files.
pub fn nothing_to_say() -> String {
    "I'm not sure what to do with that. Could you say it another way?".into()
}

fn describe_wait(wait: Duration) -> String {
    match wait.as_secs().max(1) {
        1 => "a second".into(),
        seconds @ ..=120 => format!("{seconds} seconds"),
        seconds => format!("{} minutes", seconds.div_ceil(60)),
    }
}

/// For a turn whose model gave no answer.
pub fn no_answer(failure: &ModelFailure) -> String {
    match (&failure.error.kind, failure.streamed) {
        (ProviderErrorKind::RetryAfter(_) | ProviderErrorKind::Unreachable(_), Streamed::Part) => {
            "The model broke off in the middle of its answer. Please ask again.".into()
        }
        (error, _) => provider_error(error),
    }
}

fn provider_error(error: &ProviderErrorKind) -> String {
    match error {
        ProviderErrorKind::RetryAfter(wait) => {
            format!(
                "The model is rate-limited; try again in about {}.",
                describe_wait(wait.unwrap_or(DEFAULT_WAIT))
            )
        }
        ProviderErrorKind::Unreachable(_) => {
            "I can't reach the model right now. Please try again in a minute.".into()
        }
        ProviderErrorKind::TooLong => {
            "This conversation has grown too long for the model. Start a new one with /new; \
             you can still reply to any photo."
                .into()
        }
        ProviderErrorKind::Refused => "The model declined to do this. Try asking for something else.".into(),
        ProviderErrorKind::Misconfigured(_) => {
            "The model isn't set up right: its service doesn't accept the configured key, model or address. \
             Whoever runs this bot finds in its log what to change."
                .into()
        }
        ProviderErrorKind::InvalidResponse(_) => {
            "The model gave an answer I couldn't use. Please try again.".into()
        }
    }
}

/// For an exhausted budget. `free_commands` are the commands of agents that cost nothing.
pub fn budget_used(exhausted: &BudgetExhausted, free_commands: &[String], now: DateTime<Utc>) -> String {
    let budget = exhausted.budget.exactly();
    let used = match &exhausted.owner {
        BudgetOwner::Person => format!("You've used today's budget of {budget} for models."),
        BudgetOwner::Chat => format!("This chat has used today's budget of {budget} for models."),
        BudgetOwner::Agent(name) => {
            format!("Today's budget of {budget} for {name}, of all people together, is used up.")
        }
    };
    let meanwhile = match free_commands.first() {
        Some(command) => format!("/{command} still makes edits without a model"),
        None => "I keep what you send, and you can reply to it then".to_owned(),
    };
    format!("{used} It starts anew at 00:00 UTC, {}; until then {meanwhile}.", until_midnight(now))
}

fn until_midnight(now: DateTime<Utc>) -> String {
    let left = TimeDelta::days(1) - TimeDelta::seconds(now.num_seconds_from_midnight().into());
    match left.num_minutes() {
        ..2 => "in a moment".to_owned(),
        minutes @ ..90 => format!("in about {minutes} minutes"),
        minutes => format!("in about {} hours", (minutes + 30) / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::budgets::Micros;

    #[test]
    fn the_budget_message_names_the_owner_the_reset_and_what_still_works() {
        let evening: DateTime<Utc> = "2026-09-10T18:40:00Z".parse().unwrap();
        let told = |owner, free: &[&str]| {
            let free: Vec<String> = free.iter().map(|command| (*command).to_owned()).collect();
            budget_used(&BudgetExhausted { owner, budget: Micros(500_000) }, &free, evening)
        };
        assert_eq!(
            told(BudgetOwner::Person, &[]),
            "You've used today's budget of $0.50 for models. It starts anew at 00:00 UTC, in about 5 hours; \
             until then I keep what you send, and you can reply to it then."
        );
        assert_eq!(
            told(BudgetOwner::Agent("painter".into()), &["plain"]),
            "Today's budget of $0.50 for painter, of all people together, is used up. It starts anew at 00:00 UTC, \
             in about 5 hours; until then /plain still makes edits without a model."
        );
        assert!(told(BudgetOwner::Chat, &[]).starts_with("This chat has used"));
        let late = |time: &str| until_midnight(time.parse().unwrap());
        assert_eq!(late("2026-09-10T23:59:30Z"), "in a moment");
        assert_eq!(late("2026-09-10T23:15:00Z"), "in about 45 minutes");
        assert_eq!(late("2026-09-10T00:00:00Z"), "in about 24 hours");
    }
}
