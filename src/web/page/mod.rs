//! The page: a conversation, the list of all, and a form to go on. Rendered here, all of it; the scripts only put what
//! is rendered here where it belongs.

mod assets;
mod entries;
mod files;
mod mosaic;
mod oops;
mod sidebar;
mod steps;
mod window;

pub use assets::folder;
pub use oops::Oops;

use super::{Site, post};
use crate::{
    access::{Viewer, WayIn},
    domain::{AttachmentId, InterfaceType, MessageId, Session, SessionId},
    store::SessionFilter,
};
use askama::Template;
use axum::{
    Router,
    extract::{Path, Query, State},
    http::{HeaderMap, header},
    response::{Html, IntoResponse, Redirect, Response},
    routing::get,
};
use entries::{Entry, Pointed, entries, pointed};
use files::{Strip, strip};
use serde::Deserialize;
use sidebar::{Item, items};
use std::sync::Arc;
use window::{Part, Window};

/// As many as anybody reads through; the rest comes when asked for.
const LISTED: i64 = 50;

pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/", get(home))
        .route("/new", get(welcome).post(post::first_message))
        .route("/c/{id}", get(conversation).post(post::message))
        .route("/c/{id}/entries", get(some_entries))
        .route("/c/{id}/strip/{attachment}", get(edits))
        .route("/list", get(list))
        .route("/static/{version}/{*path}", get(assets::serve))
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page {
    assets: String,
    scripts: Vec<&'static str>,
    title: String,
    sidebar_open: bool,
    /// Who is logged in, where people log in.
    login: Option<String>,
    items: Vec<Item>,
    q: String,
    /// Where the rest of the list begins.
    more: Option<i64>,
    here: Option<Here>,
    /// Where this conversation's forms and links lead.
    base: String,
    entries: Vec<Entry>,
    older: Option<i64>,
    newer: bool,
    last: i64,
    reply: Option<Pointed>,
}

struct Here {
    id: SessionId,
    title: String,
    telegram: bool,
}

#[derive(Template)]
#[template(path = "some_entries.html")]
struct SomeEntries {
    base: String,
    entries: Vec<Entry>,
    older: Option<i64>,
    cut: bool,
}

#[derive(Template)]
#[template(path = "strip.html")]
struct Edits {
    base: String,
    strip: Strip,
}

#[derive(Template)]
#[template(path = "list.html")]
struct List {
    items: Vec<Item>,
    q: String,
    more: Option<i64>,
}

/// What the list is asked for.
#[derive(Debug, Default, Deserialize)]
struct Wanted {
    #[serde(default)]
    q: String,
    #[serde(default)]
    offset: i64,
    current: Option<SessionId>,
}

/// Where in a conversation, and what to reply to.
#[derive(Debug, Default, Deserialize)]
struct Pointing {
    before: Option<i64>,
    from: Option<i64>,
    reply: Option<i64>,
    file: Option<AttachmentId>,
}

fn rendered(page: &impl Template) -> Result<Response, Oops> {
    let html = page.render().map_err(|error| Oops::ours(&error))?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Html(html)).into_response())
}

/// The conversation that was last talked in; a search shows what it finds beside a new one.
async fn home(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    headers: HeaderMap,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    if wanted.q.trim().is_empty() && wanted.offset == 0 {
        let newest = site.store.sessions(&viewer.sees(), 1, 0).await?;
        if let Some(session) = newest.sessions.first() {
            return Ok(Redirect::to(&format!("/c/{}", session.session_id)).into_response());
        }
    }
    rendered(&blank(&site, &viewer, &headers, &wanted).await?)
}

async fn welcome(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    headers: HeaderMap,
) -> Result<Response, Oops> {
    rendered(&blank(&site, &viewer, &headers, &Wanted::default()).await?)
}

