//! Rate limit for failed logins and wrong tokens, per client address. Successful requests are never limited: behind a
//! proxy, many people may share one address.

use crate::web::{messages, problem::Problem};
use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
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
pub struct FailedAttempts(Mutex<HashMap<IpAddr, Failures>>);

impl FailedAttempts {
    fn by_address(&self) -> MutexGuard<'_, HashMap<IpAddr, Failures>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records a failed attempt of this client. If the client is over the limit, records nothing and returns the seconds
    /// until its next try.
    pub fn record(&self, request: &Parts) -> Result<(), u64> {
        let (address, now) = (client_address(request), Instant::now());
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

/// The address of the client. `X-Forwarded-For` counts only from a proxy on this machine: any other client could
/// forge it.
fn client_address(request: &Parts) -> IpAddr {
    let direct = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(at)| at.ip());
    let direct = direct.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).to_canonical();
    let client =
        if direct.is_loopback() { forwarded_for(&request.headers).unwrap_or(direct) } else { direct };
    network_of(client)
}

/// The last address in the list: the one that the nearest proxy saw itself.
fn forwarded_for(headers: &HeaderMap) -> Option<IpAddr> {
    let list = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    let last = list.rsplit(',').next()?.trim();
    let address = last.parse().ok().or_else(|| last.parse().ok().map(|at: SocketAddr| at.ip()))?;
    Some(IpAddr::to_canonical(&address))
}

/// An IPv6 client usually has a whole /64 network, so that network counts as one address.
fn network_of(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Body, extract::Request};

    fn address_of(direct: &str, forwarded: &[&str]) -> String {
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(ConnectInfo(direct.parse::<SocketAddr>().unwrap()));
        for line in forwarded {
            request.headers_mut().append("x-forwarded-for", line.parse().unwrap());
        }
        client_address(&request.into_parts().0).to_string()
    }

    #[test]
    fn only_a_proxy_on_this_machine_may_name_the_client() {
        assert_eq!(address_of("203.0.113.9:1", &[]), "203.0.113.9");
        assert_eq!(address_of("203.0.113.9:1", &["198.51.100.1"]), "203.0.113.9", "could be forged");
        assert_eq!(address_of("127.0.0.1:1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(address_of("[::1]:1", &["1.1.1.1, 198.51.100.1"]), "198.51.100.1");
        assert_eq!(address_of("127.0.0.1:1", &["1.1.1.1", "198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(address_of("127.0.0.1:1", &["nonsense"]), "127.0.0.1");
        assert_eq!(address_of("[2001:db8:1:2:3:4:5:6]:1", &[]), "2001:db8:1:2::", "the network");
        assert_eq!(address_of("[::ffff:203.0.113.9]:1", &[]), "203.0.113.9");
    }

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
