//! Addresses of clients: behind a trusted proxy the one that the proxy names, otherwise that of the connection.

use axum::{
    extract::ConnectInfo,
    http::{HeaderMap, request::Parts},
};
use ipnet::IpNet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The reverse proxies whose `X-Forwarded-For` is believed. Any other client could forge the header.
#[derive(Clone, Debug, Default)]
pub struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks)
    }

    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client, as its network. Of `X-Forwarded-For` it is the last entry that is no trusted proxy.
    pub fn client_of(&self, request: &Parts) -> IpAddr {
        let direct = request.extensions.get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(at)| at.ip());
        let direct = direct.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED)).to_canonical();
        let mut client = direct;
        let mut named = forwarded_for(&request.headers).into_iter().rev();
        while self.contains(client) {
            // Without a readable entry, the nearest known address counts.
            let Some(Some(address)) = named.next() else { break };
            client = address;
        }
        network_of(client)
    }
}

/// The entries of all `X-Forwarded-For` lines in order; none for an entry that is no address.
fn forwarded_for(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let lines = headers.get_all("x-forwarded-for").iter();
    let entries = lines.flat_map(|line| line.to_str().unwrap_or_default().split(','));
    entries.map(|entry| parse_address(entry.trim())).collect()
}

/// An address, with or without a port.
fn parse_address(text: &str) -> Option<IpAddr> {
    let address = text.parse().ok().or_else(|| text.parse().ok().map(|at: SocketAddr| at.ip()))?;
    Some(IpAddr::to_canonical(&address))
}

/// An IPv6 client usually has a whole /64 network, so that network counts as one address.
pub fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(six) => Ipv6Addr::from_bits(six.to_bits() & !u128::from(u64::MAX)).into(),
        four => four,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Body, extract::Request};

    fn client_of(proxies: &[&str], direct: &str, forwarded: &[&str]) -> String {
        let mut request = Request::new(Body::empty());
        request.extensions_mut().insert(ConnectInfo(direct.parse::<SocketAddr>().unwrap()));
        for line in forwarded {
            request.headers_mut().append("x-forwarded-for", line.parse().unwrap());
        }
        let proxies = TrustedProxies::new(proxies.iter().map(|network| network.parse().unwrap()).collect());
        proxies.client_of(&request.into_parts().0).to_string()
    }

    #[test]
    fn without_a_trusted_proxy_the_connection_counts() {
        assert_eq!(client_of(&[], "203.0.113.9:1", &["198.51.100.1"]), "203.0.113.9", "could be forged");
        assert_eq!(client_of(&[], "127.0.0.1:1", &["198.51.100.1"]), "127.0.0.1");
        assert_eq!(client_of(&[], "[2001:db8:1:2:3:4:5:6]:1", &[]), "2001:db8:1:2::", "the network");
        assert_eq!(client_of(&[], "[::ffff:203.0.113.9]:1", &[]), "203.0.113.9");
    }

    #[test]
    fn behind_trusted_proxies_the_last_address_before_them_counts() {
        let proxies = ["127.0.0.0/8", "10.0.0.0/8", "::1/128"];
        let client = |direct: &str, forwarded: &[&str]| client_of(&proxies, direct, forwarded);
        assert_eq!(client("127.0.0.1:1", &["198.51.100.1"]), "198.51.100.1");
        assert_eq!(
            client("[::1]:1", &["1.1.1.1, 198.51.100.1"]),
            "198.51.100.1",
            "the first is the client's word"
        );
        assert_eq!(client("127.0.0.1:1", &["1.1.1.1", "198.51.100.1:4711"]), "198.51.100.1");
        assert_eq!(client("127.0.0.1:1", &["1.1.1.1, 198.51.100.1, 10.0.0.7"]), "198.51.100.1");
        assert_eq!(client("[::ffff:127.0.0.1]:1", &["2001:db8:1:2:3:4:5:6"]), "2001:db8:1:2::");
        assert_eq!(client("127.0.0.1:1", &["10.0.0.8, 10.0.0.7"]), "10.0.0.8", "a person beside the proxy");
        assert_eq!(client("127.0.0.1:1", &["1.1.1.1, nonsense, 10.0.0.7"]), "10.0.0.7");
        assert_eq!(client("127.0.0.1:1", &["nonsense"]), "127.0.0.1");
        assert_eq!(client("127.0.0.1:1", &[]), "127.0.0.1");
        assert_eq!(client("203.0.113.9:1", &["198.51.100.1"]), "203.0.113.9", "no proxy of ours");
    }
}
