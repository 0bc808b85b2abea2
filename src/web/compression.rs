//! Which responses are compressed: texts of some size. Pictures, archives and other files are compressed already, and
//! events must not wait in a compressor.

use axum::http::{Extensions, HeaderMap, StatusCode, Version, header};
use tower_http::{
    CompressionLevel,
    compression::{
        CompressionLayer,
        predicate::{And, Predicate as _, SizeAbove},
    },
};

/// Smaller responses fit into one packet anyway.
const MIN_BYTES: u64 = 1024;

type IsText = fn(StatusCode, Version, &HeaderMap, &Extensions) -> bool;

pub fn layer() -> CompressionLayer<And<IsText, SizeAbove>> {
    let is_text: IsText = |_, _, headers, _| is_text(headers);
    CompressionLayer::new()
        .quality(CompressionLevel::Fastest)
        .compress_when(is_text.and(SizeAbove::new(MIN_BYTES)))
}

fn is_text(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let other_texts =
        ["application/json", "application/problem+json", "application/javascript", "image/svg+xml"];
    (kind.starts_with("text/") && kind != "text/event-stream") || other_texts.contains(&kind.as_str())
}
