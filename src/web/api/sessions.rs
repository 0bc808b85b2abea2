//! Sessions: list, create, rename, delete.

use crate::{
    access::{Scope, Viewer},
    domain::{self, SessionId, UserId},
    store::{SessionFilter, Store},
    transfer::json::SessionJson,
    web::{
        Site,
        extract::{Object, Path, Query},
        messages,
        problem::{BodyProblems, CommonProblems, Problem},
        run_to_end::run_to_end,
    },
};
use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tracing::error;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

const MAX_TITLE_CHARS: usize = 200;
const MAX_SEARCH_BYTES: usize = 500;

/// The session with this id, if the viewer may see it.
pub async fn find_session(
    viewer: &Viewer,
    store: &Store,
    id: Uuid,
) -> Result<(domain::Session, Scope), Problem> {
    viewer.session(store, SessionId(id)).await?.ok_or_else(|| Problem::not_found("session"))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SessionsQuery {
    /// Only sessions that this person started.
    user_id: Option<String>,
    #[serde(default = "default_limit")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: i64,
    #[serde(default)]
    #[param(minimum = 0, default = 0)]
    offset: i64,
    /// Only sessions with a message that has this tag.
    tag: Option<String>,
    /// Only sessions whose messages contain all of these words.
    q: Option<String>,
    /// Only sessions with a message that refers to this.
    #[serde(rename = "ref")]
    reference: Option<String>,
}

fn default_limit() -> i64 {
    50
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Listed)]
pub struct SessionList {
    success: bool,
    sessions: Vec<SessionJson>,
    /// The number of sessions on all pages.
    total_count: i64,
}

#[derive(Serialize, ToSchema)]
#[schema(as = One)]
pub struct SessionResult {
    success: bool,
    session: SessionJson,
}

impl SessionResult {
    pub fn of(session: domain::Session) -> axum::Json<Self> {
        axum::Json(Self { success: true, session: session.into() })
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = Done)]
pub struct Confirmation {
    success: bool,
    message: &'static str,
}

impl Confirmation {
    pub fn of(message: &'static str) -> axum::Json<Self> {
        axum::Json(Self { success: true, message })
    }
}

/// The sessions you may see, newest activity first.
#[utoipa::path(get, path = "/sessions", operation_id = "list_sessions", tag = "sessions", params(SessionsQuery),
    responses((status = 200, body = SessionList), CommonProblems))]
pub async fn list(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Query(query): Query<SessionsQuery>,
) -> Result<axum::Json<SessionList>, Problem> {
    if !(1..=100).contains(&query.limit) {
        return Err(Problem::bad("limit must be between 1 and 100."));
    }
    if query.offset < 0 {
        return Err(Problem::bad("offset must not be negative."));
    }
    if query.q.as_ref().is_some_and(|q| q.len() > MAX_SEARCH_BYTES) {
        return Err(Problem::bad("q is too long; a few words will do."));
    }
    let words = query.q.as_deref().map(SessionFilter::words_of);
    if words.as_ref().is_some_and(Vec::is_empty) {
        // The search has no words, only punctuation: nothing can match.
        return Ok(axum::Json(SessionList { success: true, sessions: Vec::new(), total_count: 0 }));
    }
    let filter = SessionFilter {
        user: query.user_id.map(UserId),
        tag: query.tag.map(|tag| tag.trim().to_lowercase()),
        reference: query.reference,
        words: words.unwrap_or_default(),
        ..viewer.visible_sessions()
    };
    let list = site.store.sessions(&filter, query.limit, query.offset).await?;
    let sessions = list.sessions.into_iter().map(SessionJson::from).collect();
    Ok(axum::Json(SessionList { success: true, sessions, total_count: list.total }))
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Beginning)]
pub struct NewSession {
    /// Without a title, the session is named after its first message.
    #[serde(default)]
    #[schema(max_length = 200)]
    title: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Name)]
pub struct NewTitle {
    #[schema(min_length = 1, max_length = 200, pattern = r"\S")]
    title: String,
}

