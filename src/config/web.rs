//! Settings of the page and the API: listen address, authentication, public URL, proxies, connections.

use super::{Config, ConfigError};
use ipnet::IpNet;
use serde::{Deserialize, Deserializer, de::Error as _};
use std::net::{IpAddr, SocketAddr};
use url::Url;

#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct WebSettings {
    /// `None` turns the page off.
    pub listen: Option<SocketAddr>,
    pub auth: Auth,
    /// Telegram user ids that see all conversations.
    pub admins: Vec<i64>,
    /// Origin (scheme, host, optional port) under which people reach the page.
    #[serde(deserialize_with = "deserialize_optional_url")]
    pub public_url: Option<Url>,
    /// Reverse proxies whose `X-Forwarded-For` is believed.
    #[serde(deserialize_with = "deserialize_networks")]
    pub trusted_proxies: Vec<IpNet>,
    /// Open connections to the page in all. The limit on open files may allow fewer.
    pub max_connections: usize,
    /// Tag groups of which a message may carry only one tag.
    pub exclusive_tags: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// No login: every request comes from this machine and acts as the owner.
    Local,
    /// Login by a link from the bot, or an API token.
    Required,
}

impl Config {
    /// Without authentication the page must be reachable from this machine only.
    pub(super) fn check_web(&self) -> Result<(), ConfigError> {
        if self.web.auth == Auth::Required {
            return Ok(());
        }
        match (self.web.listen, &self.web.public_url) {
            (Some(address), _) if !address.ip().is_loopback() => Err(ConfigError::Unguarded(address)),
            (Some(_), Some(_)) => Err(ConfigError::PublicButLocal),
            _ => Ok(()),
        }
    }
}

fn deserialize_optional_url<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Url>, D::Error> {
    let text: Option<String> = Option::deserialize(source)?;
    text.map(|text| text.parse().map_err(D::Error::custom)).transpose()
}

fn deserialize_networks<'de, D: Deserializer<'de>>(source: D) -> Result<Vec<IpNet>, D::Error> {
    let texts: Vec<String> = Vec::deserialize(source)?;
    texts.iter().map(|text| parse_network(text).ok_or_else(|| D::Error::custom(text))).collect()
}

/// A network such as 10.0.0.0/8, or a single address.
fn parse_network(text: &str) -> Option<IpNet> {
    let address = || text.parse::<IpAddr>().map(IpNet::from);
    text.parse::<IpNet>().or_else(|_| address()).ok().map(|network| network.trunc())
}

pub(super) fn check_network(text: &str) -> Result<String, String> {
    let network = parse_network(text.trim());
    network.map(|network| network.to_string()).ok_or_else(|| "must be an address or a network".into())
}

/// Normalizes an origin; rejects a path, query, fragment or credentials.
pub(super) fn check_origin(text: &str) -> Result<String, String> {
    let message = || {
        "must be an address with nothing after its name and port, such as https://photos.example.org, or null"
            .to_owned()
    };
    let url = Url::parse(text.trim()).map_err(|_| message())?;
    let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
    let anonymous = url.username().is_empty() && url.password().is_none();
    match matches!(url.scheme(), "http" | "https") && bare && anonymous {
        true => Ok(url.origin().ascii_serialization()),
        false => Err(message()),
    }
}

pub(super) fn check_auth(text: &str) -> Result<String, String> {
    match text.trim().to_ascii_lowercase().as_str() {
        name @ ("local" | "required") => Ok(name.into()),
        other => Err(format!("is {other:?}, but must be local or required")),
    }
}

/// Normalizes a tag group: the part before the colon of a tag, in lower case as tags are stored.
pub(super) fn check_tag_group(text: &str) -> Result<String, String> {
    let name = text.trim().trim_end_matches(':').trim().to_lowercase();
    match name.is_empty() || name.contains(':') {
        true => Err("must be what stands before the colon of a tag, such as topic".into()),
        false => Ok(name),
    }
}

pub(super) fn check_listen_address(text: &str) -> Result<String, String> {
    let numeric = text.trim().replacen("localhost:", "127.0.0.1:", 1);
    let address: SocketAddr =
        numeric.parse().map_err(|_| "must be an address and a port, such as 127.0.0.1:8080, or null")?;
    Ok(address.to_string())
}
