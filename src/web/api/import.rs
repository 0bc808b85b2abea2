//! A whole history, imported or put in place of another.

use super::{
    annotations::{NewRef, seen, stale, state_after},
    attachments::only_file,
    history::{self, History},
    sessions::{One, entered, sweep},
};
use crate::{
    access::Viewer,
    transfer::import::{ImportError, Importer},
    web::{
        Site,
        extract::{Json, Path},
        problem::{Changing, Problem, Reading, Usual, Wrong},
    },
};
use axum::{
    extract::{Multipart, State, multipart::MultipartRejection},
    http::{HeaderMap, HeaderName, StatusCode},
};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

/// A list of entries; or an object with one under `history`, as an export and GET give it.
// Read by hand, so that whatever is wrong is named; this is how it is described.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)]
pub enum NewHistory {
    Entries(Vec<NewEntry>),
    Export(Exported),
}

#[derive(Deserialize, ToSchema)]
#[allow(dead_code)]
pub struct Exported {
    #[schema(max_items = 10000)]
    history: Vec<NewEntry>,
}

/// One entry, by the names GET gives. Left-out fields of an entry whose `internalId` is a row that stays are left as
/// they are; null clears.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code)]
pub struct NewEntry {
    /// `user`, `assistant`, `tool_call` or `tool`.
    role: NewRole,
    /// What was said; of a call, JSON with its `name` and `arguments`. May be called `msg` instead.
    #[schema(max_length = 200000)]
    content: Option<String>,
    #[schema(max_length = 200000)]
    msg: Option<String>,
    /// RFC 3339; now, if left out.
    timestamp: Option<chrono::DateTime<chrono::Utc>>,
    /// A row of this session that stays, if it comes first and in order; else only a name for `replyTo` to use.
    #[schema(minimum = 0)]
    internal_id: Option<i64>,
    /// Made if left out; made anew if it is a turn of another session.
    turn_id: Option<Uuid>,
    #[serde(rename = "agent_id")]
    agent_id: Option<String>,
    #[serde(rename = "tool_call_id")]
    tool_call_id: Option<String>,
    #[serde(rename = "tool_name")]
    tool_name: Option<String>,
    /// Ids, or attachments as GET gives them: of this conversation, or of another you see.
    #[schema(value_type = Option<Vec<Value>>, max_items = 100)]
    attachments: Option<Vec<Value>>,
    #[schema(max_items = 100)]
    refs: Option<Vec<NewRef>>,
    #[schema(max_items = 50)]
    tags: Option<Vec<String>>,
    #[schema(value_type = Option<Object>)]
    reply_to: Option<Value>,
    album_id: Option<String>,
    note: Option<String>,
    failed: Option<bool>,
    #[schema(minimum = 0)]
    duration_ms: Option<i64>,
    #[schema(value_type = Option<Object>)]
    usage: Option<Value>,
}

#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NewRole {
    User,
    Assistant,
    ToolCall,
    Tool,
}

/// Puts a history in place of the one that is there: all of it or nothing. Rows that stay keep their ids and what people
/// see of them elsewhere; files that nobody uses any more are deleted.
#[utoipa::path(put, path = "/sessions/{session_id}/history", operation_id = "replace_history", tag = "history",
    params(("session_id" = Uuid, Path),
        ("If-Match" = String, Header, description = "The ETag of the history as you read it")),
    request_body = NewHistory,
    responses((status = 200, body = History, headers(("ETag" = String, description = "For the next change"))),
        Usual, Reading, Changing))]
pub async fn replace(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<([(HeaderName, String); 1], axum::Json<History>), Problem> {
    let (session, scope) = entered(&viewer, &site.store, id).await?;
    seen(&headers, &session)?;
    site.importer(&viewer).replace_history(&session, &scope, &body).await?;
    site.turns.changed(&session.conversation);
    sweep(&site).await;
    let (now, _) = entered(&viewer, &site.store, id).await?;
    let (_, history) = history::read(&site, &now, &history::Wanted::all()).await?;
    Ok((state_after(&session), history))
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Invalid(errors) => Self::all_wrong(errors.into_iter().map(Wrong::from).collect()),
            ImportError::Unreadable(detail) => Self::invalid(detail),
            ImportError::Missing => Self::not_found("session"),
            ImportError::Stale => stale(),
            ImportError::Busy => {
                let detail = "A turn of this session waits or runs. Cancel it, or try again when it is over.";
                Self::new(StatusCode::CONFLICT, detail)
            }
            ImportError::Store(error) => error.into(),
            ImportError::Attachment(error) => error.into(),
            ImportError::Render(error) => error.into(),
            ImportError::Json(error) => Self::ours("an import", &error),
        }
    }
}

impl Site {
    fn importer<'a>(&'a self, viewer: &'a Viewer) -> Importer<'a> {
        Importer { renderer: &self.renderer, viewer, exclusive_tags: &self.exclusive_tags }
    }
}

#[derive(ToSchema)]
#[allow(dead_code)]
pub struct Archive {
    /// What `export` gave: a zip with the files, or JSON whose files are still here.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// Makes a session of an export: the same conversation, with its files, under new ids.
#[utoipa::path(post, path = "/sessions/import", operation_id = "import_session", tag = "sessions",
    request_body(content = Archive, content_type = "multipart/form-data"),
    responses((status = 201, body = One), Usual, Reading))]
pub async fn import_session(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    form: Result<Multipart, MultipartRejection>,
) -> Result<(StatusCode, axum::Json<One>), Problem> {
    let file = only_file(form).await?;
    let session = site.importer(&viewer).import_session(file.bytes).await?;
    Ok((StatusCode::CREATED, One::of(session)))
}
