//! Posts messages to a session and cancels its turns.

use super::sessions::find_session;
use crate::{
    access::Viewer,
    domain::{AttachmentId, MessageId},
    web::{
        Site,
        extract::{Object, Path},
        forms,
        problem::{BodyProblems, CommonProblems, Problem},
        submit::{PostedMessage, submit},
    },
};
use axum::{
    extract::{DefaultBodyLimit, FromRequest as _, Multipart, Request, State},
    http::{StatusCode, header},
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

/// The body limit of a message in JSON.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Message)]
pub struct MessageBody {
    /// What you would like. May be empty if there are files.
    #[serde(default)]
    #[schema(max_length = 20000)]
    content: String,
    /// The `internalId` of the message this answers.
    #[serde(default)]
    reply_to: Option<i64>,
    /// The file of that message that this is about.
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
#[schema(as = Accepted)]
pub struct AcceptedMessage {
    success: bool,
    turn_id: Uuid,
    /// The `internalId` of the message.
    messages: Vec<i64>,
}

/// Posts a message and starts a turn. Follow the turn with `events`.
#[utoipa::path(post, path = "/sessions/{session_id}/messages", operation_id = "send_message", tag = "messages",
    params(("session_id" = Uuid, Path)),
    request_body(content((MessageBody = "application/json"), (MessageForm = "multipart/form-data"))),
    responses((status = 202, body = AcceptedMessage), CommonProblems, BodyProblems))]
pub async fn send(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    request: Request,
) -> Result<(StatusCode, axum::Json<AcceptedMessage>), Problem> {
    let (session, scope) = find_session(&viewer, &site.store, id).await?;
    let content_type = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let incoming = match content_type {
        Some(kind) if kind.to_ascii_lowercase().starts_with("multipart/form-data") => {
            let form = Multipart::from_request(request, &()).await;
            let form = form.map_err(|why| Problem::bad(why.body_text()))?;
            forms::read_message(&site, &viewer, form).await?
        }
        _ => {
            let Object(message) = Object::<MessageBody>::from_request(limit_body(request), &()).await?;
            PostedMessage {
                text: message.content,
                reply_to: message.reply_to.map(MessageId),
                reply_attachment: message.reply_attachment.map(AttachmentId),
                known_files: message.attachment_ids.into_iter().map(AttachmentId).collect(),
                ..PostedMessage::default()
            }
        }
    };
    let submitted = submit(&site, &viewer, (&session, &scope), incoming).await?;
    let accepted =
        AcceptedMessage { success: true, turn_id: submitted.turn.0, messages: vec![submitted.message.0] };
    Ok((StatusCode::ACCEPTED, axum::Json(accepted)))
}

/// The limit of the route is one for forms with files. A message without them is much smaller.
fn limit_body(mut request: Request) -> Request {
    DefaultBodyLimit::max(MAX_MESSAGE_BYTES).apply(&mut request);
    request
}

#[derive(Serialize, ToSchema)]
#[schema(as = Cancelled)]
pub struct CancelResult {
    success: bool,
    /// Whether a turn was running or pending.
    cancelled: bool,
}

/// Cancels the running and pending turns of the session's conversation.
#[utoipa::path(post, path = "/sessions/{session_id}/cancel", operation_id = "cancel_turns", tag = "messages",
    params(("session_id" = Uuid, Path)), responses((status = 200, body = CancelResult), CommonProblems))]
pub async fn cancel(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<CancelResult>, Problem> {
    let (session, _) = find_session(&viewer, &site.store, id).await?;
    let cancelled = site.turns.cancel(&session.conversation).await?;
    Ok(axum::Json(CancelResult { success: true, cancelled }))
}
