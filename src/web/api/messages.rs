//! Saying something in a session: words and files start a turn, which `events` tells of.

use super::sessions::entered;
use crate::{
    access::Viewer,
    attachments::NewFile,
    domain::{AttachmentId, MessageId},
    web::{
        Site,
        extract::{Object, Path},
        posting::{Post, post},
        problem::{Problem, Reading, Usual},
    },
};
use axum::{
    extract::{FromRequest as _, Multipart, Request, State, multipart::Field},
    http::{StatusCode, header},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// What you would like. May be empty if there are files.
    #[serde(default)]
    #[schema(max_length = 20000)]
    content: String,
    /// The `internalId` of the message this answers.
    #[serde(default)]
    reply_to: Option<i64>,
    /// The one file of that message that is meant.
    #[serde(default)]
    reply_attachment: Option<Uuid>,
    /// Files that were uploaded before, or that are in the session.
    #[serde(default)]
    #[schema(max_items = 20)]
    attachment_ids: Vec<Uuid>,
}

/// The same as a form, with files.
#[derive(ToSchema)]
#[allow(dead_code)]
pub struct MessageForm {
    #[schema(value_type = String, required = false, max_length = 20000)]
    content: String,
    #[schema(value_type = i64, required = false)]
    reply_to: i64,
    #[schema(value_type = Uuid, required = false)]
    reply_attachment: Uuid,
    #[schema(value_type = Vec<Uuid>, required = false, max_items = 20)]
    attachment_ids: Vec<Uuid>,
    #[schema(value_type = Vec<String>, format = Binary, required = false, max_items = 20)]
    files: Vec<u8>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Accepted {
    success: bool,
    turn_id: Uuid,
    /// The `internalId` of what was said.
    messages: Vec<i64>,
}

/// Says something: the turn it starts is told of by `events`.
#[utoipa::path(post, path = "/sessions/{session_id}/messages", operation_id = "send_message", tag = "messages",
    params(("session_id" = Uuid, Path)),
    request_body(content((Message = "application/json"), (MessageForm = "multipart/form-data"))),
    responses((status = 202, body = Accepted), Usual, Reading))]
pub async fn send(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    request: Request,
) -> Result<(StatusCode, axum::Json<Accepted>), Problem> {
    let (session, scope) = entered(&viewer, &site.store, id).await?;
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let said = match content_type {
        Some(kind) if kind.to_ascii_lowercase().starts_with("multipart/form-data") => {
            let form = Multipart::from_request(request, &()).await;
            read_form(form.map_err(|why| Problem::bad(why.body_text()))?).await?
        }
        _ => {
            let Object(message) = Object::<Message>::from_request(request, &()).await?;
            Post {
                words: message.content,
                reply_to: message.reply_to.map(MessageId),
                reply_attachment: message.reply_attachment.map(AttachmentId),
                known: message.attachment_ids.into_iter().map(AttachmentId).collect(),
                files: Vec::new(),
            }
        }
    };
    let posted = post(&site, &viewer, (&session, &scope), said).await?;
    let accepted = Accepted { success: true, turn_id: posted.turn.0, messages: vec![posted.message.0] };
    Ok((StatusCode::ACCEPTED, axum::Json(accepted)))
}

/// A form of the API or of the page. A field that is there but empty counts as not given.
pub async fn read_form(mut form: Multipart) -> Result<Post, Problem> {
    let mut post = Post::default();
    while let Some(field) = form.next_field().await? {
        let name = field.name().unwrap_or_default().to_owned();
        match name.as_str() {
            "content" => post.words = field.text().await?,
            "reply_to" => post.reply_to = number(field).await?.map(MessageId),
            "reply_attachment" => post.reply_attachment = id(&name, field).await?,
            "attachment_ids" => post.known.extend(id(&name, field).await?),
            "files" => post.files.extend(file(field).await?),
            other => return Err(Problem::invalid(format!("There is no field {other:?} here."))),
        }
    }
    Ok(post)
}

async fn number(field: Field<'_>) -> Result<Option<i64>, Problem> {
    match field.text().await?.trim() {
        "" => Ok(None),
        text => Ok(Some(text.parse().map_err(|_| Problem::invalid("reply_to must be a whole number."))?)),
    }
}

async fn id(name: &str, field: Field<'_>) -> Result<Option<AttachmentId>, Problem> {
    match field.text().await?.trim() {
        "" => Ok(None),
        text => Ok(Some(text.parse().map_err(|_| Problem::invalid(format!("{name} must be a UUID.")))?)),
    }
}

/// An empty file field without a name is how browsers send "no file chosen".
pub async fn file(field: Field<'_>) -> Result<Option<NewFile>, Problem> {
    let filename = field.file_name().map(str::to_owned);
    let bytes = field.bytes().await?;
    let none = bytes.is_empty() && filename.as_deref().unwrap_or_default().is_empty();
    Ok((!none).then(|| NewFile::from_person(bytes, filename)))
}

#[derive(Serialize, ToSchema)]
pub struct Cancelled {
    success: bool,
    /// Whether anything ran or waited.
    cancelled: bool,
}

/// Stops what runs or waits in the session's conversation.
#[utoipa::path(post, path = "/sessions/{session_id}/cancel", operation_id = "cancel_turns", tag = "messages",
    params(("session_id" = Uuid, Path)), responses((status = 200, body = Cancelled), Usual))]
pub async fn cancel(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Cancelled>, Problem> {
    let (session, _) = entered(&viewer, &site.store, id).await?;
    let cancelled = site.turns.cancel(&session.conversation).await?;
    Ok(axum::Json(Cancelled { success: true, cancelled }))
}
