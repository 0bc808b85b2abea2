//! One request to a model, with retries: while the error may pass, the wait is short, and no text was streamed yet.
//! Every attempt is recorded in the ledger.

use super::{Agent, Engine, turn_budget};
use crate::{
    domain::Turn,
    providers::{Completion, Listener, Prompt, ProviderError, ProviderErrorKind},
    retry,
};
use backon::Retryable as _;
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tracing::info;

/// A longer wait looks like silence to the person.
const MAX_MODEL_WAIT: Duration = Duration::from_secs(20);
/// A server that asks for no wait at all still gets this one.
const MIN_MODEL_WAIT: Duration = Duration::from_millis(100);
const MAX_MODEL_ATTEMPTS: usize = 3;
/// The first wait for a server that cannot be reached; it quadruples.
const FIRST_MODEL_WAIT: Duration = Duration::from_millis(400);
const BACKOFF_FACTOR: f32 = 4.0;
/// A rate limit takes longer to pass than a broken connection.
const RATE_LIMIT_FACTOR: f64 = 2.5;

/// Whether people may have seen a part of an answer that then failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Streamed {
    Nothing,
    Part,
}

/// A request without an answer, after all retries.
#[derive(Debug)]
pub struct ModelFailure {
    pub error: ProviderError,
    pub streamed: Streamed,
}

impl ModelFailure {
    /// Whether another model may answer instead. Not after streamed text: the person would see it change.
    pub fn allows_fallback(&self) -> bool {
        let may_help = match self.error.kind {
            ProviderErrorKind::RetryAfter(_)
            | ProviderErrorKind::Unreachable(_)
            | ProviderErrorKind::InvalidResponse(_)
            | ProviderErrorKind::Misconfigured(_) => true,
            // A refusal is final: do not try the fallback.
            ProviderErrorKind::Refused => false,
            ProviderErrorKind::TooLong => false,
        };
        may_help && self.streamed == Streamed::Nothing
    }

    pub fn is_too_long(&self) -> bool {
        matches!(self.error.kind, ProviderErrorKind::TooLong) && self.streamed == Streamed::Nothing
    }
}

/// Asks the model of the agent and records what each attempt cost.
pub async fn ask(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    prompt: &Prompt,
    heard: Listener<'_>,
) -> Result<Completion, ModelFailure> {
    let attempt = || async {
        let started = AtomicBool::new(false);
        let listener = |piece: &str| {
            if !piece.trim().is_empty() {
                started.store(true, Ordering::Relaxed);
            }
            heard(piece);
        };
        let completion = agent.provider.complete(prompt, &listener).await;
        turn_budget::record_request(engine, agent, turn, &completion).await;
        completion.map_err(|error| {
            let streamed = if started.load(Ordering::Relaxed) { Streamed::Part } else { Streamed::Nothing };
            ModelFailure { error, streamed }
        })
    };
    attempt
        .retry(retry::limited(FIRST_MODEL_WAIT, BACKOFF_FACTOR, MAX_MODEL_ATTEMPTS))
        // A second answer with another beginning would replace text that people have read.
        .when(|failure| failure.streamed == Streamed::Nothing)
        .adjust(|failure, wait| wait_before_retry(&failure.error.kind, wait?))
        .notify(|failure, wait| {
            let error = &failure.error;
            info!(%error, op = "ask_model", agent = agent.name, "no answer; retrying in {wait:?}");
        })
        .await
}

/// The wait before the next attempt. None if a retry would not help or would take too long.
fn wait_before_retry(error: &ProviderErrorKind, backoff: Duration) -> Option<Duration> {
    match error {
        ProviderErrorKind::RetryAfter(Some(wait)) => {
            (*wait <= MAX_MODEL_WAIT).then_some((*wait).max(MIN_MODEL_WAIT))
        }
        ProviderErrorKind::RetryAfter(None) => Some(add_jitter(backoff.mul_f64(RATE_LIMIT_FACTOR))),
        ProviderErrorKind::Unreachable(_) => Some(add_jitter(backoff)),
        ProviderErrorKind::TooLong
        | ProviderErrorKind::Refused
        | ProviderErrorKind::Misconfigured(_)
        | ProviderErrorKind::InvalidResponse(_) => None,
    }
}

/// Spreads the retries of turns that failed together.
fn add_jitter(wait: Duration) -> Duration {
    wait.mul_f64(rand::random_range(0.75..1.25)).min(MAX_MODEL_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_wait_of_the_server_is_obeyed_and_a_long_one_ends_the_retries() {
        let wait = |seconds| {
            let error = ProviderErrorKind::RetryAfter(Some(Duration::from_secs(seconds)));
            wait_before_retry(&error, FIRST_MODEL_WAIT)
        };
        assert_eq!(wait(0), Some(MIN_MODEL_WAIT));
        assert_eq!(wait(7), Some(Duration::from_secs(7)));
        assert_eq!(wait(20), Some(MAX_MODEL_WAIT));
        assert_eq!(wait(21), None);
    }

    #[test]
    fn the_backoff_grows_with_jitter() {
        for error in [ProviderErrorKind::RetryAfter(None), ProviderErrorKind::Unreachable(String::new())] {
            let waits = |backoff: Duration| {
                (0..50).map(|_| wait_before_retry(&error, backoff).unwrap()).collect::<Vec<_>>()
            };
            let (first, second) = (waits(FIRST_MODEL_WAIT), waits(FIRST_MODEL_WAIT.mul_f32(BACKOFF_FACTOR)));
            assert!(first.iter().max() < second.iter().min(), "{first:?} {second:?}");
            assert!(first.iter().any(|wait| wait != &first[0]), "{first:?}");
            assert!(waits(MAX_MODEL_WAIT).iter().all(|wait| *wait <= MAX_MODEL_WAIT));
        }
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        for error in [
            ProviderErrorKind::TooLong,
            ProviderErrorKind::Refused,
            ProviderErrorKind::Misconfigured(String::new()),
            ProviderErrorKind::InvalidResponse(String::new()),
        ] {
            assert_eq!(wait_before_retry(&error, FIRST_MODEL_WAIT), None, "{error}");
        }
    }

    #[test]
    fn a_fallback_is_allowed_only_if_it_may_help_and_nothing_was_streamed() {
        let allowed = |error: ProviderErrorKind, streamed| {
            ModelFailure { error: error.into(), streamed }.allows_fallback()
        };
        assert!(allowed(ProviderErrorKind::RetryAfter(None), Streamed::Nothing));
        assert!(allowed(ProviderErrorKind::Misconfigured(String::new()), Streamed::Nothing));
        assert!(!allowed(ProviderErrorKind::Unreachable(String::new()), Streamed::Part));
        assert!(!allowed(ProviderErrorKind::Refused, Streamed::Nothing));
        assert!(!allowed(ProviderErrorKind::TooLong, Streamed::Nothing));
    }
}
