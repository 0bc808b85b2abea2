//! A session as server-sent events. Events of stored messages carry an id, so a client that reconnects gets what it
//! missed. The unfinished text of a running step is sent again from the start.

use super::{
    history::{etag, load_files},
    sessions::find_session,
};
use crate::{
    access::{Credential, Viewer},
    agent::{Progress, TurnEvent},
    domain::{self, Conversation, Message, MessageId, SessionId, TurnId, TurnState},
    store::{Detail, StoreError},
    transfer::json::{AttachmentJson, EntryRole, HistoryEntry, entries_of},
    web::{
        Site,
        auth::Identity,
        extract::{Path, Query},
        messages,
        problem::{CommonProblems, Problem},
    },
};
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{
        IntoResponse, Response,
        sse::{Event, KeepAlive, Sse},
    },
};
use chrono::Utc;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{convert::Infallible, sync::Arc, time::Duration};
use tokio::{
    sync::{broadcast, mpsc, watch},
    time::Instant,
};
use tracing::{Instrument as _, debug, error};
use utoipa::IntoParams;
use uuid::Uuid;

/// Other instances store messages and run turns, too: the store is polled this often.
const EVENT_POLL_INTERVAL: Duration = Duration::from_secs(2);
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// A stream ends after this time. The client reconnects and is authenticated again.
const MAX_STREAM_DURATION: Duration = Duration::from_secs(600);
/// Messages per read from the store.
const BATCH_SIZE: i64 = 200;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventsQuery {
    /// Like the header `Last-Event-ID`, for the first connection: start after this message.
    last_event_id: Option<i64>,
}

/// Streams what happens in a session. Events: `message`, `turn_started`, `text`, `doing`, `tool_started`, `tool_finished`,
/// `attachments`, `done`, `error`, `cancelled`, `changed` and `deleted`; see docs/api.md.
#[utoipa::path(get, path = "/sessions/{session_id}/events", operation_id = "watch_session", tag = "messages",
    params(("session_id" = Uuid, Path), EventsQuery,
        ("Last-Event-ID" = Option<String>, Header, description = "Start after this event")),
    responses((status = 200, content_type = "text/event-stream", body = String), CommonProblems))]
pub async fn watch(
    Identity { viewer, credential, .. }: Identity,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Query(query): Query<EventsQuery>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (session, _) = find_session(&viewer, &site.store, id).await?;
    let too_many = || Problem::new(StatusCode::TOO_MANY_REQUESTS, messages::TOO_MANY_STREAMS);
    let open = site.event_streams.start(&viewer.user).ok_or_else(too_many)?;
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let last = match header.or(query.last_event_id) {
        Some(id) => MessageId(id),
        None => site.store.last_message_id(session.session_id).await?.unwrap_or(MessageId(0)),
    };
    let (out, mut events) = mpsc::channel(64);
    let session_id = session.session_id;
    let watch = async move {
        let mut watcher = SessionWatcher::new(site, (viewer, credential), session, last, out);
        match watcher.run().await {
            Ok(()) | Err(StreamEnd::ClientGone) => debug!(%session_id, "event stream ended"),
            Err(StreamEnd::Store(error)) => {
                error!(%error, op = "watch_session", %session_id, "store error; event stream ended");
            }
        }
    };
    tokio::spawn(watch.in_current_span());
    let stream = futures::stream::poll_fn(move |context| {
        // Counts until the response is dropped.
        let _ = &open;
        events.poll_recv(context)
    });
    let mut response =
        Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE_INTERVAL)).into_response();
    // Tells nginx not to buffer the stream.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Why a stream ended early.
enum StreamEnd {
    ClientGone,
    Store(StoreError),
}

