//! One tracing span per HTTP request. It carries the method, the route template, a request id and the status; never the
//! path itself, query strings, headers or bodies, which may hold tokens and what people wrote.

use axum::{
    extract::{MatchedPath, Request},
    middleware::Next,
    response::Response,
};
use std::time::Instant;
use tracing::{Instrument as _, debug, field, info_span};
use uuid::Uuid;

/// The route of a request that matches none.
const UNMATCHED: &str = "(no route)";

pub async fn trace_request(request: Request, next: Next) -> Response {
    let route = request.extensions().get::<MatchedPath>().map_or(UNMATCHED, MatchedPath::as_str);
    let span = info_span!(
        "request",
        method = %request.method(),
        route,
        request_id = %Uuid::new_v4(),
        status = field::Empty,
    );
    let started = Instant::now();
    let handled = async {
        let response = next.run(request).await;
        tracing::Span::current().record("status", response.status().as_u16());
        let milliseconds = started.elapsed().as_millis() as u64;
        debug!(milliseconds, "request handled");
        response
    };
    handled.instrument(span).await
}
