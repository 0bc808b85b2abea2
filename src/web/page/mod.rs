//! The page: a conversation, the list of conversations and a form. All HTML is rendered here; the scripts only insert
//! it.

mod calls;
mod entries;
mod error;
mod files;
mod form;
mod found;
mod mosaic;
mod sidebar;
mod steps;
mod window;

use super::{Site, assets};
use crate::{
    access::{PageAccess, Viewer},
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
use entries::{PageEntry, QuotedMessage, build_entries, quoted_message};
use error::PageError;
use files::{EditStrip, build_strip};
use serde::Deserialize;
use sidebar::{SidebarItem, list_items};
use std::sync::Arc;
use window::{MessageWindow, WindowRange};

/// Conversations per page of the sidebar.
const LIST_PAGE_SIZE: i64 = 50;

pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/", get(home))
        .route("/new", get(new_conversation).post(form::post_first_message))
        .route("/c/{id}", get(conversation).post(form::post_message))
        .route("/c/{id}/entries", get(some_entries))
        .route("/c/{id}/strip/{attachment}", get(edit_strip))
        .route("/list", get(list))
        .route("/static/{version}/{*path}", get(assets::serve))
}

#[derive(Template)]
#[template(path = "page.html")]
struct ConversationPage {
    assets: String,
    scripts: Vec<&'static str>,
    title: String,
    sidebar_open: bool,
    /// The user id of the viewer, if the page has logins.
    login: Option<String>,
    items: Vec<SidebarItem>,
    q: String,
    /// The offset of the next page of the list.
    more: Option<i64>,
    here: Option<CurrentConversation>,
    /// The path of this conversation.
    base: String,
    entries: Vec<PageEntry>,
    older: Option<i64>,
    newer: bool,
    last: i64,
    reply: Option<QuotedMessage>,
}

struct CurrentConversation {
    id: SessionId,
    title: String,
    telegram: bool,
    may_delete: bool,
}

#[derive(Template)]
#[template(path = "some_entries.html")]
struct EntriesFragment {
    base: String,
    entries: Vec<PageEntry>,
    older: Option<i64>,
    cut: bool,
}

#[derive(Template)]
#[template(path = "strip.html")]
struct StripFragment {
    base: String,
    strip: EditStrip,
}

#[derive(Template)]
#[template(path = "list.html")]
struct ListFragment {
    items: Vec<SidebarItem>,
    q: String,
    more: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
struct ListQuery {
    #[serde(default)]
    q: String,
    #[serde(default)]
    offset: i64,
    current: Option<SessionId>,
}

/// The position in a conversation, and the message to reply to.
#[derive(Debug, Default, Deserialize)]
struct ConversationQuery {
    before: Option<i64>,
    from: Option<i64>,
    reply: Option<i64>,
    file: Option<AttachmentId>,
}

fn render(page: &impl Template) -> Result<Response, PageError> {
    let html = page.render().map_err(|error| PageError::internal(&error))?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Html(html)).into_response())
}

/// Redirects to the newest conversation. A search shows its results beside an empty page.
async fn home(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    headers: HeaderMap,
    Query(query): Query<ListQuery>,
) -> Result<Response, PageError> {
    if query.q.trim().is_empty() && query.offset == 0 {
        let newest = site.store.sessions(&viewer.visible_sessions(), 1, 0).await?;
        if let Some(session) = newest.sessions.first() {
            return Ok(Redirect::to(&format!("/c/{}", session.session_id)).into_response());
        }
    }
    render(&empty_page(&site, &viewer, &headers, &query).await?)
}

async fn new_conversation(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    headers: HeaderMap,
) -> Result<Response, PageError> {
    render(&empty_page(&site, &viewer, &headers, &ListQuery::default()).await?)
}

