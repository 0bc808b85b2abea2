//! Before and after every route: under which name the page was asked, who asks, whether another site made their
//! browser ask, and what a browser may do with the answer.

use super::{
    Site, cookie, login,
    problem::Problem,
    says,
    viewer::{Arrival, arrive},
};
use crate::access::WayIn;
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{net::IpAddr, sync::Arc};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Swagger UI writes one style element into its page, always the same one.
const DOCS_POLICY: &str = "default-src 'none'; script-src 'self'; \
     style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// Whoever is not logged in sees these and nothing else.
const OPEN: [&str; 2] = ["/healthz", "/login"];
const OPEN_BELOW: [&str; 2] = ["/login/", "/static/"];

pub async fn guard(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let (mut parts, body) = request.into_parts();
    let mut response = match check(&site, &mut parts).await {
        Err(refusal) => refusal,
        Ok(renewed) => {
            let mut response = next.run(Request::from_parts(parts, body)).await;
            if let Some(line) = renewed.and_then(|login| cookie::set(&site, &login)) {
                // An answer that sets one of its own (in, or out) knows better.
                response.headers_mut().entry(header::SET_COOKIE).or_insert(line);
            }
            response
        }
    };
    dress(&path, response.headers_mut());
    response
}

/// Lets the request through, knowing who it is from; what their browser should show from now on.
async fn check(site: &Site, asked: &mut Parts) -> Result<Option<String>, Response> {
    let path = asked.uri.path();
    // A name says nothing about whether we are well, and whoever watches us asks under any.
    if path == "/healthz" {
        return Ok(None);
    }
    let host = asked.headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    if let Some(why) = wrong_host(site, host) {
        return Err(Problem::new(StatusCode::FORBIDDEN, why).into_response());
    }
    let open = OPEN.contains(&path) || OPEN_BELOW.iter().any(|below| path.starts_with(below));
    let arrival = if open { None } else { arrive(site, asked).await? };
    if arrival.is_none() && !open {
        return Err(login::asked_for(asked));
    }
    let safe = matches!(asked.method, Method::GET | Method::HEAD | Method::OPTIONS);
    let by_token = arrival.as_ref().is_some_and(Arrival::is_program);
    if !safe && !by_token && !from_this_page(site, host, &asked.headers) {
        return Err(Problem::new(StatusCode::FORBIDDEN, says::NOT_FROM_THE_PAGE).into_response());
    }
    let renewed = arrival.as_ref().and_then(|arrival| arrival.renewed.clone());
    if let Some(arrival) = arrival {
        asked.extensions.insert(arrival);
    }
    Ok(renewed)
}

/// A name that some other site points at this machine (DNS rebinding) is none of ours.
fn wrong_host(site: &Site, host: &str) -> Option<String> {
    match (site.door.way(), &site.public_url) {
        (WayIn::Login(base), Some(_)) => {
            (!host.eq_ignore_ascii_case(authority(base))).then(|| says::answers_to(base))
        }
        // A name without a cookie opens nothing.
        (WayIn::Login(_), None) => None,
        _ => (!is_local(host)).then(|| says::NOT_THIS_MACHINE.to_owned()),
    }
}

/// Name and port of an origin.
fn authority(origin: &str) -> &str {
    origin.split_once("://").map_or(origin, |(_, rest)| rest)
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Browsers say where something was sent from. Tools like curl say nothing: on this machine they are not a browser's
/// victim; with a cookie they must say it as browsers do.
fn from_this_page(site: &Site, host: &str, headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    let ours = |origin: &str| match (site.door.way(), &site.public_url) {
        (WayIn::Login(base), Some(_)) => origin.eq_ignore_ascii_case(base),
        _ => {
            let (scheme, name) = origin.split_once("://").unwrap_or_default();
            matches!(scheme, "http" | "https") && !name.is_empty() && name.eq_ignore_ascii_case(host)
        }
    };
    let fetched = headers.get("sec-fetch-site").map(|site| site == "same-origin" || site == "none");
    match (origin.map(ours), fetched) {
        (None, None) => !matches!(site.door.way(), WayIn::Login(_)),
        (origin, fetched) => origin.unwrap_or(true) && fetched.unwrap_or(true),
    }
}

pub fn too_often(seconds: u64) -> Response {
    let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, says::too_often(seconds));
    ([(header::RETRY_AFTER, seconds.to_string())], problem).into_response()
}

/// What a browser may do with an answer. A route that is stricter stays so.
fn dress(path: &str, headers: &mut HeaderMap) {
    let policy = if path.starts_with("/docs") { DOCS_POLICY } else { POLICY };
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.starts_with("text/html") || kind.contains("json") {
        headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_names_open_the_page() {
        for host in ["127.0.0.1:8080", "127.0.0.2:8080", "localhost:8080", "[::1]:8080", "localhost"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example:8080", "127.0.0.1.evil.example", "", "10.0.0.1:8080"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
