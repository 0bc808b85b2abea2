//! What was said in a session, with the tools or without.

use super::sessions::entered;
use crate::{
    access::Viewer,
    domain::{self, Conversation, Message, MessageId},
    store::{Detail, Store, StoreError},
    transfer::json::{HistoryEntry, entries_of},
    web::{
        Site,
        extract::{Path, Query},
        problem::{Problem, Usual},
    },
};
use axum::{
    extract::State,
    http::{HeaderName, header},
    response::IntoResponse,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

#[derive(Default, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// Calls of tools and their results, too.
    #[serde(default)]
    include_tools: bool,
    /// Only the newest messages before `before`; all without it.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
    /// An `internalId`: what came before it.
    before: Option<i64>,
}

impl Wanted {
    /// Everything there is.
    pub fn all() -> Self {
        Self { include_tools: true, ..Self::default() }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct History {
    success: bool,
    thread_id: Uuid,
    history: Vec<HistoryEntry>,
    /// What people and the agent said in all; tools are not counted.
    message_count: i64,
    /// Ask for what came before this, if there may be more.
    next_before: Option<i64>,
}

/// The state of a session's messages, as `If-Match` names it.
pub fn etag(session: &domain::Session) -> String {
    format!("\"{}-{}\"", session.session_id.0.simple(), session.revision)
}

/// The files these messages carry.
pub async fn files_of(
    store: &Store,
    place: &Conversation,
    messages: &[Message],
) -> Result<Vec<domain::Attachment>, StoreError> {
    let mut ids: Vec<_> = messages.iter().flat_map(|message| message.attachments.clone()).collect();
    ids.sort();
    ids.dedup();
    store.attachments(place, &ids).await
}

/// The history of a session, oldest first.
#[utoipa::path(get, path = "/sessions/{session_id}/history", operation_id = "get_history", tag = "history",
    params(("session_id" = Uuid, Path), Wanted),
    responses((status = 200, body = History, headers(("ETag" = String, description = "For If-Match"))), Usual))]
pub async fn show(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Query(wanted): Query<Wanted>,
) -> Result<impl IntoResponse, Problem> {
    let (session, _) = entered(&viewer, &site.store, id).await?;
    read(&site, &session, &wanted).await
}

/// What these wishes come to, and under which state of the session.
pub async fn read(
    site: &Site,
    session: &domain::Session,
    wanted: &Wanted,
) -> Result<([(HeaderName, String); 1], axum::Json<History>), Problem> {
    if wanted.limit.is_some_and(|limit| !(1..=1000).contains(&limit)) {
        return Err(Problem::bad("limit must be between 1 and 1000."));
    }
    let detail = if wanted.include_tools { Detail::WithTools } else { Detail::Said };
    let before = wanted.before.map(MessageId);
    let messages = site.store.messages_of_session(session.session_id, before, wanted.limit, detail).await?;
    let full = wanted.limit.is_some_and(|limit| messages.len() as i64 >= limit);
    let files = files_of(&site.store, &session.conversation, &messages).await?;
    let history = History {
        success: true,
        thread_id: session.session_id.0,
        history: messages.iter().flat_map(|message| entries_of(message, &files, detail)).collect(),
        message_count: session.message_count,
        next_before: messages.first().filter(|_| full).map(|message| message.internal_id.0),
    };
    Ok(([(header::ETAG, etag(session))], axum::Json(history)))
}
