//! A session as it happens, as server-sent events. What is stored is told with its id, so that whoever reconnects
//! gets what they missed; what is only on its way (text of a running step) is told whole again.

use super::{
    history::{etag, files_of},
    sessions::entered,
};
use crate::{
    access::{Pass, Viewer},
    agent::{Progress, TurnEvent},
    domain::{self, Conversation, Message, MessageId, SessionId, TurnId, TurnState},
    store::{Detail, StoreError},
    transfer::json::{AttachmentJson, EntryRole, HistoryEntry, entries_of},
    web::{
        Site,
        extract::{Path, Query},
        problem::{Problem, Usual},
        viewer::Arrival,
    },
};
use axum::{
    extract::State,
    http::{HeaderMap, HeaderValue, header},
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
use tracing::{debug, error};
use utoipa::IntoParams;
use uuid::Uuid;

/// Other instances file messages and run turns too: a look now and then finds them.
const LOOK: Duration = Duration::from_secs(2);
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Whoever watches for longer connects again, and is asked again who they are.
const LONGEST: Duration = Duration::from_secs(600);
/// Rows read at a time.
const AT_ONCE: i64 = 200;

#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct From {
    /// As the header `Last-Event-ID`, for the first connection: tell what came after this message.
    last_event_id: Option<i64>,
}

/// Watches a session. Events: `message`, `turn_started`, `text`, `doing`, `tool_started`, `tool_finished`,
/// `attachments`, `done`, `error`, `cancelled`, `changed` and `deleted`; see docs/api.md.
#[utoipa::path(get, path = "/sessions/{session_id}/events", operation_id = "watch_session", tag = "messages",
    params(("session_id" = Uuid, Path), From,
        ("Last-Event-ID" = Option<String>, Header, description = "Tell what came after this event")),
    responses((status = 200, content_type = "text/event-stream", body = String), Usual))]
pub async fn watch(
    Arrival { viewer, pass, .. }: Arrival,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    Query(from): Query<From>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (session, _) = entered(&viewer, &site.store, id).await?;
    let header = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let last = match header.or(from.last_event_id) {
        Some(id) => MessageId(id),
        None => site.store.last_message(session.session_id).await?.unwrap_or(MessageId(0)),
    };
    let (out, mut events) = mpsc::channel(64);
    tokio::spawn(async move {
        let mut watcher = Watcher::new(site, (viewer, pass), session, last, out);
        match watcher.run().await {
            Ok(()) | Err(Over::Gone) => debug!("a watcher left"),
            Err(Over::Store(error)) => error!(%error, "a watcher lost the database; it will come again"),
        }
    });
    let stream = futures::stream::poll_fn(move |context| events.poll_recv(context));
    let mut response = Sse::new(stream).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)).into_response();
    // Proxies must not hold back what is meant to be seen at once.
    response.headers_mut().insert("x-accel-buffering", HeaderValue::from_static("no"));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// Why a stream ends.
enum Over {
    /// Nobody listens any more.
    Gone,
    Store(StoreError),
}

impl std::convert::From<StoreError> for Over {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A turn that runs here, and how much of it was told.
struct Followed {
    turn: TurnId,
    progress: watch::Receiver<Progress>,
    told: Progress,
}

struct Watcher {
    site: Arc<Site>,
    viewer: Viewer,
    pass: Pass,
    session: SessionId,
    place: Conversation,
    last: MessageId,
    /// What was told of the session itself.
    title: String,
    revision: i64,
    followed: Option<Followed>,
    out: mpsc::Sender<Result<Event, Infallible>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Made<'a> {
    turn_id: Option<Uuid>,
    internal_id: i64,
    attachments: &'a [AttachmentJson],
}

impl Watcher {
    fn new(
        site: Arc<Site>,
        (viewer, pass): (Viewer, Pass),
        session: domain::Session,
        last: MessageId,
        out: mpsc::Sender<Result<Event, Infallible>>,
    ) -> Self {
        Self {
            site,
            viewer,
            pass,
            session: session.session_id,
            place: session.conversation,
            last,
            title: session.title,
            revision: session.revision,
            followed: None,
            out,
        }
    }

    async fn run(&mut self) -> Result<(), Over> {
        // Listening begins before the first look: nothing can come in between.
        let mut turns = self.site.turns.events();
        let mut changes = self.site.turns.changes();
        self.tell(Event::default().retry(LOOK).comment("watching")).await?;
        let end = Instant::now() + LONGEST;
        loop {
            if !self.look().await? {
                return Ok(());
            }
            self.follow().await?;
            self.wait(&mut turns, &mut changes).await?;
            if Instant::now() > end {
                return Ok(());
            }
        }
    }

    async fn tell(&self, event: Event) -> Result<(), Over> {
        self.out.send(Ok(event)).await.map_err(|_| Over::Gone)
    }

    async fn tell_json(&self, name: &str, id: Option<MessageId>, data: impl Serialize) -> Result<(), Over> {
        let event = Event::default().event(name);
        let event = match id {
            Some(id) => event.id(id.to_string()),
            None => event,
        };
        match event.json_data(data) {
            Ok(event) => self.tell(event).await,
            Err(error) => {
                error!(%error, name, "an event cannot be written");
                Ok(())
            }
        }
    }