/// Trims and checks a title.
fn valid_title(given: &str) -> Result<String, Problem> {
    let title = given.trim();
    match title.chars().count() {
        1..=MAX_TITLE_CHARS => Ok(title.to_owned()),
        0 => Err(Problem::invalid("title must not be blank.")),
        _ => Err(Problem::invalid(format!("title must have at most {MAX_TITLE_CHARS} characters."))),
    }
}

/// Creates a session.
#[utoipa::path(post, path = "/sessions", operation_id = "begin_session", tag = "sessions", request_body = NewSession,
    responses((status = 201, body = SessionResult), CommonProblems, BodyProblems))]
pub async fn create(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Object(new): Object<NewSession>,
) -> Result<(StatusCode, axum::Json<SessionResult>), Problem> {
    let title = new.title.filter(|title| !title.trim().is_empty());
    let title = title.as_deref().map(valid_title).transpose()?;
    let session = site.store.create_web_session(&viewer.user, title.as_deref()).await?;
    Ok((StatusCode::CREATED, SessionResult::of(session)))
}

#[utoipa::path(get, path = "/sessions/{session_id}", operation_id = "get_session", tag = "sessions", params(("session_id" = Uuid, Path)),
    responses((status = 200, body = SessionResult), CommonProblems))]
pub async fn show(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<SessionResult>, Problem> {
    Ok(SessionResult::of(find_session(&viewer, &site.store, id).await?.0))
}

/// The same as without `/metadata`.
#[utoipa::path(get, path = "/sessions/{session_id}/metadata", operation_id = "get_session_metadata", tag = "sessions", params(("session_id" = Uuid, Path)),
    responses((status = 200, body = SessionResult), CommonProblems))]
pub async fn metadata(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<SessionResult>, Problem> {
    Ok(SessionResult::of(find_session(&viewer, &site.store, id).await?.0))
}

/// Changes the title of a session.
#[utoipa::path(put, path = "/sessions/{session_id}", operation_id = "rename_session", tag = "sessions", params(("session_id" = Uuid, Path)),
    request_body = NewTitle, responses((status = 200, body = SessionResult), CommonProblems, BodyProblems))]
pub async fn rename(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Object(new): Object<NewTitle>,
) -> Result<axum::Json<SessionResult>, Problem> {
    let (session, _) = find_session(&viewer, &site.store, id).await?;
    let title = valid_title(&new.title)?;
    run_to_end(async move {
        site.store.rename_session(session.session_id, &title).await?;
        site.turns.changed(&session.conversation);
        Ok(SessionResult::of(find_session(&viewer, &site.store, id).await?.0))
    })
    .await
}

/// Deletes orphaned blobs. On failure they stay marked and are deleted by the next upkeep.
pub async fn sweep(site: &Site) {
    if let Err(error) = site.renderer.sweep().await {
        error!(%error, op = "sweep", "orphaned blobs not deleted; retrying with the next upkeep");
    }
}

/// Deletes a session: its messages, tool calls and every file that no other session uses. In a group: admins only.
#[utoipa::path(delete, path = "/sessions/{session_id}", operation_id = "delete_session", tag = "sessions", params(("session_id" = Uuid, Path)),
    responses((status = 200, body = Confirmation), CommonProblems))]
pub async fn delete(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Confirmation>, Problem> {
    let (session, _) = find_session(&viewer, &site.store, id).await?;
    if !viewer.may_change_all(&session.conversation) {
        return Err(Problem::forbidden(messages::ONLY_ADMINS_DELETE));
    }
    run_to_end(async move {
        let Some(deleted) = site.store.delete_session(session.session_id).await? else {
            return Err(Problem::not_found("session"));
        };
        site.turns.stop(&deleted.turns, &deleted.conversation);
        site.turns.changed(&deleted.conversation);
        sweep(&site).await;
        Ok(Confirmation::of("Session deleted"))
    })
    .await
}
