//! Attachments: upload, download, thumbnail, metadata, deletion.

use super::sessions::{Confirmation, find_session, sweep};
use crate::{
    access::{Scope, Viewer},
    attachments::Upload,
    domain::{self, AttachmentId},
    transfer::json::AttachmentJson,
    web::{
        Site,
        extract::{Path, Query},
        file_response::{Disposition, FileContent, RequestedRange},
        forms::{self, receive_in_time},
        messages,
        problem::{BodyProblems, CommonProblems, Problem},
        run_to_end::run_to_end,
    },
};
use axum::{
    body::Body,
    extract::{Multipart, State, multipart::MultipartRejection},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};
use std::{ops::Range, sync::Arc};
use tracing::error;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// An id in a form.
const MAX_ID_BYTES: usize = 200;

/// Receives a form with exactly one field, `file`, of at most `max_bytes`.
pub async fn receive_only_file(
    site: &Site,
    viewer: &Viewer,
    form: Result<Multipart, MultipartRejection>,
    max_bytes: u64,
) -> Result<Upload, Problem> {
    match receive_in_time(receive_upload(site, viewer, form, max_bytes)).await? {
        (file, None) => Ok(file.upload),
        (_, Some(_)) => Err(Problem::invalid("The form has one field, `file`.")),
    }
}

struct ReceivedFile {
    upload: Upload,
    filename: Option<String>,
}

/// Receives a file and the session that it is for.
async fn receive_upload(
    site: &Site,
    viewer: &Viewer,
    form: Result<Multipart, MultipartRejection>,
    max_bytes: u64,
) -> Result<(ReceivedFile, Option<Uuid>), Problem> {
    let mut form = form.map_err(|_| {
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send a multipart form with a field `file`.")
    })?;
    let mut file: Option<ReceivedFile> = None;
    let mut session = None;
    while let Some(field) = form.next_field().await? {
        match field.name() {
            Some("file") if file.is_some() => return Err(Problem::invalid("Send one `file` at a time.")),
            Some("file") => {
                let received = forms::receive_file(site, viewer, field, max_bytes).await?;
                file = received.map(|(upload, filename)| ReceivedFile { upload, filename });
            }
            Some("session_id") => {
                let text = forms::read_text(field, MAX_ID_BYTES).await?;
                let id = text.trim().parse().map_err(|_| Problem::invalid("session_id must be a UUID."))?;
                session = Some(id);
            }
            _ => return Err(Problem::invalid("The form's fields are `file` and `session_id`.")),
        }
    }
    let file = file.ok_or_else(|| Problem::invalid("The form needs a field `file`."))?;
    Ok((file, session))
}

/// The file with this id, if the viewer may see it.
async fn find_attachment(
    viewer: &Viewer,
    site: &Site,
    id: Uuid,
) -> Result<(domain::Attachment, Scope), Problem> {
    let found = viewer.attachment(&site.store, AttachmentId(id)).await?;
    found.ok_or_else(|| Problem::not_found("attachment"))
}

#[derive(ToSchema)]
#[allow(dead_code)]
#[schema(as = Upload)]
pub struct UploadForm {
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// The session it is for. Without it, the file is deleted after a day unless a message uses it.
    #[schema(value_type = Uuid, required = false)]
    session_id: Option<Uuid>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Kept)]
pub struct UploadedAttachment {
    success: bool,
    attachment: AttachmentJson,
}

/// Stores a file. A message can then send it by its id.
#[utoipa::path(post, path = "/attachments", operation_id = "upload_attachment", tag = "attachments",
    request_body(content = UploadForm, content_type = "multipart/form-data"),
    responses((status = 201, body = UploadedAttachment), CommonProblems, BodyProblems))]
pub async fn upload(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    form: Result<Multipart, MultipartRejection>,
) -> Result<(StatusCode, axum::Json<UploadedAttachment>), Problem> {
    let max_bytes = site.attachments.limits().max_file_bytes;
    let (file, session) = receive_in_time(receive_upload(&site, &viewer, form, max_bytes)).await?;
    let scope = match session {
        Some(id) => find_session(&viewer, &site.store, id).await?.1,
        None => viewer.uploads(),
    };
    let stored = run_to_end(async move {
        let staged = site.attachments.stage(file.upload, file.filename.as_deref()).await?;
        let stored = staged.attach(&scope).await?;
        site.store.add_attachment(&stored).await?;
        staged.keep();
        if session.is_none() {
            site.store.add_member(scope.conversation(), scope.user()).await?;
        }
        Ok(stored)
    })
    .await?;
    Ok((StatusCode::CREATED, axum::Json(UploadedAttachment { success: true, attachment: (&stored).into() })))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DownloadQuery {
    /// A thumbnail of a picture: its longest side is at most about this many pixels.
    #[param(minimum = 1, maximum = 2048)]
    size: Option<u32>,
    /// Any value makes the browser save the file instead of showing it.
    download: Option<String>,
}

/// The bytes of a file, or a thumbnail of a picture. They never change, so caches may keep them.
#[utoipa::path(get, path = "/attachments/{attachment_id}", operation_id = "get_attachment", tag = "attachments",
    params(("attachment_id" = Uuid, Path), DownloadQuery, ("Range" = Option<String>, Header, description = "One part")),
    responses(
        (status = 200, content_type = "*/*", body = Vec<u8>, headers(("ETag" = String))),
        (status = 206, content_type = "*/*", body = Vec<u8>, description = "One part"),
        (status = 304, description = "You have it"),
        (status = 416, description = "There is no such part"),
        (status = 415, body = Problem, content_type = "application/problem+json",
            description = "No view can be made of this"),
        CommonProblems))]
