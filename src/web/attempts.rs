//! How often an address was wrong of late. Whoever guesses is made to wait; whoever is right is not counted.

use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, request::Parts},
};
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

/// Mistakes that anybody may make within `WITHIN`.
pub const MOST: u32 = 10;
const WITHIN: Duration = Duration::from_secs(60);
/// Addresses remembered at once. Beyond it those whose time is over are forgotten, and then all.
const REMEMBERED: usize = 50_000;

struct Tally {
    wrong: u32,
    since: Instant,
}

#[derive(Default)]
pub struct Attempts(Mutex<HashMap<IpAddr, Tally>>);

impl Attempts {
    fn tallies(&self) -> MutexGuard<'_, HashMap<IpAddr, Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many seconds this address has to wait before its next try, if it has to.
    pub fn wait(&self, peer: IpAddr, now: Instant) -> Option<u64> {
        let tallies = self.tallies();
        let tally = tallies.get(&peer).filter(|tally| tally.wrong >= MOST)?;
        let left = (tally.since + WITHIN).checked_duration_since(now)?;
        (!left.is_zero()).then(|| left.as_secs().max(1))
    }

    pub fn wrong(&self, peer: IpAddr, now: Instant) {
        let over = |tally: &Tally| now.duration_since(tally.since) >= WITHIN;
        let mut tallies = self.tallies();
        if tallies.len() >= REMEMBERED {
            tallies.retain(|_, tally| !over(tally));
        }
        if tallies.len() >= REMEMBERED {
            tallies.clear();
        }
        let tally = tallies.entry(peer).or_insert(Tally { wrong: 0, since: now });
        if over(tally) {
            *tally = Tally { wrong: 0, since: now };
        }
        tally.wrong += 1;
    }
}

/// Who is at the other end. What a proxy says of it counts only if the proxy is on this machine: anybody else can say
/// anything.
pub fn peer(asked: &Parts) -> IpAddr {
    let direct = asked.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(at)| at.ip());
    let direct = direct.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).to_canonical();
    let peer = if direct.is_loopback() { forwarded(&asked.headers).unwrap_or(direct) } else { direct };
    neighbourhood(peer)
}

/// The last address of the list is the one the nearest proxy saw itself.
fn forwarded(headers: &HeaderMap) -> Option<IpAddr> {
    let list = headers.get_all("x-forwarded-for").iter().next_back()?.to_str().ok()?;
    let last = list.rsplit(',').next()?.trim();
    let address = last.parse().ok().or_else(|| last.parse().ok().map(|at: SocketAddr| at.ip()))?;
    Some(IpAddr::to_canonical(&address))
}

/// One person easily has 2^64 addresses of IPv6.
fn neighbourhood(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Body, extract::Request};

    fn from(direct: &str, said: &[&str]) -> String {
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(ConnectInfo(direct.parse::<SocketAddr>().unwrap()));
        for line in said {
            request.headers_mut().append("x-forwarded-for", line.parse().unwrap());
        }
        peer(&request.into_parts().0).to_string()
    }

    #[test]
    fn only_a_proxy_on_this_machine_is_believed_and_only_what_it_saw_itself() {
        assert_eq!(from("203.0.113.9:1", &[]), "203.0.113.9");
        assert_eq!(from("203.0.113.9:1", &["198.51.100.1"]), "203.0.113.9", "anybody can say so");
        assert_eq!(from("127.0.0.1:1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(from("[::1]:1", &["1.1.1.1, 198.51.100.1"]), "198.51.100.1");
        assert_eq!(from("127.0.0.1:1", &["1.1.1.1", "198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(from("127.0.0.1:1", &["nonsense"]), "127.0.0.1");
        assert_eq!(from("[2001:db8:1:2:3:4:5:6]:1", &[]), "2001:db8:1:2::", "a whole network is one");
        assert_eq!(from("[::ffff:203.0.113.9]:1", &[]), "203.0.113.9");
    }

    #[test]
    fn whoever_is_wrong_too_often_waits_and_others_do_not() {
        let attempts = Attempts::default();
        let (eve, ann) = ("203.0.113.9".parse().unwrap(), "203.0.113.8".parse().unwrap());
        let now = Instant::now();
        for _ in 0..MOST {
            assert_eq!(attempts.wait(eve, now), None);
            attempts.wrong(eve, now);
        }
        assert_eq!((attempts.wait(eve, now), attempts.wait(ann, now)), (Some(60), None));
        assert_eq!(attempts.wait(eve, now + Duration::from_secs(59)), Some(1));
        assert_eq!(attempts.wait(eve, now + WITHIN), None);
        attempts.wrong(eve, now + WITHIN);
        assert_eq!(attempts.wait(eve, now + WITHIN), None, "counted anew");
    }
}
