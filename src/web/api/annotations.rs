//! References and tags on messages, and what a whole session refers to.

use super::{history, sessions::entered};
use crate::{
    access::Viewer,
    domain::{
        MessageId, Reference, Session, Target,
        annotation::{self, Flaw},
    },
    store::{Annotation, Change, Detail},
    transfer::json::{HistoryEntry, ReferenceJson, entries_of},
    web::{
        Site,
        extract::{Json, Path},
        problem::{Changing, Problem, Reading, Usual, Wrong},
    },
};
use axum::{
    extract::State,
    http::{HeaderMap, HeaderName, StatusCode, header},
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::{collections::HashMap, sync::Arc};
use utoipa::ToSchema;
use uuid::Uuid;

/// Whoever changes a history must have seen the state it is in: `If-Match` names it.
pub fn seen(headers: &HeaderMap, session: &Session) -> Result<(), Problem> {
    let Some(named) = headers.get(header::IF_MATCH) else {
        let why = "Read the history first and send its ETag in If-Match, so that nobody's change is lost.";
        return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, why));
    };
    let etag = history::etag(session);
    match named.to_str().is_ok_and(|named| named.split(',').any(|tag| tag.trim() == etag)) {
        true => Ok(()),
        false => Err(stale()),
    }
}

pub fn stale() -> Problem {
    let why = "The history is not what this ETag stands for: somebody changed it meanwhile. Read it again.";
    Problem::new(StatusCode::PRECONDITION_FAILED, why)
}

/// Named in an answer, the state that a change led to.
pub fn state_after(session: &Session) -> [(HeaderName, String); 1] {
    let after = Session { revision: session.revision + 1, ..session.clone() };
    [(header::ETAG, history::etag(&after))]
}

/// What to note on a message. What is left out stays as it is; null or an empty list clears.
// Read by hand, so that whatever is wrong is named; this is how it is described.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
pub struct Notes {
    #[schema(max_items = 100)]
    refs: Option<Vec<NewRef>>,
    /// `group:value` or plain. Trimmed, lower-cased, each once; of an exclusive group only one.
    #[schema(max_items = 50)]
    tags: Option<Vec<String>>,
}

/// Where something comes from.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code)]
pub struct NewRef {
    /// `http://…`, `https://…`, `attachment:<uuid>` of this conversation or `turn:<uuid>` of this session.
    #[schema(max_length = 2048)]
    url: String,
    #[schema(max_length = 500)]
    title: Option<String>,
    #[schema(max_length = 20000)]
    content: Option<String>,
    #[schema(max_length = 2000)]
    key_excerpt: Option<String>,
    #[serde(rename = "type")]
    #[schema(max_length = 50)]
    kind: Option<String>,
    bonus: Option<bool>,
}

#[derive(Serialize, ToSchema)]
pub struct Noted {
    success: bool,
    entry: HistoryEntry,
}

/// Notes references and tags on a message, in place of those it has.
#[utoipa::path(patch, path = "/sessions/{session_id}/history/{internal_id}", operation_id = "annotate_message", tag = "history",
    params(("session_id" = Uuid, Path), ("internal_id" = i64, Path),
        ("If-Match" = String, Header, description = "The ETag of the history as you read it")),
    request_body = Notes,
    responses((status = 200, body = Noted, headers(("ETag" = String, description = "For the next change"))),
        Usual, Reading, Changing))]
