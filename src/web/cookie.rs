//! The cookie that a browser shows: its name, how it is set, found and taken away.

use super::Site;
use crate::access::LOGIN_LASTS;
use axum::http::{HeaderMap, HeaderValue, header};

const NAME: &str = "photothread";
/// Browsers take a cookie of this name only from this host, over TLS, for the whole site.
const NAME_OVER_TLS: &str = "__Host-photothread";

fn over_tls(site: &Site) -> bool {
    site.public_url.as_ref().is_some_and(|url| url.scheme() == "https")
}

fn name(site: &Site) -> &'static str {
    if over_tls(site) { NAME_OVER_TLS } else { NAME }
}

pub fn read<'a>(site: &Site, headers: &'a HeaderMap) -> Option<&'a str> {
    let lines = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(key, _)| *key == name(site)).map(|(_, value)| value)
}

pub fn set(site: &Site, login: &str) -> Option<HeaderValue> {
    line(site, login, LOGIN_LASTS.num_seconds())
}

pub fn clear(site: &Site) -> Option<HeaderValue> {
    line(site, "", 0)
}

/// None only if the value could not stand in a header, which no value of ours does.
fn line(site: &Site, value: &str, seconds: i64) -> Option<HeaderValue> {
    let (name, secure) = (name(site), if over_tls(site) { "; Secure" } else { "" });
    let line = format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
    HeaderValue::from_str(&line).ok()
}
