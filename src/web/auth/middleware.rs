//! Runs before and after every route. Checks the host name (DNS rebinding), that a page without login is not behind a
//! proxy, the identity of the sender and the origin (cross-site request forgery); sets the security headers of the
//! response.

use super::{
    cookie,
    identity::{Identity, identify},
    login,
};
use crate::{
    access::PageAccess,
    web::{Site, messages, problem::Problem},
};
use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Version, header, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{net::IpAddr, sync::Arc};

const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// Swagger UI adds one fixed style element, allowed by its hash.
const DOCS_CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; \
     style-src 'self' 'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='; img-src 'self' data:; connect-src 'self'; \
     base-uri 'none'; frame-ancestors 'none'";

/// Paths that need no login.
const PUBLIC_PATHS: [&str; 2] = ["/healthz", "/login"];
const PUBLIC_PREFIXES: [&str; 2] = ["/login/", "/static/"];

pub async fn authenticate(State(site): State<Arc<Site>>, request: Request, next: Next) -> Response {
    let path = request.uri().path().to_owned();
    let (mut parts, body) = request.into_parts();
    let mut response = match check(&site, &mut parts).await {
        Err(response) => response,
        Ok(renewed) => {
            let mut response = next.run(Request::from_parts(parts, body)).await;
            if let Some(cookie) = renewed.and_then(|login| cookie::set(&site, &login)) {
                // Login and logout set a cookie of their own, which wins.
                response.headers_mut().entry(header::SET_COOKIE).or_insert(cookie);
            }
            response
        }
    };
    set_security_headers(&path, response.headers_mut());
    response
}

/// Accepts the request and stores its `Identity`, or returns the refusal. Returns the renewed login, if any.
async fn check(site: &Site, request: &mut Parts) -> Result<Option<String>, Response> {
    let path = request.uri.path();
    let host = host_of(request)
        .ok_or_else(|| Problem::new(StatusCode::BAD_REQUEST, messages::ONE_HOST).into_response())?;
    // Health checks may use any host name and come through a proxy.
    if path == "/healthz" {
        return Ok(None);
    }
    if !matches!(site.logins.page_access(), PageAccess::Login(_)) && is_forwarded(&request.headers) {
        return Err(Problem::new(StatusCode::FORBIDDEN, messages::BEHIND_A_PROXY).into_response());
    }
    if let Some(detail) = wrong_host(site, host) {
        return Err(Problem::new(StatusCode::FORBIDDEN, detail).into_response());
    }
    let public =
        PUBLIC_PATHS.contains(&path) || PUBLIC_PREFIXES.iter().any(|prefix| path.starts_with(prefix));
    let identity = if public { None } else { identify(site, request).await? };
    if identity.is_none() && !public {
        return Err(login::login_required(request));
    }
    let safe = matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS);
    let by_token = identity.as_ref().is_some_and(Identity::is_program);
    if !safe && !by_token && !is_same_origin(site, host, &request.headers) {
        return Err(Problem::new(StatusCode::FORBIDDEN, messages::NOT_FROM_THE_PAGE).into_response());
    }
    let renewed = identity.as_ref().and_then(|identity| identity.renewed.clone());
    if let Some(identity) = identity {
        request.extensions.insert(identity);
    }
    Ok(renewed)
}

/// The `Host` of a request. None if there are several, or none where HTTP/1.1 demands one: a proxy before us may have
/// read another one than we do.
fn host_of(request: &Parts) -> Option<&str> {
    let mut hosts = request.headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => Some(host.to_str().unwrap_or_default()),
        (None, _) if request.version < Version::HTTP_11 => Some(""),
        _ => None,
    }
}

/// Whether a proxy passed the request on, as far as the headers show.
fn is_forwarded(headers: &HeaderMap) -> bool {
    let names = ["forwarded", "via", "x-real-ip"];
    headers.keys().any(|name| names.contains(&name.as_str()) || name.as_str().starts_with("x-forwarded-"))
}

/// The refusal if the host name is not ours: another site may point its own name at this machine (DNS rebinding).
fn wrong_host(site: &Site, host: &str) -> Option<String> {
    match (site.logins.page_access(), &site.public_url) {
        (PageAccess::Login(base), Some(_)) => {
            (!host.eq_ignore_ascii_case(authority(base))).then(|| messages::answers_to(base))
        }
        // Any name is fine: a foreign name gets no cookie.
        (PageAccess::Login(_), None) => None,
        _ => (!is_local(host)).then(|| messages::NOT_THIS_MACHINE.to_owned()),
    }
}

/// Host and port of an origin.
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

/// Whether the request comes from the page itself. Browsers send `Origin` or `Sec-Fetch-Site`. A request without both is
/// not from a browser: accepted on the local page, refused where a cookie could be abused.
fn is_same_origin(site: &Site, host: &str, headers: &HeaderMap) -> bool {
    let origin = headers.get(header::ORIGIN).map(|origin| origin.to_str().unwrap_or_default());
    let ours = |origin: &str| match (site.logins.page_access(), &site.public_url) {
        (PageAccess::Login(base), Some(_)) => origin.eq_ignore_ascii_case(base),
        _ => {
            let (scheme, name) = origin.split_once("://").unwrap_or_default();
            matches!(scheme, "http" | "https") && !name.is_empty() && name.eq_ignore_ascii_case(host)
        }
    };
    let fetched = headers.get("sec-fetch-site").map(|site| site == "same-origin" || site == "none");
    match (origin.map(ours), fetched) {
        (None, None) => !matches!(site.logins.page_access(), PageAccess::Login(_)),
        (origin, fetched) => origin.unwrap_or(true) && fetched.unwrap_or(true),
    }
}

/// Sets the security headers of a response. A stricter policy of a route stays.
fn set_security_headers(path: &str, headers: &mut HeaderMap) {
    let policy = if path.starts_with("/docs") { DOCS_CONTENT_POLICY } else { CONTENT_POLICY };
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
    fn only_local_host_names_are_local() {
        for host in ["127.0.0.1:8080", "127.0.0.2:8080", "localhost:8080", "[::1]:8080", "localhost"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example:8080", "127.0.0.1.evil.example", "", "10.0.0.1:8080"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
