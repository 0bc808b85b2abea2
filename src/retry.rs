//! Retry policies: every wait between two attempts in this crate comes from here.
//!
//! `forever` is for work that is safe in the database and can wait; `limited` is for work that a person waits for. Use
//! them with `backon::Retryable`: `(|| attempt()).retry(policy).when(|error| …).notify(|error, wait| …)`. A store verb
//! has `while_unavailable`.

use crate::store::StoreError;
use backon::{ExponentialBuilder, Retryable};
use std::time::Duration;
use tracing::warn;

const FIRST_STORE_WAIT: Duration = Duration::from_millis(50);
const MAX_STORE_WAIT: Duration = Duration::from_secs(10);

/// Doubles the wait from `first` up to `longest` and never gives up.
pub fn forever(first: Duration, longest: Duration) -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_factor(2.0)
        .with_min_delay(first)
        .with_max_delay(longest)
        .without_max_times()
}

/// Multiplies the wait by `factor` from `first`, and gives up after `attempts` attempts in all.
pub fn limited(first: Duration, factor: f32, attempts: usize) -> ExponentialBuilder {
    ExponentialBuilder::default()
        .with_factor(factor)
        .with_min_delay(first)
        .without_max_delay()
        .with_max_times(attempts.saturating_sub(1))
}

/// Runs a store verb again for as long as the database is unavailable. Every other error is returned at once.
///
/// `op` names the operation in the log; the ids come from the caller's span.
pub async fn while_unavailable<T, F, W>(op: &'static str, verb: F) -> Result<T, StoreError>
where
    F: FnMut() -> W,
    W: Future<Output = Result<T, StoreError>>,
{
    verb.retry(forever(FIRST_STORE_WAIT, MAX_STORE_WAIT))
        .when(|error| matches!(error, StoreError::Unavailable(_)))
        .notify(|error, wait| warn!(%error, op, "database unavailable; retrying in {wait:?}"))
        .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use backon::BackoffBuilder;

    fn millis(policy: ExponentialBuilder, count: usize) -> Vec<u128> {
        policy.build().take(count).map(|wait| wait.as_millis()).collect()
    }

    #[test]
    fn forever_doubles_up_to_the_longest_wait() {
        let policy = forever(Duration::from_millis(100), Duration::from_millis(500));
        assert_eq!(millis(policy, 6), [100, 200, 400, 500, 500, 500]);
    }

    #[test]
    fn limited_counts_the_first_attempt() {
        assert_eq!(millis(limited(Duration::from_millis(100), 3.0, 3), 9), [100, 300]);
        assert_eq!(millis(limited(Duration::from_millis(100), 3.0, 1), 9), [0_u128; 0]);
    }

    #[tokio::test]
    async fn a_store_verb_is_repeated_only_while_the_database_is_unavailable() {
        let mut answers = vec![
            Err(StoreError::AlreadyDone),
            Ok(2),
            Err(StoreError::pool_closed()),
            Err(StoreError::pool_closed()),
        ];
        let mut verb = || std::future::ready(answers.pop().unwrap_or(Ok(0)));
        assert_eq!(while_unavailable("test", &mut verb).await.ok(), Some(2));
        assert!(matches!(while_unavailable("test", &mut verb).await, Err(StoreError::AlreadyDone)));
    }
}