/// A page without a conversation: the first message begins one.
async fn blank(site: &Site, viewer: &Viewer, headers: &HeaderMap, wanted: &Wanted) -> Result<Page, Oops> {
    let List { items, q, more } = listed(site, viewer, wanted).await?;
    Ok(Page {
        assets: assets::folder(),
        scripts: assets::scripts(),
        title: "New conversation".into(),
        sidebar_open: !has_cookie(headers, "sidebar=closed"),
        login: matches!(site.door.way(), WayIn::Login(_)).then(|| viewer.user.to_string()),
        items,
        q,
        more,
        here: None,
        base: "/new".into(),
        entries: Vec::new(),
        older: None,
        newer: false,
        last: 0,
        reply: None,
    })
}

fn has_cookie(headers: &HeaderMap, pair: &str) -> bool {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|value| value.split(';')).any(|cookie| cookie.trim() == pair)
}

async fn conversation(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    headers: HeaderMap,
    Path(id): Path<String>,
    Query(pointing): Query<Pointing>,
) -> Result<Response, Oops> {
    let session = visible(&site, &viewer, &id).await?;
    let part = pointing.before.map_or(Part::Newest, |id| Part::Before(MessageId(id)));
    let mut window = Window::open(&site.store, &session, part).await?;
    if let Some(id) = pointing.reply {
        window.quote(&site.store, &session, id).await?;
    }
    let wanted = Wanted { current: Some(session.session_id), ..Wanted::default() };
    let title = sidebar::title(&session);
    let here = Here {
        id: session.session_id,
        title: title.clone(),
        telegram: session.conversation.interface == InterfaceType::Telegram,
    };
    rendered(&Page {
        title,
        here: Some(here),
        base: base(&session),
        entries: entries(&window, &viewer),
        older: window.older(),
        newer: part != Part::Newest,
        last: window.last(),
        reply: pointing.reply.and_then(|id| pointed(&window, id, pointing.file)),
        ..blank(&site, &viewer, &headers, &wanted).await?
    })
}

fn base(session: &Session) -> String {
    format!("/c/{}", session.session_id)
}

/// A session this person may see; any other looks the same as none.
async fn visible(site: &Site, viewer: &Viewer, id: &str) -> Result<Session, Oops> {
    let id: SessionId = id.parse().map_err(|_| Oops::not_found())?;
    let found = viewer.session(&site.store, id).await?;
    found.map(|(session, _)| session).ok_or_else(Oops::not_found)
}

async fn some_entries(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Path(id): Path<String>,
    Query(pointing): Query<Pointing>,
) -> Result<Response, Oops> {
    let session = visible(&site, &viewer, &id).await?;
    let part = match (pointing.from, pointing.before) {
        (Some(id), _) => Part::From(MessageId(id)),
        (None, Some(id)) => Part::Before(MessageId(id)),
        (None, None) => Part::Newest,
    };
    let window = Window::open(&site.store, &session, part).await?;
    rendered(&SomeEntries {
        base: base(&session),
        entries: entries(&window, &viewer),
        older: window.older(),
        cut: window.is_cut(),
    })
}

async fn edits(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Path((id, attachment)): Path<(String, String)>,
) -> Result<Response, Oops> {
    let session = visible(&site, &viewer, &id).await?;
    let attachment: AttachmentId = attachment.parse().map_err(|_| Oops::not_found())?;
    let window = Window::around(&site.store, &session, attachment).await?;
    match strip(&window, attachment) {
        Some(strip) => rendered(&Edits { base: base(&session), strip }),
        None => Ok(Html("").into_response()),
    }
}

async fn list(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Oops> {
    rendered(&listed(&site, &viewer, &wanted).await?)
}

async fn listed(site: &Site, viewer: &Viewer, wanted: &Wanted) -> Result<List, Oops> {
    let q = wanted.q.trim().to_owned();
    let words = SessionFilter::words_of(&q);
    // Signs alone find nothing, rather than everything.
    if !q.is_empty() && words.is_empty() {
        return Ok(List { items: Vec::new(), q, more: None });
    }
    let filter = SessionFilter { words, ..viewer.sees() };
    let offset = wanted.offset.max(0);
    let found = site.store.sessions(&filter, LISTED, offset).await?;
    let next = offset.saturating_add(LISTED);
    let more = (next < found.total).then_some(next);
    Ok(List { items: items(&found.sessions, wanted.current), q, more })
}
