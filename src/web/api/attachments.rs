//! Files: keep one, give its bytes or a small view of it, tell where it comes from, delete it.

use super::sessions::{Done, entered, sweep};
use crate::{
    access::{Scope, Viewer},
    attachments::NewFile,
    domain::{self, AttachmentId},
    transfer::json::AttachmentJson,
    web::{
        Site,
        extract::{Path, Query},
        problem::{Problem, Reading, Usual},
        serving::{Content, Wanted},
    },
};
use axum::{
    extract::{Multipart, State, multipart::MultipartRejection},
    http::{HeaderMap, StatusCode},
    response::Response,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

/// The file of a form that has one field, `file`.
pub async fn only_file(form: Result<Multipart, MultipartRejection>) -> Result<NewFile, Problem> {
    match read_upload(form).await? {
        (file, None) => Ok(file),
        (_, Some(_)) => Err(Problem::invalid("The form has one field, `file`.")),
    }
}

/// A file, and the session it is for.
async fn read_upload(
    form: Result<Multipart, MultipartRejection>,
) -> Result<(NewFile, Option<Uuid>), Problem> {
    let mut form = form.map_err(|_| {
        Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send a multipart form with a field `file`.")
    })?;
    let mut file: Option<NewFile> = None;
    let mut session = None;
    while let Some(field) = form.next_field().await? {
        match field.name() {
            Some("file") if file.is_some() => return Err(Problem::invalid("Send one `file` at a time.")),
            Some("file") => file = super::messages::file(field).await?,
            Some("session_id") => {
                let text = field.text().await?;
                let id = text.trim().parse().map_err(|_| Problem::invalid("session_id must be a UUID."))?;
                session = Some(id);
            }
            _ => return Err(Problem::invalid("The form's fields are `file` and `session_id`.")),
        }
    }
    let file = file.ok_or_else(|| Problem::invalid("The form needs a field `file`."))?;
    Ok((file, session))
}

/// A file of this viewer's.
async fn found(viewer: &Viewer, site: &Site, id: Uuid) -> Result<(domain::Attachment, Scope), Problem> {
    let found = viewer.attachment(&site.store, AttachmentId(id)).await?;
    found.ok_or_else(|| Problem::not_found("attachment"))
}

#[derive(ToSchema)]
#[allow(dead_code)]
pub struct Upload {
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
    /// The session it is for. Without it the file waits, for a day, for the message that sends it.
    #[schema(value_type = Uuid, required = false)]
    session_id: Option<Uuid>,
}

#[derive(Serialize, ToSchema)]
pub struct Kept {
    success: bool,
    attachment: AttachmentJson,
}

/// Keeps a file, to be sent with a message by its id.
#[utoipa::path(post, path = "/attachments", operation_id = "upload_attachment", tag = "attachments",
    request_body(content = Upload, content_type = "multipart/form-data"),
    responses((status = 201, body = Kept), Usual, Reading))]
pub async fn upload(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    form: Result<Multipart, MultipartRejection>,
) -> Result<(StatusCode, axum::Json<Kept>), Problem> {
    let (file, session) = read_upload(form).await?;
    let scope = match session {
        Some(id) => entered(&viewer, &site.store, id).await?.1,
        None => viewer.uploads(),
    };
    let kept = site.attachments.keep(&scope, file).await?;
    site.store.add_attachment(&kept).await?;
    if session.is_none() {
        site.store.add_member(scope.conversation(), scope.user()).await?;
    }
    Ok((StatusCode::CREATED, axum::Json(Kept { success: true, attachment: (&kept).into() })))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct View {
    /// A small view of a picture, its longest side at most about this many pixels.
    #[param(minimum = 1, maximum = 2048)]
    size: Option<u32>,
    /// Anything here makes the browser save the file rather than show it.
    download: Option<String>,
}

/// The bytes of a file, or a small view of a picture. They never change, so caches may keep them.
#[utoipa::path(get, path = "/attachments/{attachment_id}", operation_id = "get_attachment", tag = "attachments",
    params(("attachment_id" = Uuid, Path), View, ("Range" = Option<String>, Header, description = "One part")),
    responses(
        (status = 200, content_type = "*/*", body = Vec<u8>, headers(("ETag" = String))),
        (status = 206, content_type = "*/*", body = Vec<u8>, description = "One part"),
        (status = 304, description = "You have it"),
        (status = 416, description = "There is no such part"),
        (status = 415, body = Problem, content_type = "application/problem+json",
            description = "No view can be made of this"),
        Usual))]
