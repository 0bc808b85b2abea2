//! One tracing span per HTTP request. It carries the method, the route template, a request id and the status; never the
//! path itself, query strings, headers or bodies, which may hold tokens and what people wrote.

use axum::{
    extract::{MatchedPath, Request},
    http::Response,
};
use std::time::Duration;
use tracing::{Span, debug, field, info_span};
use uuid::Uuid;

/// The route of a request that matches none.
const UNMATCHED: &str = "(no route)";

pub fn request_span(request: &Request) -> Span {
    let route = request.extensions().get::<MatchedPath>().map_or(UNMATCHED, MatchedPath::as_str);
    info_span!(
        "request",
        method = %request.method(),
        route,
        request_id = %Uuid::new_v4(),
        status = field::Empty,
    )
}

pub fn log_response<B>(response: &Response<B>, latency: Duration, span: &Span) {
    span.record("status", response.status().as_u16());
    debug!(milliseconds = latency.as_millis() as u64, "request handled");
}