impl From<StoreError> for StreamEnd {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A turn that runs in this instance, and the progress that was already sent.
struct FollowedTurn {
    turn: TurnId,
    progress: watch::Receiver<Progress>,
    sent: Progress,
}

struct SessionWatcher {
    site: Arc<Site>,
    viewer: Viewer,
    credential: Credential,
    session: SessionId,
    conversation: Conversation,
    last: MessageId,
    /// Title and revision as last sent.
    title: Option<String>,
    revision: i64,
    followed: Option<FollowedTurn>,
    out: mpsc::Sender<Result<Event, Infallible>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AttachmentsEvent<'a> {
    turn_id: Option<Uuid>,
    internal_id: i64,
    attachments: &'a [AttachmentJson],
}

impl SessionWatcher {
    fn new(
        site: Arc<Site>,
        (viewer, credential): (Viewer, Credential),
        session: domain::Session,
        last: MessageId,
        out: mpsc::Sender<Result<Event, Infallible>>,
    ) -> Self {
        Self {
            site,
            viewer,
            credential,
            session: session.session_id,
            conversation: session.conversation,
            last,
            title: session.title,
            revision: session.revision,
            followed: None,
            out,
        }
    }

    async fn run(&mut self) -> Result<(), StreamEnd> {
        // Subscribe before the first read, so that no event falls in between.
        let mut turns = self.site.turns.events();
        let mut changes = self.site.turns.changes();
        self.send(Event::default().retry(EVENT_POLL_INTERVAL).comment("watching")).await?;
        let end = Instant::now() + MAX_STREAM_DURATION;
        loop {
            if !self.send_stored().await? {
                return Ok(());
            }
            self.follow_running_turn().await?;
            self.wait(&mut turns, &mut changes).await?;
            if Instant::now() > end {
                return Ok(());
            }
        }
    }

    async fn send(&self, event: Event) -> Result<(), StreamEnd> {
        self.out.send(Ok(event)).await.map_err(|_| StreamEnd::ClientGone)
    }

    async fn send_json(
        &self,
        name: &str,
        id: Option<MessageId>,
        data: impl Serialize,
    ) -> Result<(), StreamEnd> {
        let event = Event::default().event(name);
        let event = match id {
            Some(id) => event.id(id.to_string()),
            None => event,
        };
        match event.json_data(data) {
            Ok(event) => self.send(event).await,
            Err(error) => {
                error!(%error, op = "send_event", name, session_id = %self.session, "event cannot be serialized; skipped");
                Ok(())
            }
        }
    }

    /// Sends what is new in the store. False if the viewer may not see the session any more, or it is deleted.
    async fn send_stored(&mut self) -> Result<bool, StreamEnd> {
        // Checked every time: the person may have logged out or left the group.
        if !self.site.logins.is_still_valid(&self.credential, Utc::now()).await? {
            return Ok(false);
        }
        let Some((session, _)) = self.viewer.session(&self.site.store, self.session).await? else {
            self.send_json("deleted", None, json!({})).await?;
            return Ok(false);
        };
        let mut rows = 0;
        loop {
            let new = self.site.store.messages_after(self.session, self.last, BATCH_SIZE).await?;
            let files = load_files(&self.site.store, &self.conversation, &new).await?;
            for message in &new {
                self.send_message(message, &files).await?;
                self.last = message.internal_id;
                rows += 1;
            }
            if (new.len() as i64) < BATCH_SIZE {
                break;
            }
        }
        // Each new row is one revision. More revisions than rows: an existing message changed.
        if session.title != self.title || session.revision - self.revision > rows {
            let (etag, title) = (etag(&session), session.title.as_deref().unwrap_or_default());
            self.send_json("changed", None, json!({ "etag": etag, "title": title })).await?;
        }
        (self.title, self.revision) = (session.title, session.revision);
        Ok(true)
    }

    async fn send_message(
        &mut self,
        message: &Message,
        files: &[domain::Attachment],
    ) -> Result<(), StreamEnd> {
        let id = Some(message.internal_id);
        let turn_id = message.turn_id.map(|id| id.0);
        let mut entries = entries_of(message, files, Detail::WithTools);
        let Some(entry) = entries.pop() else { return Ok(()) };
        // Only the last event of a row carries its id, so that a reconnect in between repeats the row.
        for earlier in entries {
            self.send_json("tool_started", None, earlier).await?;
        }
        let event =
            AttachmentsEvent { turn_id, internal_id: message.internal_id.0, attachments: &entry.attachments };
        let event = (!entry.attachments.is_empty()).then(|| json!(event));
        if let (EntryRole::Tool | EntryRole::Assistant, Some(event)) = (entry.role, event) {
            self.send_json("attachments", None, event).await?;
        }
        match entry.role {
            EntryRole::User => self.send_json("message", id, entry).await,
            EntryRole::ToolCall => self.send_json("tool_started", id, entry).await,
            EntryRole::Tool => self.send_json("tool_finished", id, entry).await,
            EntryRole::Assistant => self.send_answer(message, entry).await,
        }
    }

