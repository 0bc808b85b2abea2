//! A session to take away.

use super::sessions::entered;
use crate::{
    access::Viewer,
    transfer::export::{Export, ExportError, ExportJson, Format},
    web::{
        Site,
        extract::{Path, Query},
        problem::{Problem, Usual},
        serving::saved_as,
    },
};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderName, header},
    response::IntoResponse,
};
use futures::TryStreamExt as _;
use serde::Deserialize;
use std::sync::Arc;
use tracing::error;
use utoipa::IntoParams;
use uuid::Uuid;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// `json` can be imported again, `markdown` is to read, `zip` is both with all files.
    #[serde(default)]
    #[param(inline, default = "json")]
    format: Format,
}

impl From<ExportError> for Problem {
    fn from(error: ExportError) -> Self {
        Self::ours("an export", &error)
    }
}

/// A session to take away: to import again, to read, or with all its files.
#[utoipa::path(get, path = "/sessions/{session_id}/export", operation_id = "export_session", tag = "history",
    params(("session_id" = Uuid, Path), Wanted),
    responses(
        (status = 200, content(
            (ExportJson = "application/json"), (String = "text/markdown"), (Vec<u8> = "application/zip")),
            headers(("Content-Disposition" = String))),
        Usual))]
pub async fn export(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Query(wanted): Query<Wanted>,
) -> Result<([(HeaderName, String); 3], impl IntoResponse), Problem> {
    let (session, _) = entered(&viewer, &site.store, id).await?;
    let export = Export::load(&site.store, session).await?;
    let headers = [
        (header::CONTENT_TYPE, wanted.format.media_type().to_owned()),
        (header::CONTENT_DISPOSITION, saved_as(&export.filename(wanted.format))),
        (header::CACHE_CONTROL, "no-store".to_owned()),
    ];
    let body = match wanted.format {
        Format::Json => Body::from(export.json().map_err(ExportError::from)?),
        Format::Markdown => Body::from(export.markdown()),
        Format::Zip => {
            // Too late for a problem: the connection breaks off, and nobody takes half an archive for a whole one.
            let told = |error: &ExportError| error!(%error, "an export broke off");
            Body::from_stream(export.archive(site.renderer.clone())?.inspect_err(told))
        }
    };
    Ok((headers, body))
}