pub async fn bytes(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Query(view): Query<View>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (file, _) = found(&viewer, &site, id).await?;
    if view.size.is_some_and(|size| !(1..=2048).contains(&size)) {
        return Err(Problem::bad("size must be between 1 and 2048."));
    }
    let save = view.download.is_some();
    if let (Some(size), Some(_), Some(_)) = (view.size, file.width, file.height) {
        return thumbnail(&site, &file, size, &headers, save).await;
    }
    let file = site.renderer.ensure_stored(&file).await?;
    let content = Content {
        mime: &file.mime_type,
        filename: &file.filename,
        etag: format!("\"{}\"", file.sha256),
        size: file.size.unsigned_abs(),
    };
    let wanted = content.wanted(&headers);
    let bytes = match &wanted {
        Wanted::All => site.attachments.bytes(&file).await?,
        Wanted::Part(range) => site.attachments.part(&file, range.clone()).await?,
        Wanted::NotModified | Wanted::Beyond => Bytes::new(),
    };
    Ok(content.respond(&wanted, bytes, save))
}

async fn thumbnail(
    site: &Site,
    file: &domain::Attachment,
    size: u32,
    headers: &HeaderMap,
    save: bool,
) -> Result<Response, Problem> {
    let view = site.renderer.thumbnail(file, size).await?;
    let content = Content {
        mime: view.mime,
        filename: &file.filename,
        etag: format!("\"{}-{size}\"", file.attachment_id.0.simple()),
        size: view.bytes.len() as u64,
    };
    let wanted = content.wanted(headers);
    let bytes = match &wanted {
        Wanted::Part(range) => view.bytes.slice(range.start as usize..range.end as usize),
        _ => view.bytes,
    };
    Ok(content.respond(&wanted, bytes, save))
}

#[derive(Serialize, ToSchema)]
pub struct Known {
    success: bool,
    attachment: Family,
}

/// A file, what it was made from and what was made from it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Family {
    #[serde(flatten)]
    attachment: AttachmentJson,
    /// What it was made from, the original first.
    ancestors: Vec<AttachmentJson>,
    /// What was made from it, newest first.
    children: Vec<AttachmentJson>,
}

/// No chain of edits is this long.
const LONGEST_CHAIN: usize = 500;

/// What is known of a file.
#[utoipa::path(get, path = "/attachments/{attachment_id}/metadata", operation_id = "get_attachment_metadata", tag = "attachments",
    params(("attachment_id" = Uuid, Path)), responses((status = 200, body = Known), Usual))]
pub async fn metadata(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Known>, Problem> {
    let (file, _) = found(&viewer, &site, id).await?;
    let children = site.store.children_of_attachment(&file).await?;
    let mut ancestors: Vec<domain::Attachment> = Vec::new();
    let mut next = file.parents.clone();
    while !next.is_empty() && ancestors.len() < LONGEST_CHAIN {
        let mut parents = site.store.attachments(&file.conversation, &next).await?;
        parents.retain(|parent| ancestors.iter().all(|known| known.attachment_id != parent.attachment_id));
        next = parents.iter().flat_map(|parent| parent.parents.clone()).collect();
        parents.append(&mut ancestors);
        ancestors = parents;
    }
    let attachment = Family {
        attachment: (&file).into(),
        ancestors: ancestors.iter().map(AttachmentJson::from).collect(),
        children: children.iter().map(AttachmentJson::from).collect(),
    };
    Ok(axum::Json(Known { success: true, attachment }))
}

/// Deletes a file: what is known of it, and its bytes unless another file has the same. What was made from it stays.
#[utoipa::path(delete, path = "/attachments/{attachment_id}", operation_id = "delete_attachment", tag = "attachments",
    params(("attachment_id" = Uuid, Path)), responses((status = 200, body = Done), Usual))]
pub async fn delete(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Done>, Problem> {
    let (file, _) = found(&viewer, &site, id).await?;
    // A picture that is only its recipe so far could not be made any more.
    for child in site.store.children_of_attachment(&file).await? {
        site.renderer.ensure_stored(&child).await?;
    }
    if !site.store.delete_attachment(file.attachment_id).await? {
        return Err(Problem::not_found("attachment"));
    }
    sweep(&site).await;
    site.turns.changed(&file.conversation);
    Ok(Done::saying("Attachment deleted"))
}