    async fn send_answer(&mut self, message: &Message, entry: HistoryEntry) -> Result<(), StreamEnd> {
        if self.followed.as_ref().is_some_and(|followed| Some(followed.turn) == message.turn_id) {
            self.followed = None;
        }
        let name = if message.error.is_some() { "error" } else { "done" };
        let data = json!({ "turnId": message.turn_id, "message": entry });
        self.send_json(name, Some(message.internal_id), data).await
    }

    /// Follows the turn of this session that runs in this instance, if there is one.
    async fn follow_running_turn(&mut self) -> Result<(), StreamEnd> {
        if self.followed.is_some() {
            return Ok(());
        }
        let Some(turn) = self.site.turns.running_in(&self.conversation) else { return Ok(()) };
        let Some(progress) = self.site.turns.follow(turn) else { return Ok(()) };
        let known = self.site.store.turn(turn).await?;
        let of_session =
            known.filter(|turn| turn.session_id == self.session && turn.state == TurnState::Running);
        if of_session.is_some() {
            self.send_json("turn_started", None, json!({ "turnId": turn })).await?;
            self.followed = Some(FollowedTurn { turn, progress, sent: Progress::default() });
            self.send_progress().await?;
        }
        Ok(())
    }

    async fn send_progress(&mut self) -> Result<(), StreamEnd> {
        let Some(followed) = &mut self.followed else { return Ok(()) };
        let now = followed.progress.borrow_and_update().clone();
        let sent = std::mem::replace(&mut followed.sent, now.clone());
        let turn = followed.turn;
        if now.text != sent.text && !now.text.is_empty() {
            let (offset, text) = match now.text.strip_prefix(&sent.text) {
                Some(rest) => (sent.text.chars().count(), rest),
                None => (0, now.text.as_str()),
            };
            let data = json!({ "turnId": turn, "offset": offset, "text": text });
            self.send_json("text", None, data).await?;
        }
        if now.doing != sent.doing {
            self.send_json("doing", None, json!({ "turnId": turn, "doing": now.doing })).await?;
        }
        Ok(())
    }

    /// Waits until there may be something to send.
    async fn wait(
        &mut self,
        turns: &mut broadcast::Receiver<TurnEvent>,
        changes: &mut broadcast::Receiver<Conversation>,
    ) -> Result<(), StreamEnd> {
        let poll_at = Instant::now() + EVENT_POLL_INTERVAL;
        loop {
            let progressed = async {
                match &mut self.followed {
                    Some(followed) => followed.progress.changed().await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.out.closed() => return Err(StreamEnd::ClientGone),
                () = tokio::time::sleep_until(poll_at) => return Ok(()),
                changed = changes.recv() => match changed {
                    // A change of the chat, such as of its members, concerns its topics.
                    Ok(other) if other != self.conversation && other != self.conversation.chat() => {}
                    _ => return Ok(()),
                },
                event = turns.recv() => match event {
                    Ok(TurnEvent::Started { conversation, .. }) if conversation == self.conversation => return Ok(()),
                    Ok(TurnEvent::Ended { turn, conversation }) if conversation == self.conversation => {
                        return self.send_cancelled(turn).await;
                    }
                    Ok(_) => {}
                    Err(_) => return Ok(()),
                },
                running = progressed => match running {
                    true => self.send_progress().await?,
                    false => {
                        self.followed = None;
                        return Ok(());
                    }
                },
            }
        }
    }

    /// Sends `cancelled` for a cancelled turn. Any other turn ends with a stored message.
    async fn send_cancelled(&mut self, turn: TurnId) -> Result<(), StreamEnd> {
        let ended = self.site.store.turn(turn).await?.filter(|turn| turn.session_id == self.session);
        if ended.is_some_and(|turn| turn.state == TurnState::Cancelled) {
            self.followed.take_if(|followed| followed.turn == turn);
            self.send_json("cancelled", None, json!({ "turnId": turn })).await?;
        }
        Ok(())
    }
}
