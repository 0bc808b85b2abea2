//! The page is for the person at this machine: requests that another site made the browser send are refused.

use axum::{
    extract::Request,
    http::{HeaderMap, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; \
     connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

pub async fn local_only(request: Request, next: Next) -> Response {
    let headers = request.headers();
    // A name that some other site points at this machine (DNS rebinding).
    if !headers.get(header::HOST).and_then(|host| host.to_str().ok()).is_some_and(is_local) {
        return (StatusCode::FORBIDDEN, "Open this page as http://127.0.0.1 or http://localhost.")
            .into_response();
    }
    if request.method() != Method::GET && !from_this_page(headers) {
        return (StatusCode::FORBIDDEN, "This form must be sent from the page itself.").into_response();
    }
    let mut response = next.run(request).await;
    let out = response.headers_mut();
    out.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    out.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    out.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    response
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    matches!(name, "127.0.0.1" | "localhost" | "[::1]")
}

/// Browsers say where a form was sent from; tools like curl say nothing and are not a browser's victim.
fn from_this_page(headers: &HeaderMap) -> bool {
    match headers.get(header::ORIGIN).and_then(|origin| origin.to_str().ok()) {
        Some(origin) => origin.strip_prefix("http://").is_some_and(is_local),
        None => headers.get("sec-fetch-site").is_none_or(|site| site == "same-origin" || site == "none"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_names_open_the_page() {
        for host in ["127.0.0.1:8080", "localhost:8080", "[::1]:8080", "localhost"] {
            assert!(is_local(host), "{host}");
        }
        for host in ["evil.example:8080", "127.0.0.1.evil.example", "", "10.0.0.1:8080"] {
            assert!(!is_local(host), "{host}");
        }
    }
}
