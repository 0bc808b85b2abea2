//! Asking a model although it may be busy or away: again while the trouble may pass, the wait is bearable, and nobody
//! has read the beginning of an answer. Who is asked instead is the engine's business.

use super::{Agent, Engine, bill};
use crate::{
    domain::Turn,
    providers::{Completion, Listener, Prompt, ProviderError, ProviderErrorKind},
};
use std::{
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};
use tracing::info;

/// Waiting longer than this for a busy model would look like silence.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
const MOST_TRIES: u32 = 3;
/// A connection is back sooner than a quota.
const AWAY: Duration = Duration::from_millis(400);
const BUSY: Duration = Duration::from_secs(1);
/// A server that asks for no wait at all is still given a moment.
const SHORTEST_WAIT: Duration = Duration::from_millis(100);

/// What people may have seen of an answer that never came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seen {
    Nothing,
    Beginning,
}

/// Why a model gave no answer.
#[derive(Debug)]
pub struct NoAnswer {
    pub error: ProviderError,
    pub seen: Seen,
}

impl NoAnswer {
    /// Could another model do better, and would nobody notice the change?
    pub fn another_may_try(&self) -> bool {
        let helps = match self.error.kind {
            ProviderErrorKind::RetryAfter(_)
            | ProviderErrorKind::Unreachable(_)
            | ProviderErrorKind::InvalidResponse(_)
            | ProviderErrorKind::Misconfigured(_) => true,
            // To look for a model that minds less would be to go behind the first one's back.
            ProviderErrorKind::Refused => false,
            ProviderErrorKind::TooLong => false,
        };
        helps && self.seen == Seen::Nothing
    }

    pub fn is_too_long(&self) -> bool {
        matches!(self.error.kind, ProviderErrorKind::TooLong) && self.seen == Seen::Nothing
    }
}

/// Asks until there is an answer or no point in asking again.
pub async fn ask(
    engine: &Engine,
    agent: &Agent,
    turn: &Turn,
    prompt: &Prompt,
    heard: Listener<'_>,
) -> Result<Completion, NoAnswer> {
    let mut tries = 1;
    loop {
        let begun = AtomicBool::new(false);
        let listener = |piece: &str| {
            if !piece.trim().is_empty() {
                begun.store(true, Ordering::Relaxed);
            }
            heard(piece);
        };
        let error = match bill::noted(engine, agent, turn, agent.provider.complete(prompt, &listener)).await {
            Ok(completion) => return Ok(completion),
            Err(error) => error,
        };
        // A second answer that begins otherwise would look as if the first had never been.
        let seen = if begun.into_inner() { Seen::Beginning } else { Seen::Nothing };
        let wait = match (seen, tries < MOST_TRIES) {
            (Seen::Nothing, true) => pause(&error.kind, tries),
            _ => None,
        };
        let Some(wait) = wait else { return Err(NoAnswer { error, seen }) };
        info!(agent = agent.name, %error, tries, ?wait, "the model is asked again");
        tokio::time::sleep(wait).await;
        tries += 1;
    }
}

/// How long to wait before the next try; none if it would not help or would take too long.
fn pause(error: &ProviderErrorKind, tries: u32) -> Option<Duration> {
    match error {
        ProviderErrorKind::RetryAfter(Some(wait)) => {
            (*wait <= LONGEST_WAIT).then_some((*wait).max(SHORTEST_WAIT))
        }
        ProviderErrorKind::RetryAfter(None) => Some(backoff(BUSY, tries)),
        ProviderErrorKind::Unreachable(_) => Some(backoff(AWAY, tries)),
        ProviderErrorKind::TooLong
        | ProviderErrorKind::Refused
        | ProviderErrorKind::Misconfigured(_)
        | ProviderErrorKind::InvalidResponse(_) => None,
    }
}

/// Longer each time, and never the same for two who were turned away together.
fn backoff(first: Duration, tries: u32) -> Duration {
    let whole = first * 4u32.pow(tries.saturating_sub(1));
    whole.mul_f64(rand::random_range(0.75..1.25)).min(LONGEST_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bearable_wait_is_obeyed_and_a_long_one_is_not_begun() {
        let told = |seconds| pause(&ProviderErrorKind::RetryAfter(Some(Duration::from_secs(seconds))), 1);
        assert_eq!(told(0), Some(SHORTEST_WAIT));
        assert_eq!(told(7), Some(Duration::from_secs(7)));
        assert_eq!(told(20), Some(LONGEST_WAIT));
        assert_eq!(told(21), None);
    }

    #[test]
    fn without_a_word_about_it_the_wait_grows_and_differs() {
        for error in [ProviderErrorKind::RetryAfter(None), ProviderErrorKind::Unreachable(String::new())] {
            let waits = |tries| (0..50).map(|_| pause(&error, tries).unwrap()).collect::<Vec<_>>();
            let (first, second) = (waits(1), waits(2));
            assert!(first.iter().max() < second.iter().min(), "{first:?} {second:?}");
            assert!(first.iter().any(|wait| wait != &first[0]), "{first:?}");
            assert!(waits(3).iter().all(|wait| *wait <= LONGEST_WAIT));
        }
    }

    #[test]
    fn trouble_that_does_not_pass_is_not_waited_for() {
        for error in [
            ProviderErrorKind::TooLong,
            ProviderErrorKind::Refused,
            ProviderErrorKind::Misconfigured(String::new()),
            ProviderErrorKind::InvalidResponse(String::new()),
        ] {
            assert_eq!(pause(&error, 1), None, "{error}");
        }
    }

    #[test]
    fn another_model_is_asked_only_when_that_helps_and_nobody_has_read_anything() {
        let may = |error: ProviderErrorKind, seen| NoAnswer { error: error.into(), seen }.another_may_try();
        assert!(may(ProviderErrorKind::RetryAfter(None), Seen::Nothing));
        assert!(may(ProviderErrorKind::Misconfigured(String::new()), Seen::Nothing));
        assert!(!may(ProviderErrorKind::Unreachable(String::new()), Seen::Beginning));
        assert!(!may(ProviderErrorKind::Refused, Seen::Nothing));
        assert!(!may(ProviderErrorKind::TooLong, Seen::Nothing));
    }
}
