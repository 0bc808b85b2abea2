//! The history of a session, with or without tool calls. It is read page by page as the client takes it;
//! `transfer::pages` says what happens if it changes meanwhile.

use super::sessions::find_session;
use crate::{
    access::Viewer,
    domain::{self, Conversation, Message, MessageId},
    store::{Detail, HistorySpan, Store, StoreError},
    transfer::{
        json::{self, HistoryEntry, entries_of},
        pages::{HistoryPages, ReadError, carried_files},
    },
    web::{
        Site,
        extract::{Path, Query},
        problem::{CommonProblems, Problem},
    },
};
use axum::{
    body::Body,
    extract::State,
    http::{HeaderName, StatusCode, header},
    response::IntoResponse,
};
use bytes::Bytes;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use serde::{Deserialize, Serialize};
use std::{mem, sync::Arc};
use tracing::error;
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

/// A history that is written as its reader takes it.
struct HistoryBody {
    pages: HistoryPages,
    detail: Detail,
    list_begun: bool,
    /// What follows the entries.
    tail: String,
}

impl HistoryBody {
    /// The next entries, and the end of the document with the last.
    async fn next(&mut self, mut out: Vec<u8>) -> Result<Option<Bytes>, ReadError> {
        if self.tail.is_empty() {
            return Ok(None);
        }
        if let Some(page) = self.pages.next(carried_files).await? {
            for message in &page.messages {
                for entry in entries_of(message, &page.files, self.detail) {
                    json::push_item(&mut out, &mut self.list_begun, &entry)?;
                }
            }
        }
        if self.pages.is_at_end() {
            out.extend_from_slice(mem::take(&mut self.tail).as_bytes());
        }
        Ok(Some(out.into()))
    }
}

/// A history and its ETag. The first page is read here, so that a problem has its status; a long history is then streamed
/// page by page.
pub async fn load_history(
    site: &Site,
    session: &domain::Session,
    query: &HistoryQuery,
) -> Result<([(HeaderName, String); 2], Body), Problem> {
    if query.limit.is_some_and(|limit| !(1..=1000).contains(&limit)) {
        return Err(Problem::bad("limit must be between 1 and 1000."));
    }
    let detail = if query.include_tools { Detail::WithTools } else { Detail::WithoutTools };
    let before = query.before.map(MessageId);
    let span = site.store.history_span(session.session_id, before, query.limit, detail).await?;
    let is_full = |span: &HistorySpan| query.limit.is_some_and(|limit| span.count >= limit);
    let empty = HistoryJson {
        success: true,
        thread_id: session.session_id.0,
        history: Vec::new(),
        message_count: session.message_count,
        next_before: span.filter(is_full).map(|span| span.first.0),
    };
    let empty = serde_json::to_string(&empty).map_err(|error| Problem::unavailable("history", &error))?;
    let (head, tail) = json::split_at_list(&empty, "history");
    let pages = HistoryPages::new(&site.store, session, span.as_ref(), detail);
    let mut body = HistoryBody { pages, detail, list_begun: false, tail: tail.to_owned() };
    let first = body.next(head.as_bytes().to_vec()).await?.unwrap_or_default();
    let id = session.session_id;
    let body = if body.tail.is_empty() {
        Body::from(first)
    } else {
        let rest = stream::try_unfold(body, async |mut body| {
            Ok(body.next(Vec::new()).await?.map(|chunk| (chunk, body)))
        });
        let rest = rest.inspect_err(move |error: &ReadError| {
            // The status is sent already: the connection is cut, so that the client sees an incomplete document.
            error!(%error, op = "get_history", session_id = %id, "history aborted");
        });
        Body::from_stream(stream::iter([Ok(first)]).chain(rest))
    };
    let json = "application/json".to_owned();
    Ok(([(header::ETAG, etag(session)), (header::CONTENT_TYPE, json)], body))
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        match error {
            ReadError::Replaced => {
                Self::new(StatusCode::CONFLICT, "The history was replaced meanwhile. Please read it again.")
            }
            ReadError::Store(error) => error.into(),
            ReadError::Json(error) => Self::unavailable("history", &error),
        }
    }
}
