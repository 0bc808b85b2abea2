//! The history of a session, with or without tool calls.

use super::sessions::find_session;
use crate::{
    access::Viewer,
    domain::{self, Conversation, Message, MessageId},
    store::{Detail, Store, StoreError},
    transfer::json::{HistoryEntry, entries_of},
    web::{
        Site,
        extract::{Path, Query},
        problem::{CommonProblems, Problem},
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
pub struct HistoryQuery {
    /// Also tool calls and their results.
    #[serde(default)]
    include_tools: bool,
    /// At most this many messages, the newest; all without it.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
    /// An `internalId`: only messages before it.
    before: Option<i64>,
}

impl HistoryQuery {
    /// The whole history with tool calls.
    pub fn all() -> Self {
        Self { include_tools: true, ..Self::default() }
    }
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = History)]
pub struct HistoryJson {
    success: bool,
    thread_id: Uuid,
    history: Vec<HistoryEntry>,
    /// Messages of people and of the agent in the whole session; tool calls are not counted.
    message_count: i64,
    /// The `before` of the next page, if there may be more.
    next_before: Option<i64>,
}

/// The ETag of a history, for `If-Match`.
pub fn etag(session: &domain::Session) -> String {
    format!("\"{}-{}\"", session.session_id.0.simple(), session.revision)
}

/// Loads the files of these messages.
pub async fn load_files(
    store: &Store,
    conversation: &Conversation,
    messages: &[Message],
) -> Result<Vec<domain::Attachment>, StoreError> {
    let mut ids: Vec<_> = messages.iter().flat_map(|message| message.attachments.clone()).collect();
    ids.sort();
    ids.dedup();
    store.attachments(conversation, &ids).await
}

/// The history of a session, oldest first.
#[utoipa::path(get, path = "/sessions/{session_id}/history", operation_id = "get_history", tag = "history",
    params(("session_id" = Uuid, Path), HistoryQuery),
    responses((status = 200, body = HistoryJson, headers(("ETag" = String, description = "For If-Match"))), CommonProblems))]
pub async fn show(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Query(query): Query<HistoryQuery>,
) -> Result<impl IntoResponse, Problem> {
    let (session, _) = find_session(&viewer, &site.store, id).await?;
    load_history(&site, &session, &query).await
}

/// Loads a page of the history and its ETag.
pub async fn load_history(
    site: &Site,
    session: &domain::Session,
    query: &HistoryQuery,
) -> Result<([(HeaderName, String); 1], axum::Json<HistoryJson>), Problem> {
    if query.limit.is_some_and(|limit| !(1..=1000).contains(&limit)) {
        return Err(Problem::bad("limit must be between 1 and 1000."));
    }
    let detail = if query.include_tools { Detail::WithTools } else { Detail::WithoutTools };
    let before = query.before.map(MessageId);
    let messages = site.store.messages_of_session(session.session_id, before, query.limit, detail).await?;
    let full = query.limit.is_some_and(|limit| messages.len() as i64 >= limit);
    let files = load_files(&site.store, &session.conversation, &messages).await?;
    let history = HistoryJson {
        success: true,
        thread_id: session.session_id.0,
        history: messages.iter().flat_map(|message| entries_of(message, &files, detail)).collect(),
        message_count: session.message_count,
        next_before: messages.first().filter(|_| full).map(|message| message.internal_id.0),
    };
    Ok(([(header::ETAG, etag(session))], axum::Json(history)))
}
