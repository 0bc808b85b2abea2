//! Sessions: list, begin, rename, delete.

use crate::{
    access::{Scope, Viewer},
    domain::{self, SessionId, UserId},
    store::{SessionFilter, Store},
    transfer::json::SessionJson,
    web::{
        Site,
        extract::{Object, Path, Query},
        problem::{Problem, Reading, Usual},
    },
};
use axum::{extract::State, http::StatusCode};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use tracing::error;
use utoipa::{IntoParams, ToSchema};
use uuid::Uuid;

const LONGEST_TITLE: usize = 200;
const LONGEST_SEARCH: usize = 500;

/// The session behind an id, if it is this viewer's to see.
pub async fn entered(viewer: &Viewer, store: &Store, id: Uuid) -> Result<(domain::Session, Scope), Problem> {
    viewer.session(store, SessionId(id)).await?.ok_or_else(|| Problem::not_found("session"))
}

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct Wanted {
    /// Only sessions this person began.
    user_id: Option<String>,
    #[serde(default = "usual_limit")]
    #[param(minimum = 1, maximum = 100, default = 50)]
    limit: i64,
    #[serde(default)]
    #[param(minimum = 0, default = 0)]
    offset: i64,
    /// Only sessions with a message that has this tag.
    tag: Option<String>,
    /// Only sessions in which all of these words were said.
    q: Option<String>,
    /// Only sessions with a message that refers to this.
    #[serde(rename = "ref")]
    reference: Option<String>,
}

fn usual_limit() -> i64 {
    50
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Listed {
    success: bool,
    sessions: Vec<SessionJson>,
    /// How many there are in all.
    total_count: i64,
}

#[derive(Serialize, ToSchema)]
pub struct One {
    success: bool,
    session: SessionJson,
}

impl One {
    pub fn of(session: domain::Session) -> axum::Json<Self> {
        axum::Json(Self { success: true, session: session.into() })
    }
}

#[derive(Serialize, ToSchema)]
pub struct Done {
    success: bool,
    message: &'static str,
}

impl Done {
    pub fn saying(message: &'static str) -> axum::Json<Self> {
        axum::Json(Self { success: true, message })
    }
}

/// The sessions you see, newest activity first.
#[utoipa::path(get, path = "/sessions", operation_id = "list_sessions", tag = "sessions", params(Wanted),
    responses((status = 200, body = Listed), Usual))]
pub async fn list(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Query(wanted): Query<Wanted>,
) -> Result<axum::Json<Listed>, Problem> {
    if !(1..=100).contains(&wanted.limit) {
        return Err(Problem::bad("limit must be between 1 and 100."));
    }
    if wanted.offset < 0 {
        return Err(Problem::bad("offset must not be negative."));
    }
    if wanted.q.as_ref().is_some_and(|q| q.len() > LONGEST_SEARCH) {
        return Err(Problem::bad("q is too long; a few words will do."));
    }
    let words = wanted.q.as_deref().map(SessionFilter::words_of);
    if words.as_ref().is_some_and(Vec::is_empty) {
        // Nothing but signs: no session has them.
        return Ok(axum::Json(Listed { success: true, sessions: Vec::new(), total_count: 0 }));
    }
    let filter = SessionFilter {
        user: wanted.user_id.map(UserId),
        tag: wanted.tag.map(|tag| tag.trim().to_lowercase()),
        reference: wanted.reference,
        words: words.unwrap_or_default(),
        ..viewer.sees()
    };
    let list = site.store.sessions(&filter, wanted.limit, wanted.offset).await?;
    let sessions = list.sessions.into_iter().map(SessionJson::from).collect();
    Ok(axum::Json(Listed { success: true, sessions, total_count: list.total }))
}

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Beginning {
    /// Without one, it is named after what is said first.
    #[serde(default)]
    #[schema(max_length = 200)]
    title: Option<String>,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Name {
    #[schema(min_length = 1, max_length = 200, pattern = r"\S")]
    title: String,
}

/// A title as it is kept.
fn title(given: &str) -> Result<String, Problem> {
    let title = given.trim();
    match title.chars().count() {
        1..=LONGEST_TITLE => Ok(title.to_owned()),
        0 => Err(Problem::invalid("title must not be blank.")),
        _ => Err(Problem::invalid(format!("title must have at most {LONGEST_TITLE} characters."))),
    }
}

/// Begins a session.
#[utoipa::path(post, path = "/sessions", operation_id = "begin_session", tag = "sessions", request_body = Beginning,
    responses((status = 201, body = One), Usual, Reading))]
pub async fn create(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Object(beginning): Object<Beginning>,
) -> Result<(StatusCode, axum::Json<One>), Problem> {
    let given = beginning.title.filter(|given| !given.trim().is_empty());
    let title = given.as_deref().map(title).transpose()?.unwrap_or_default();
    let session = site.store.open_session(&viewer.user, &title).await?;
    Ok((StatusCode::CREATED, One::of(session)))
}

#[utoipa::path(get, path = "/sessions/{session_id}", operation_id = "get_session", tag = "sessions", params(("session_id" = Uuid, Path)),
    responses((status = 200, body = One), Usual))]
pub async fn show(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<One>, Problem> {
    Ok(One::of(entered(&viewer, &site.store, id).await?.0))
}

/// The same as without `/metadata`.
#[utoipa::path(get, path = "/sessions/{session_id}/metadata", operation_id = "get_session_metadata", tag = "sessions", params(("session_id" = Uuid, Path)),
    responses((status = 200, body = One), Usual))]
pub async fn metadata(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<One>, Problem> {
    Ok(One::of(entered(&viewer, &site.store, id).await?.0))
}

/// Gives a session another title.
#[utoipa::path(put, path = "/sessions/{session_id}", operation_id = "rename_session", tag = "sessions", params(("session_id" = Uuid, Path)),
    request_body = Name, responses((status = 200, body = One), Usual, Reading))]
pub async fn rename(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Object(name): Object<Name>,
) -> Result<axum::Json<One>, Problem> {
    let (session, _) = entered(&viewer, &site.store, id).await?;
    site.store.rename_session(session.session_id, &title(&name.title)?).await?;
    site.turns.changed(&session.conversation);
    Ok(One::of(entered(&viewer, &site.store, id).await?.0))
}

/// Removes the bytes of what was deleted. If that fails, they are noted, and go with the next upkeep.
pub async fn sweep(site: &Site) {
    if let Err(error) = site.renderer.sweep().await {
        error!(%error, "deleted files could not be removed yet");
    }
}

/// Deletes a session: its messages, tool calls and every file that no other session uses.
#[utoipa::path(delete, path = "/sessions/{session_id}", operation_id = "delete_session", tag = "sessions", params(("session_id" = Uuid, Path)),
    responses((status = 200, body = Done), Usual))]
pub async fn delete(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Done>, Problem> {
    let (session, _) = entered(&viewer, &site.store, id).await?;
    let Some(deleted) = site.store.delete_session(session.session_id).await? else {
        return Err(Problem::not_found("session"));
    };
    site.turns.stop(&deleted.turns, &deleted.conversation);
    site.turns.changed(&deleted.conversation);
    sweep(&site).await;
    Ok(Done::saying("Session deleted"))
}
