//! Stored files for the browser, served so that a hostile one cannot run: only pictures are shown, the rest is saved.

use super::Site;
use crate::{access::Viewer, domain::AttachmentId, imaging::View};
use axum::{
    extract::{Path, Query, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use std::sync::Arc;
use tracing::warn;

const SHOWN: [&str; 4] = ["image/jpeg", "image/png", "image/webp", "image/gif"];

#[derive(Deserialize)]
pub struct Wanted {
    /// Longest side of a thumbnail.
    size: Option<u32>,
}

pub async fn attachment(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<AttachmentId>,
    Query(wanted): Query<Wanted>,
) -> Response {
    match load(&site, &viewer, id, wanted.size).await {
        Ok(response) => response,
        Err(status) => status.into_response(),
    }
}

async fn load(
    site: &Site,
    viewer: &Viewer,
    id: AttachmentId,
    size: Option<u32>,
) -> Result<Response, StatusCode> {
    let unavailable = |error: &dyn std::fmt::Display| {
        warn!(%error, "a file could not be served");
        StatusCode::SERVICE_UNAVAILABLE
    };
    let found = viewer.attachment(&site.store, id).await.map_err(|e| unavailable(&e))?;
    let (attachment, _) = found.ok_or(StatusCode::NOT_FOUND)?;
    if let (Some(size), Some(_), Some(_)) = (size, attachment.width, attachment.height) {
        return match site.prints.view(&attachment, &View::whole(size.clamp(16, 2048))).await {
            Ok(small) => Ok(served(small.bytes, small.mime, None)),
            Err(error) if error.may_pass() => Err(unavailable(&error)),
            Err(_) => Err(StatusCode::UNSUPPORTED_MEDIA_TYPE),
        };
    }
    let bytes = site.prints.bytes(&attachment).await.map_err(|e| unavailable(&e))?;
    let shown = SHOWN.contains(&attachment.mime_type.as_str());
    let mime = if shown { attachment.mime_type.as_str() } else { "application/octet-stream" };
    Ok(served(bytes, mime, (!shown).then_some(attachment.filename.as_str())))
}

fn served(bytes: bytes::Bytes, mime: &str, save_as: Option<&str>) -> Response {
    let mut response = bytes.into_response();
    let headers = response.headers_mut();
    let value = |text: &str| {
        HeaderValue::from_str(text).unwrap_or(HeaderValue::from_static("application/octet-stream"))
    };
    headers.insert(header::CONTENT_TYPE, value(mime));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, max-age=31536000, immutable"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("default-src 'none'; sandbox"));
    if let Some(name) = save_as {
        let safe: String = name
            .chars()
            .map(|c| if c.is_ascii_graphic() && c != '"' && c != '\\' { c } else { '_' })
            .collect();
        headers.insert(header::CONTENT_DISPOSITION, value(&format!("attachment; filename=\"{safe}\"")));
    }
    response
}