    /// Tells what is new in the store; false if there is nothing to watch any more.
    async fn look(&mut self) -> Result<bool, Over> {
        // Asked anew each time: who has logged out or left a group hears nothing more.
        if !self.site.door.still_opens(&self.pass, Utc::now()).await? {
            return Ok(false);
        }
        let Some((session, _)) = self.viewer.session(&self.site.store, self.session).await? else {
            self.tell_json("deleted", None, json!({})).await?;
            return Ok(false);
        };
        let mut rows = 0;
        loop {
            let new = self.site.store.messages_after(self.session, self.last, AT_ONCE).await?;
            let files = files_of(&self.site.store, &self.place, &new).await?;
            for message in &new {
                self.tell_message(message, &files).await?;
                self.last = message.internal_id;
                rows += 1;
            }
            if (new.len() as i64) < AT_ONCE {
                break;
            }
        }
        // Every row is a revision of its own; what is beyond that is a change of something that was there.
        if session.title != self.title || session.revision - self.revision > rows {
            let tag = etag(&session);
            self.tell_json("changed", None, json!({ "etag": tag, "title": session.title })).await?;
        }
        (self.title, self.revision) = (session.title, session.revision);
        Ok(true)
    }

    async fn tell_message(&mut self, message: &Message, files: &[domain::Attachment]) -> Result<(), Over> {
        let id = Some(message.internal_id);
        let turn_id = message.turn_id.map(|id| id.0);
        let mut entries = entries_of(message, files, Detail::WithTools);
        let Some(entry) = entries.pop() else { return Ok(()) };
        // The id comes with the last event of a row, so that a break in between loses none.
        for earlier in entries {
            self.tell_json("tool_started", None, earlier).await?;
        }
        let made = Made { turn_id, internal_id: message.internal_id.0, attachments: &entry.attachments };
        let made = (!entry.attachments.is_empty()).then(|| json!(made));
        if let (EntryRole::Tool | EntryRole::Assistant, Some(made)) = (entry.role, made) {
            self.tell_json("attachments", None, made).await?;
        }
        match entry.role {
            EntryRole::User => self.tell_json("message", id, entry).await,
            EntryRole::ToolCall => self.tell_json("tool_started", id, entry).await,
            EntryRole::Tool => self.tell_json("tool_finished", id, entry).await,
            EntryRole::Assistant => self.tell_end(message, entry).await,
        }
    }

    async fn tell_end(&mut self, message: &Message, entry: HistoryEntry) -> Result<(), Over> {
        if self.followed.as_ref().is_some_and(|followed| Some(followed.turn) == message.turn_id) {
            self.followed = None;
        }
        let name = if message.error.is_some() { "error" } else { "done" };
        let data = json!({ "turnId": message.turn_id, "message": entry });
        self.tell_json(name, Some(message.internal_id), data).await
    }

    /// Takes up the turn of this session that runs here, if there is one.
    async fn follow(&mut self) -> Result<(), Over> {
        if self.followed.is_some() {
            return Ok(());
        }
        let Some(turn) = self.site.turns.running_in(&self.place) else { return Ok(()) };
        let Some(progress) = self.site.turns.follow(turn) else { return Ok(()) };
        let known = self.site.store.turn(turn).await?;
        let of_session =
            known.filter(|turn| turn.session_id == self.session && turn.state == TurnState::Running);
        if of_session.is_some() {
            self.tell_json("turn_started", None, json!({ "turnId": turn })).await?;
            self.followed = Some(Followed { turn, progress, told: Progress::default() });
            self.tell_progress().await?;
        }
        Ok(())
    }

    async fn tell_progress(&mut self) -> Result<(), Over> {
        let Some(followed) = &mut self.followed else { return Ok(()) };
        let now = followed.progress.borrow_and_update().clone();
        let told = std::mem::replace(&mut followed.told, now.clone());
        let turn = followed.turn;
        if now.text != told.text && !now.text.is_empty() {
            let (offset, text) = match now.text.strip_prefix(&told.text) {
                Some(rest) => (told.text.chars().count(), rest),
                None => (0, now.text.as_str()),
            };
            let data = json!({ "turnId": turn, "offset": offset, "text": text });
            self.tell_json("text", None, data).await?;
        }
        if now.doing != told.doing {
            self.tell_json("doing", None, json!({ "turnId": turn, "doing": now.doing })).await?;
        }
        Ok(())
    }

    /// Until there may be something to tell.
    async fn wait(
        &mut self,
        turns: &mut broadcast::Receiver<TurnEvent>,
        changes: &mut broadcast::Receiver<Conversation>,
    ) -> Result<(), Over> {
        let look_again = Instant::now() + LOOK;
        loop {
            let progressed = async {
                match &mut self.followed {
                    Some(followed) => followed.progress.changed().await.is_ok(),
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = self.out.closed() => return Err(Over::Gone),
                () = tokio::time::sleep_until(look_again) => return Ok(()),
                changed = changes.recv() => match changed {
                    Ok(place) if place != self.place => {}
                    _ => return Ok(()),
                },
                event = turns.recv() => match event {
                    Ok(TurnEvent::Started { conversation, .. }) if conversation == self.place => return Ok(()),
                    Ok(TurnEvent::Ended { turn, conversation }) if conversation == self.place => {
                        return self.ended(turn).await;
                    }
                    Ok(_) => {}
                    Err(_) => return Ok(()),
                },
                running = progressed => match running {
                    true => self.tell_progress().await?,
                    false => {
                        self.followed = None;
                        return Ok(());
                    }
                },
            }
        }
    }

    /// A turn is over: its last message says so itself, but one that was cancelled has none.
    async fn ended(&mut self, turn: TurnId) -> Result<(), Over> {
        let over = self.site.store.turn(turn).await?.filter(|turn| turn.session_id == self.session);
        if over.is_some_and(|turn| turn.state == TurnState::Cancelled) {
            self.followed.take_if(|followed| followed.turn == turn);
            self.tell_json("cancelled", None, json!({ "turnId": turn })).await?;
        }
        Ok(())
    }
}