pub async fn change(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path((id, message)): Path<(Uuid, i64)>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<([(HeaderName, String); 1], axum::Json<Noted>), Problem> {
    let (session, _) = entered(&viewer, &site.store, id).await?;
    let message = MessageId(message);
    let no_message = || Problem::not_found("message");
    let stored = site.store.message(message).await?;
    stored.filter(|stored| stored.session_id == session.session_id).ok_or_else(no_message)?;
    seen(&headers, &session)?;
    let (refs, tags) = read(&body, &site.exclusive_tags).map_err(refused)?;
    if let Some(refs) = &refs {
        there(&site, &session, refs).await?;
    }
    let annotation =
        Annotation { session: session.session_id, revision: session.revision, message, refs, tags };
    match site.store.annotate_message(&annotation).await? {
        Change::Made => {}
        Change::Missing => return Err(no_message()),
        Change::Stale | Change::Busy => return Err(stale()),
    }
    site.turns.changed(&session.conversation);
    let Some(stored) = site.store.message(message).await? else { return Err(no_message()) };
    let files = history::files_of(&site.store, &session.conversation, std::slice::from_ref(&stored)).await?;
    let entry = entries_of(&stored, &files, Detail::WithTools).into_iter().next();
    let entry = entry.ok_or_else(no_message)?;
    Ok((state_after(&session), axum::Json(Noted { success: true, entry })))
}

fn refused(flaws: Vec<Flaw>) -> Problem {
    Problem::all_wrong(flaws.into_iter().map(Wrong::from).collect())
}

type Given = (Option<Vec<Reference>>, Option<Vec<String>>);

fn read(body: &Value, exclusive: &[String]) -> Result<Given, Vec<Flaw>> {
    let Some(fields) = body.as_object() else {
        return Err(vec![Flaw::new("body", "must be an object with `refs`, `tags` or both")]);
    };
    let mut flaws: Vec<Flaw> = unknown(fields);
    let refs = fields.get("refs").map(annotation::refs).transpose();
    let tags = fields.get("tags").map(|given| annotation::tags(given, exclusive)).transpose();
    match (refs, tags) {
        (Ok(None), Ok(None)) if flaws.is_empty() => {
            Err(vec![Flaw::new("refs", "is missing, and so is `tags`; send at least one of them")])
        }
        (Ok(refs), Ok(tags)) if flaws.is_empty() => Ok((refs, tags)),
        (refs, tags) => {
            flaws.extend(refs.err().into_iter().flatten());
            flaws.extend(tags.err().into_iter().flatten());
            Err(flaws)
        }
    }
}

fn unknown(fields: &Map<String, Value>) -> Vec<Flaw> {
    let names = fields.keys().filter(|name| !["refs", "tags"].contains(&name.as_str()));
    names.map(|name| Flaw::new(name, "cannot be noted on a message; only `refs` and `tags` can")).collect()
}

/// A reference to a file or a turn that is not there would lead nowhere.
async fn there(site: &Site, session: &Session, refs: &[Reference]) -> Result<(), Problem> {
    let targets: Vec<Target> = refs.iter().map(Reference::target).collect();
    let ids: Vec<_> = targets
        .iter()
        .filter_map(|target| match target {
            Target::Attachment(id) => Some(*id),
            _ => None,
        })
        .collect();
    let files = site.store.attachments(&session.conversation, &ids).await?;
    let turns = match targets.iter().any(|target| matches!(target, Target::Turn(_))) {
        true => site.store.turns_of_session(session.session_id).await?,
        false => Vec::new(),
    };
    let mut flaws = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        let why = match target {
            Target::Attachment(id) if files.iter().all(|file| file.attachment_id != *id) => {
                "there is no such attachment in this conversation"
            }
            Target::Turn(id) if !turns.contains(id) => "there is no such turn in this session",
            _ => continue,
        };
        flaws.push(Flaw::new(format!("refs[{at}].url"), why));
    }
    if flaws.is_empty() { Ok(()) } else { Err(refused(flaws)) }
}

/// A reference, and where it was made.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Gathered {
    #[serde(flatten)]
    reference: ReferenceJson,
    /// How often it was made.
    count: usize,
    /// The `internalId` of each message that makes it.
    messages: Vec<i64>,
    turn_ids: Vec<Uuid>,
}

#[derive(Serialize, ToSchema)]
pub struct Refs {
    success: bool,
    refs: Vec<Gathered>,
}

/// What the messages of a session refer to, each once, in the order of their first appearance.
#[utoipa::path(get, path = "/sessions/{session_id}/refs", operation_id = "list_refs", tag = "history", params(("session_id" = Uuid, Path)),
    responses((status = 200, body = Refs), Usual))]
pub async fn refs(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Refs>, Problem> {
    let (session, _) = entered(&viewer, &site.store, id).await?;
    let messages = site.store.messages_of_session(session.session_id, None, None, Detail::WithTools).await?;
    let mut refs: Vec<Gathered> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    for message in &messages {
        for reference in &message.refs {
            let at = *known.entry(reference.url.clone()).or_insert_with(|| {
                refs.push(Gathered {
                    reference: ReferenceJson { url: reference.url.clone(), ..ReferenceJson::default() },
                    count: 0,
                    messages: Vec::new(),
                    turn_ids: Vec::new(),
                });
                refs.len() - 1
            });
            refs[at].add(reference, message.internal_id, message.turn_id.map(|turn| turn.0));
        }
    }
    Ok(axum::Json(Refs { success: true, refs }))
}

impl Gathered {
    /// Once more; the first that says something has said it.
    fn add(&mut self, reference: &Reference, message: MessageId, turn: Option<Uuid>) {
        fn first(known: &mut Option<String>, new: &Option<String>) {
            if known.as_deref().unwrap_or_default().is_empty() && new.is_some() {
                known.clone_from(new);
            }
        }
        first(&mut self.reference.title, &reference.title);
        first(&mut self.reference.content, &reference.content);
        first(&mut self.reference.key_excerpt, &reference.key_excerpt);
        first(&mut self.reference.kind, &reference.kind);
        self.reference.bonus = self.reference.bonus.or(reference.bonus);
        self.count += 1;
        if !self.messages.contains(&message.0) {
            self.messages.push(message.0);
        }
        if let Some(turn) = turn
            && !self.turn_ids.contains(&turn)
        {
            self.turn_ids.push(turn);
        }
    }
}