pub async fn download(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Query(query): Query<DownloadQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (file, _) = find_attachment(&viewer, &site, id).await?;
    if query.size.is_some_and(|size| !(1..=2048).contains(&size)) {
        return Err(Problem::bad("size must be between 1 and 2048."));
    }
    let disposition = if query.download.is_some() { Disposition::Attachment } else { Disposition::Inline };
    if let (Some(size), Some(_), Some(_)) = (query.size, file.width, file.height) {
        return thumbnail(&site, &file, size, &headers, disposition).await;
    }
    let file = site.renderer.ensure_stored(&file).await?;
    let content = FileContent {
        mime: &file.mime_type,
        filename: &file.filename,
        etag: format!("\"{}\"", file.sha256().unwrap_or_default()),
        size: file.size.unsigned_abs(),
    };
    let range = content.requested_range(&headers);
    let body = match &range {
        RequestedRange::All => stream_file(&site, &file, 0..content.size).await?,
        RequestedRange::Part(part) => stream_file(&site, &file, part.clone()).await?,
        RequestedRange::NotModified | RequestedRange::Unsatisfiable => Body::empty(),
    };
    Ok(content.respond(&range, body, disposition))
}

/// Streams a range of a file. Its first part is read here, so that a file that is gone is a problem and not a broken
/// download.
async fn stream_file(site: &Site, file: &domain::Attachment, range: Range<u64>) -> Result<Body, Problem> {
    let mut parts = Box::pin(site.attachments.byte_stream(file, range)?);
    let first = parts.try_next().await?.unwrap_or_default();
    let id = file.attachment_id;
    let rest = parts.inspect_err(move |error| {
        // The status is sent already: the connection is cut, so that the client sees an incomplete download.
        error!(%error, op = "get_attachment", attachment_id = %id, "download aborted");
    });
    Ok(Body::from_stream(stream::iter([Ok(first)]).chain(rest)))
}

async fn thumbnail(
    site: &Site,
    file: &domain::Attachment,
    size: u32,
    headers: &HeaderMap,
    disposition: Disposition,
) -> Result<Response, Problem> {
    let view = site.renderer.thumbnail(file, size).await?;
    let content = FileContent {
        mime: view.mime,
        filename: &file.filename,
        etag: format!("\"{}-{size}\"", file.attachment_id.0.simple()),
        size: view.bytes.len() as u64,
    };
    let range = content.requested_range(headers);
    let bytes = match &range {
        RequestedRange::Part(part) => view.bytes.slice(part.start as usize..part.end as usize),
        _ => view.bytes,
    };
    Ok(content.respond(&range, Body::from(bytes), disposition))
}

#[derive(Serialize, ToSchema)]
#[schema(as = Known)]
pub struct AttachmentMetadata {
    success: bool,
    attachment: AttachmentFamily,
}

/// A file, what it was made from and what was made from it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Family)]
pub struct AttachmentFamily {
    #[serde(flatten)]
    attachment: AttachmentJson,
    /// What it was made from, the original first.
    ancestors: Vec<AttachmentJson>,
    /// What was made from it, newest first.
    children: Vec<AttachmentJson>,
}

/// Ancestors beyond this many are not listed.
const MAX_ANCESTORS: usize = 500;

/// The metadata of a file.
#[utoipa::path(get, path = "/attachments/{attachment_id}/metadata", operation_id = "get_attachment_metadata", tag = "attachments",
    params(("attachment_id" = Uuid, Path)), responses((status = 200, body = AttachmentMetadata), CommonProblems))]
pub async fn metadata(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<AttachmentMetadata>, Problem> {
    let (file, _) = find_attachment(&viewer, &site, id).await?;
    let children = site.store.children_of_attachment(&file).await?;
    let mut ancestors: Vec<domain::Attachment> = Vec::new();
    let mut next = file.parents.clone();
    while !next.is_empty() && ancestors.len() < MAX_ANCESTORS {
        let mut parents = site.store.attachments(&file.conversation, &next).await?;
        parents.retain(|parent| ancestors.iter().all(|known| known.attachment_id != parent.attachment_id));
        next = parents.iter().flat_map(|parent| parent.parents.clone()).collect();
        parents.append(&mut ancestors);
        ancestors = parents;
    }
    let attachment = AttachmentFamily {
        attachment: (&file).into(),
        ancestors: ancestors.iter().map(AttachmentJson::from).collect(),
        children: children.iter().map(AttachmentJson::from).collect(),
    };
    Ok(axum::Json(AttachmentMetadata { success: true, attachment }))
}

/// Deletes a file: its metadata, and its bytes unless another file has the same. Files made from it stay.
#[utoipa::path(delete, path = "/attachments/{attachment_id}", operation_id = "delete_attachment", tag = "attachments",
    params(("attachment_id" = Uuid, Path)), responses((status = 200, body = Confirmation), CommonProblems))]
pub async fn delete(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Confirmation>, Problem> {
    let (file, _) = find_attachment(&viewer, &site, id).await?;
    if !viewer.may_delete_file(&file) {
        return Err(Problem::forbidden(messages::NOT_YOUR_FILE));
    }
    run_to_end(async move {
        // Children that are only recipes could not be rendered without this file: render them first.
        for child in site.store.children_of_attachment(&file).await? {
            site.renderer.ensure_stored(&child).await?;
        }
        if !site.store.delete_attachment(file.attachment_id).await? {
            return Err(Problem::not_found("attachment"));
        }
        sweep(&site).await;
        site.turns.changed(&file.conversation);
        Ok(Confirmation::of("Attachment deleted"))
    })
    .await
}
