//! Bytes for the browser, served so that a hostile file cannot run: whatever could hold a script is only ever saved,
//! nothing is guessed from content, and even what is shown is in a sandbox. Bytes of an id never change.

use axum::{
    body::Body,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use std::ops::Range;

/// What a browser may show in place. No SVG: it can hold a script.
const SHOWN: [&str; 5] = ["image/jpeg", "image/png", "image/webp", "image/gif", "image/avif"];
/// What a browser might run or render as a page of ours.
const ACTIVE: [&str; 6] = ["html", "svg", "xml", "javascript", "ecmascript", "x-shockwave-flash"];

/// What is served, and how it is told from others.
pub struct Content<'a> {
    pub mime: &'a str,
    pub filename: &'a str,
    /// With quotation marks.
    pub etag: String,
    pub size: u64,
}

/// What the browser wants of it.
pub enum Wanted {
    /// It has it already.
    NotModified,
    All,
    Part(Range<u64>),
    /// A part that is not there.
    Beyond,
}

impl Content<'_> {
    pub fn wanted(&self, headers: &HeaderMap) -> Wanted {
        let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
        if let Some(known) = text(header::IF_NONE_MATCH)
            && known
                .split(',')
                .any(|tag| tag.trim().trim_start_matches("W/") == self.etag || tag.trim() == "*")
        {
            return Wanted::NotModified;
        }
        // A part of something else would be of no use.
        let same = text(header::IF_RANGE).is_none_or(|tag| tag.trim() == self.etag);
        match text(header::RANGE).filter(|_| same).and_then(|range| part(range, self.size)) {
            Some(Ok(range)) => Wanted::Part(range),
            Some(Err(())) => Wanted::Beyond,
            None => Wanted::All,
        }
    }

    /// All or a part of it, with everything a browser should know.
    pub fn respond(&self, wanted: &Wanted, bytes: Bytes, save: bool) -> Response {
        let mut response = match wanted {
            Wanted::NotModified => StatusCode::NOT_MODIFIED.into_response(),
            Wanted::Beyond => StatusCode::RANGE_NOT_SATISFIABLE.into_response(),
            Wanted::All => Body::from(bytes).into_response(),
            Wanted::Part(_) => (StatusCode::PARTIAL_CONTENT, Body::from(bytes)).into_response(),
        };
        let headers = response.headers_mut();
        let mut put = |name, value: String| {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        };
        put(header::ETAG, self.etag.clone());
        put(header::CACHE_CONTROL, "private, max-age=31536000, immutable".into());
        put(header::ACCEPT_RANGES, "bytes".into());
        put(header::CONTENT_SECURITY_POLICY, "default-src 'none'; style-src 'unsafe-inline'; sandbox".into());
        put(header::X_CONTENT_TYPE_OPTIONS, "nosniff".into());
        match wanted {
            Wanted::Part(range) => {
                put(header::CONTENT_RANGE, format!("bytes {}-{}/{}", range.start, range.end - 1, self.size));
            }
            Wanted::Beyond => put(header::CONTENT_RANGE, format!("bytes */{}", self.size)),
            Wanted::All | Wanted::NotModified => {}
        }
        if matches!(wanted, Wanted::All | Wanted::Part(_)) {
            put(header::CONTENT_TYPE, safe_type(self.mime).to_owned());
            if save || !shown(self.mime) {
                put(header::CONTENT_DISPOSITION, saved_as(self.filename));
            }
        }
        response
    }
}

fn shown(mime: &str) -> bool {
    SHOWN.contains(&mime) || mime.starts_with("audio/") || mime.starts_with("video/")
}

fn safe_type(mime: &str) -> &str {
    let active = ACTIVE.iter().any(|kind| mime.contains(kind));
    if active || mime.is_empty() { "application/octet-stream" } else { mime }
}

/// A name for the browser to save under, in any script (RFC 6266).
pub fn saved_as(filename: &str) -> String {
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

/// One part, as `bytes=0-99`, `bytes=100-` or `bytes=-100` asks for it. Several parts, or something else altogether, may
/// be answered with everything.
fn part(range: &str, size: u64) -> Option<Result<Range<u64>, ()>> {
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
    fn a_part_is_what_was_asked_for_and_never_more_than_there_is() {
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
            assert_eq!(part(asked, 10), expected, "{asked}");
        }
    }

    #[test]
    fn what_could_run_is_saved_and_never_shown() {
        for mime in
            ["text/html", "image/svg+xml", "application/xhtml+xml", "text/javascript", "application/xml"]
        {
            assert_eq!(safe_type(mime), "application/octet-stream", "{mime}");
            assert!(!shown(mime), "{mime}");
        }
        assert_eq!(safe_type("application/pdf"), "application/pdf");
        assert!(!shown("application/pdf") && shown("image/png") && shown("video/mp4"));
    }

    #[test]
    fn a_name_in_any_script_is_told_and_cannot_break_the_header() {
        assert_eq!(saved_as("a b.txt"), "attachment; filename=\"a_b.txt\"; filename*=UTF-8''a%20b.txt");
        assert_eq!(saved_as("é\"\r\n"), "attachment; filename=\"____\"; filename*=UTF-8''%C3%A9%22%0D%0A");
    }
}
