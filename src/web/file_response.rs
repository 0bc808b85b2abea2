//! Serves file bytes so that a hostile file cannot run: types that may hold a script are only downloaded, browsers must
//! not sniff, and shown files are sandboxed. Bytes of an id never change, so responses are immutable.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use std::ops::Range;

/// Types that a browser may show inline. Not SVG: it may hold a script.
const INLINE_TYPES: [&str; 5] = ["image/jpeg", "image/png", "image/webp", "image/gif", "image/avif"];
/// Parts of type names that a browser might run or render as a page of this site.
const ACTIVE_TYPES: [&str; 6] = ["html", "svg", "xml", "javascript", "ecmascript", "x-shockwave-flash"];

/// A file to serve.
pub struct FileContent<'a> {
    pub mime: &'a str,
    pub filename: &'a str,
    /// Including the quotation marks.
    pub etag: String,
    pub size: u64,
}

/// What a conditional or range request asks for.
pub enum RequestedRange {
    /// The browser has the file already.
    NotModified,
    All,
    Part(Range<u64>),
    /// A range outside of the file.
    Unsatisfiable,
}

/// Whether the browser may show the file or must save it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Disposition {
    Inline,
    Attachment,
}

impl FileContent<'_> {
    pub fn requested_range(&self, headers: &HeaderMap) -> RequestedRange {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if let Some(known) = text(header::IF_NONE_MATCH)
            && known
                .split(',')
                .any(|tag| tag.trim().trim_start_matches("W/") == self.etag || tag.trim() == "*")
        {
            return RequestedRange::NotModified;
        }
        // If-Range: a range of another version must not be served.
        let same = text(header::IF_RANGE).is_none_or(|tag| tag.trim() == self.etag);
        match text(header::RANGE).filter(|_| same).and_then(|range| parse_range(range, self.size)) {
            Some(Ok(range)) => RequestedRange::Part(range),
            Some(Err(())) => RequestedRange::Unsatisfiable,
            None => RequestedRange::All,
        }
    }

    /// The response with this body, which must be that of the range.
    pub fn respond(&self, range: &RequestedRange, body: Body, disposition: Disposition) -> Response {
        let mut response = match range {
            RequestedRange::NotModified => StatusCode::NOT_MODIFIED.into_response(),
            RequestedRange::Unsatisfiable => StatusCode::RANGE_NOT_SATISFIABLE.into_response(),
            RequestedRange::All => body.into_response(),
            RequestedRange::Part(_) => (StatusCode::PARTIAL_CONTENT, body).into_response(),
        };
        let headers = response.headers_mut();
        let mut put = |name, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        };
        // A streamed body does not know its length.
        match range {
            RequestedRange::All => put(header::CONTENT_LENGTH, self.size.to_string()),
            RequestedRange::Part(part) => put(header::CONTENT_LENGTH, (part.end - part.start).to_string()),
            RequestedRange::NotModified | RequestedRange::Unsatisfiable => {}
        }
        put(header::ETAG, self.etag.clone());
        put(header::CACHE_CONTROL, "private, max-age=31536000, immutable".into());
        put(header::ACCEPT_RANGES, "bytes".into());
        put(header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox".into());
        put(header::X_CONTENT_TYPE_OPTIONS, "nosniff".into());
        match range {
            RequestedRange::Part(range) => {
                put(header::CONTENT_RANGE, format!("bytes {}-{}/{}", range.start, range.end - 1, self.size));
            }
            RequestedRange::Unsatisfiable => put(header::CONTENT_RANGE, format!("bytes */{}", self.size)),
            RequestedRange::All | RequestedRange::NotModified => {}
        }
        if matches!(range, RequestedRange::All | RequestedRange::Part(_)) {
            put(header::CONTENT_TYPE, safe_type(self.mime).to_owned());
            if disposition == Disposition::Attachment || !is_inline(self.mime) {
                put(header::CONTENT_DISPOSITION, content_disposition(self.filename));
            }
        }
        response
    }
}

fn is_inline(mime: &str) -> bool {
    INLINE_TYPES.contains(&mime) || mime.starts_with("audio/") || mime.starts_with("video/")
}

fn safe_type(mime: &str) -> &str {
    let active = ACTIVE_TYPES.iter().any(|kind| mime.contains(kind));
    if active || mime.is_empty() { "application/octet-stream" } else { mime }
}

/// A `Content-Disposition` with the filename in any script (RFC 6266).
pub fn content_disposition(filename: &str) -> String {
    let plain: String = filename
        .chars()
        .map(|c| if c.is_ascii_graphic() && !matches!(c, '"' | '\\') { c } else { '_' })
        .collect();
    let exact: String = filename
        .bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'_' => char::from(b).to_string(),
            b => format!("%{b:02X}"),
        })
        .collect();
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

/// Parses one range: `bytes=0-99`, `bytes=100-` or `bytes=-100`. None for several ranges or another unit, which may be
/// answered with the whole file.
fn parse_range(range: &str, size: u64) -> Option<Result<Range<u64>, ()>> {
    let (from, to) = range.trim().strip_prefix("bytes=")?.split_once('-')?;
    let (from, to) = (from.trim(), to.trim());
    let range = match (from.is_empty(), to.is_empty()) {
        (true, true) => return None,
        (true, false) => size.saturating_sub(to.parse().ok()?)..size,
        (false, true) => from.parse().ok()?..size,
        (false, false) => {
            let (from, last): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
            if from > last {
                return None;
            }
            from..last.saturating_add(1).min(size)
        }
    };
    Some(if range.is_empty() { Err(()) } else { Ok(range) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_cut_at_the_end_of_the_file() {
        for (asked, expected) in [
            ("bytes=0-0", Some(Ok(0..1))),
            ("bytes=2-5", Some(Ok(2..6))),
            ("bytes=5-", Some(Ok(5..10))),
            ("bytes=-3", Some(Ok(7..10))),
            ("bytes=-30", Some(Ok(0..10))),
            ("bytes=8-99", Some(Ok(8..10))),
            ("bytes=10-", Some(Err(()))),
            ("bytes=-0", Some(Err(()))),
            ("bytes=5-2", None),
            ("bytes=0-1,4-5", None),
            ("bytes=-", None),
            ("lines=1-2", None),
            ("bytes=a-b", None),
        ] {
            assert_eq!(parse_range(asked, 10), expected, "{asked}");
        }
    }

    #[test]
    fn active_types_are_never_shown_inline() {
        for mime in
            ["text/html", "image/svg+xml", "application/xhtml+xml", "text/javascript", "application/xml"]
        {
            assert_eq!(safe_type(mime), "application/octet-stream", "{mime}");
            assert!(!is_inline(mime), "{mime}");
        }
        assert_eq!(safe_type("application/pdf"), "application/pdf");
        assert!(!is_inline("application/pdf") && is_inline("image/png") && is_inline("video/mp4"));
    }

    #[test]
    fn filenames_are_encoded_and_cannot_break_the_header() {
        assert_eq!(
            content_disposition("a b.txt"),
            "attachment; filename=\"a_b.txt\"; filename*=UTF-8''a%20b.txt"
        );
        assert_eq!(
            content_disposition("é\"\r\n"),
            "attachment; filename=\"____\"; filename*=UTF-8''%C3%A9%22%0D%0A"
        );
    }
}
