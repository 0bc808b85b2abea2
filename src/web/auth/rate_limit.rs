//! Rate limit for failed logins and wrong tokens, per client address. Successful requests are never limited: behind a
//! proxy, many people may share one address.

use crate::web::{address::TrustedProxies, messages, problem::Problem};
use axum::{
    http::{StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Failed attempts allowed per `WINDOW`.
const MAX_FAILURES: u32 = 10;
const WINDOW: Duration = Duration::from_secs(60);
/// Addresses remembered at once. Beyond it, expired ones are forgotten, then all.
const MAX_ADDRESSES: usize = 50_000;

struct Failures {
    count: u32,
    since: Instant,
}

#[derive(Default)]
pub struct FailedAttempts {
    proxies: TrustedProxies,
    by_address: Mutex<HashMap<IpAddr, Failures>>,
}

impl FailedAttempts {
    pub fn new(proxies: TrustedProxies) -> Self {
        Self { proxies, by_address: Mutex::default() }
    }

    fn by_address(&self) -> MutexGuard<'_, HashMap<IpAddr, Failures>> {
        self.by_address.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a failed attempt of this client. If the client is over the limit, records nothing and returns the seconds
    /// until its next try.
    pub fn record(&self, request: &Parts) -> Result<(), u64> {
        let (address, now) = (self.proxies.client_of(request), Instant::now());
        if let Some(seconds) = self.seconds_to_wait(address, now) {
            return Err(seconds);
        }
        self.add(address, now);
        Ok(())
    }

    fn seconds_to_wait(&self, address: IpAddr, now: Instant) -> Option<u64> {
        let addresses = self.by_address();
        let failures = addresses.get(&address).filter(|failures| failures.count >= MAX_FAILURES)?;
        let left = (failures.since + WINDOW).checked_duration_since(now)?;
        (!left.is_zero()).then(|| left.as_secs().max(1))
    }

    fn add(&self, address: IpAddr, now: Instant) {
        let expired = |failures: &Failures| now.duration_since(failures.since) >= WINDOW;
        let mut addresses = self.by_address();
        if addresses.len() >= MAX_ADDRESSES {
            addresses.retain(|_, failures| !expired(failures));
        }
        if addresses.len() >= MAX_ADDRESSES {
            addresses.clear();
        }
        let failures = addresses.entry(address).or_insert(Failures { count: 0, since: now });
        if expired(failures) {
            *failures = Failures { count: 0, since: now };
        }
        failures.count += 1;
    }
}

/// The reply to a program that failed too often.
pub fn too_many_attempts(seconds: u64) -> Response {
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, messages::too_often(seconds));
    ([(header::RETRY_AFTER, seconds.to_string())], problem).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_failures_make_one_address_wait() {
        let attempts = FailedAttempts::default();
        let (eve, ann) = ("203.0.113.9".parse().unwrap(), "203.0.113.8".parse().unwrap());
        let now = Instant::now();
        for _ in 0..MAX_FAILURES {
            assert_eq!(attempts.seconds_to_wait(eve, now), None);
            attempts.add(eve, now);
        }
        assert_eq!(
            (attempts.seconds_to_wait(eve, now), attempts.seconds_to_wait(ann, now)),
            (Some(60), None)
        );
        assert_eq!(attempts.seconds_to_wait(eve, now + Duration::from_secs(59)), Some(1));
        assert_eq!(attempts.seconds_to_wait(eve, now + WINDOW), None);
        attempts.add(eve, now + WINDOW);
        assert_eq!(attempts.seconds_to_wait(eve, now + WINDOW), None, "a new window");
    }
}
