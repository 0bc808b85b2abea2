//! Downloads a session as JSON, Markdown or zip.

use super::sessions::find_session;
use crate::{
    access::Viewer,
    transfer::export::{Export, ExportError, ExportFormat, ExportJson},
    web::{
        Site,
        extract::{Path, Query},
        file_response::content_disposition,
        problem::{CommonProblems, Problem},
    },
};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderName, header},
    response::IntoResponse,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::Deserialize;
use std::sync::Arc;
use tracing::error;
use utoipa::IntoParams;
use uuid::Uuid;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExportQuery {
    /// `json` can be imported again, `markdown` is to read, `zip` is both with all files.
    #[serde(default)]
    #[param(inline, default = "json")]
    format: ExportFormat,
}

impl From<ExportError> for Problem {
    fn from(error: ExportError) -> Self {
        Self::unavailable("export", &error)
    }
}

/// Exports a session: to import again, to read, or with all its files.
#[utoipa::path(get, path = "/sessions/{session_id}/export", operation_id = "export_session", tag = "history",
    params(("session_id" = Uuid, Path), ExportQuery),
    responses(
        (status = 200, content(
            (ExportJson = "application/json"), (String = "text/markdown"), (Vec<u8> = "application/zip")),
            headers(("Content-Disposition" = String))),
        CommonProblems))]
pub async fn export_session(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Query(query): Query<ExportQuery>,
) -> Result<([(HeaderName, String); 3], impl IntoResponse), Problem> {
    let (session, _) = find_session(&viewer, &site.store, id).await?;
    let export = Export::open(&site.store, session).await?;
    let headers = [
        (header::CONTENT_TYPE, query.format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, content_disposition(&export.filename(query.format))),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    // The status is already sent: the connection is aborted, so the client sees an incomplete download.
    let log = move |error: &ExportError| {
        error!(error = error.log_text(), op = "export_session", session_id = %id, "export aborted");
    };
    let mut chunks = Box::pin(export.stream(query.format, site.renderer.clone()).await?);
    let first = chunks.try_next().await?.unwrap_or_default();
    Ok((headers, Body::from_stream(stream::iter([Ok(first)]).chain(chunks.inspect_err(log)))))
}