/// A page without a conversation. Posting the first message creates one.
async fn empty_page(
    site: &Site,
    viewer: &Viewer,
    headers: &HeaderMap,
    query: &ListQuery,
) -> Result<ConversationPage, PageError> {
    let ListFragment { items, q, more } = load_list(site, viewer, query).await?;
    Ok(ConversationPage {
        assets: assets::folder(),
        scripts: assets::scripts(),
        title: "New conversation".into(),
        sidebar_open: !has_cookie(headers, "sidebar=closed"),
        login: matches!(site.logins.page_access(), PageAccess::Login(_)).then(|| viewer.user.to_string()),
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
    Query(query): Query<ConversationQuery>,
) -> Result<Response, PageError> {
    let session = find_session(&site, &viewer, &id).await?;
    let range = query.before.map_or(WindowRange::Newest, |id| WindowRange::Before(MessageId(id)));
    let mut window = MessageWindow::load(&site.store, &session, range).await?;
    if let Some(id) = query.reply {
        window.load_quoted(&site.store, &session, id).await?;
    }
    let list_query = ListQuery { current: Some(session.session_id), ..ListQuery::default() };
    let title = sidebar::title(&session);
    let here = CurrentConversation {
        id: session.session_id,
        title: title.clone(),
        telegram: session.conversation.interface == InterfaceType::Telegram,
        may_delete: viewer.may_change_all(&session.conversation),
    };
    render(&ConversationPage {
        title,
        here: Some(here),
        base: base(&session),
        entries: build_entries(&window, &viewer),
        older: window.older(),
        newer: range != WindowRange::Newest,
        last: window.last(),
        reply: query.reply.and_then(|id| quoted_message(&window, id, query.file)),
        ..empty_page(&site, &viewer, &headers, &list_query).await?
    })
}

fn base(session: &Session) -> String {
    format!("/c/{}", session.session_id)
}

/// A session that the viewer may see. Any other is answered like a missing one.
async fn find_session(site: &Site, viewer: &Viewer, id: &str) -> Result<Session, PageError> {
    let id: SessionId = id.parse().map_err(|_| PageError::not_found())?;
    let found = viewer.session(&site.store, id).await?;
    found.map(|(session, _)| session).ok_or_else(PageError::not_found)
}

async fn some_entries(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Path(id): Path<String>,
    Query(query): Query<ConversationQuery>,
) -> Result<Response, PageError> {
    let session = find_session(&site, &viewer, &id).await?;
    let range = match (query.from, query.before) {
        (Some(id), _) => WindowRange::From(MessageId(id)),
        (None, Some(id)) => WindowRange::Before(MessageId(id)),
        (None, None) => WindowRange::Newest,
    };
    let window = MessageWindow::load(&site.store, &session, range).await?;
    render(&EntriesFragment {
        base: base(&session),
        entries: build_entries(&window, &viewer),
        older: window.older(),
        cut: window.is_cut(),
    })
}

async fn edit_strip(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Path((id, attachment)): Path<(String, String)>,
) -> Result<Response, PageError> {
    let session = find_session(&site, &viewer, &id).await?;
    let attachment: AttachmentId = attachment.parse().map_err(|_| PageError::not_found())?;
    let window = MessageWindow::load_for_strip(&site.store, &session, attachment).await?;
    match build_strip(&window, attachment) {
        Some(strip) => render(&StripFragment { base: base(&session), strip }),
        None => Ok(Html("").into_response()),
    }
}

async fn list(
    State(site): State<Arc<Site>>,
    viewer: Viewer,
    Query(query): Query<ListQuery>,
) -> Result<Response, PageError> {
    render(&load_list(&site, &viewer, &query).await?)
}

async fn load_list(site: &Site, viewer: &Viewer, query: &ListQuery) -> Result<ListFragment, PageError> {
    let q = query.q.trim().to_owned();
    let words = SessionFilter::words_of(&q);
    // A search without words, only punctuation, finds nothing.
    if !q.is_empty() && words.is_empty() {
        return Ok(ListFragment { items: Vec::new(), q, more: None });
    }
    let filter = SessionFilter { words, ..viewer.visible_sessions() };
    let offset = query.offset.max(0);
    let found = site.store.sessions(&filter, LIST_PAGE_SIZE, offset).await?;
    let next = offset.saturating_add(LIST_PAGE_SIZE);
    let more = (next < found.total).then_some(next);
    Ok(ListFragment { items: list_items(&found.sessions, query.current, viewer), q, more })
}
