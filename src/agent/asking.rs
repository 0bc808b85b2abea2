//! Asking a model although it may be busy or away: again while the trouble may pass, the wait is bearable, and nobody
//! has read the beginning of an answer. Who is asked instead is the engine's business.

use super::Agent;
use crate::providers::{Completion, Listener, Prompt, ProviderError};
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
        let helps = match self.error {
            ProviderError::RetryAfter(_)
            | ProviderError::Unreachable(_)
            | ProviderError::BadAnswer(_)
            | ProviderError::Setup(_) => true,
            // To look for a model that minds less would be to go behind the first one's back.
            ProviderError::Refused => false,
            ProviderError::TooLong => false,
        };
        helps && self.seen == Seen::Nothing
    }

    pub fn is_too_long(&self) -> bool {
        matches!(self.error, ProviderError::TooLong) && self.seen == Seen::Nothing
    }
}

/// Asks until there is an answer or no point in asking again.
pub async fn ask(agent: &Agent, prompt: &Prompt, heard: Listener<'_>) -> Result<Completion, NoAnswer> {
    let mut tries = 1;
    loop {
        let begun = AtomicBool::new(false);
        let listener = |piece: &str| {
            if !piece.trim().is_empty() {
                begun.store(true, Ordering::Relaxed);
            }
            heard(piece);
        };
        let error = match agent.provider.complete(prompt, &listener).await {
            Ok(completion) => return Ok(completion),
            Err(error) => error,
        };
        // A second answer that begins otherwise would look as if the first had never been.
        let seen = if begun.into_inner() { Seen::Beginning } else { Seen::Nothing };
        let wait = match (seen, tries < MOST_TRIES) {
            (Seen::Nothing, true) => pause(&error, tries),
            _ => None,
        };
        let Some(wait) = wait else { return Err(NoAnswer { error, seen }) };
        info!(agent = agent.name, %error, tries, ?wait, "the model is asked again");
        tokio::time::sleep(wait).await;
        tries += 1;
    }
}

/// How long to wait before the next try; none if it would not help or would take too long.
fn pause(error: &ProviderError, tries: u32) -> Option<Duration> {
    match error {
        ProviderError::RetryAfter(Some(wait)) => {
            (*wait <= LONGEST_WAIT).then_some((*wait).max(SHORTEST_WAIT))
        }
        ProviderError::RetryAfter(None) => Some(backoff(BUSY, tries)),
        ProviderError::Unreachable(_) => Some(backoff(AWAY, tries)),
        ProviderError::TooLong
        | ProviderError::Refused
        | ProviderError::Setup(_)
        | ProviderError::BadAnswer(_) => None,
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
        let told = |seconds| pause(&ProviderError::RetryAfter(Some(Duration::from_secs(seconds))), 1);
        assert_eq!(told(0), Some(SHORTEST_WAIT));
        assert_eq!(told(7), Some(Duration::from_secs(7)));
        assert_eq!(told(20), Some(LONGEST_WAIT));
        assert_eq!(told(21), None);
    }

    #[test]
    fn without_a_word_about_it_the_wait_grows_and_differs() {
        for error in [ProviderError::RetryAfter(None), ProviderError::Unreachable(String::new())] {
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
            ProviderError::TooLong,
            ProviderError::Refused,
            ProviderError::Setup(String::new()),
            ProviderError::BadAnswer(String::new()),
        ] {
            assert_eq!(pause(&error, 1), None, "{error}");
        }
    }

    #[test]
    fn another_model_is_asked_only_when_that_helps_and_nobody_has_read_anything() {
        let may = |error, seen| NoAnswer { error, seen }.another_may_try();
        assert!(may(ProviderError::RetryAfter(None), Seen::Nothing));
        assert!(may(ProviderError::Setup(String::new()), Seen::Nothing));
        assert!(!may(ProviderError::Unreachable(String::new()), Seen::Beginning));
        assert!(!may(ProviderError::Refused, Seen::Nothing));
        assert!(!may(ProviderError::TooLong, Seen::Nothing));
    }
}
