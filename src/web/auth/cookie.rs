//! The login cookie: reads, sets and clears it.

use crate::{access::LOGIN_LIFETIME, web::Site};
use axum::http::{HeaderMap, HeaderValue, header};

const NAME: &str = "photothread";
/// Browsers accept a `__Host-` cookie only over TLS, from this host, for the whole site.
const NAME_OVER_TLS: &str = "__Host-photothread";

fn uses_tls(site: &Site) -> bool {
    site.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
}

fn name(site: &Site) -> &'static str {
    if uses_tls(site) { NAME_OVER_TLS } else { NAME }
}

pub fn read<'a>(site: &Site, headers: &'a HeaderMap) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name(site)).map(|(_, value)| value)
}

pub fn set(site: &Site, login: &str) -> Option<HeaderValue> {
    cookie_header(site, login, LOGIN_LIFETIME.num_seconds())
}

pub fn clear(site: &Site) -> Option<HeaderValue> {
    cookie_header(site, "", 0)
}

/// None if the value is not valid in a header. Login secrets are always valid.
fn cookie_header(site: &Site, value: &str, seconds: i64) -> Option<HeaderValue> {
    let (name, secure) = (name(site), if uses_tls(site) { "; Secure" } else { "" });
    let line = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::from_str(&line).ok()
}
