//! References and tags of messages, and all references of a session.

use super::{history, sessions::find_session};
use crate::{
    access::Viewer,
    domain::{
        MessageId, Reference, ReferenceTarget, Session,
        annotation::{self, FieldError},
    },
    store::{ChangeOutcome, Detail, MessageAnnotation},
    transfer::{
        json::{HistoryEntry, ReferenceJson, entries_of},
        pages::HistoryPages,
    },
    web::{
        Site,
        extract::{Json, Path},
        messages,
        problem::{BodyProblems, ChangeProblems, CommonProblems, InvalidField, Problem},
        run_to_end::run_to_end,
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

/// Checks `If-Match`: a client may only change the revision of the history that it has read.
pub fn check_if_match(headers: &HeaderMap, session: &Session) -> Result<(), Problem> {
    let Some(value) = headers.get(header::IF_MATCH) else {
        let why = "Read the history first and send its ETag in If-Match, so that nobody's change is lost.";
        return Err(Problem::new(StatusCode::PRECONDITION_REQUIRED, why));
    };
    let etag = history::etag(session);
    match value.to_str().is_ok_and(|tags| tags.split(',').any(|tag| tag.trim() == etag)) {
        true => Ok(()),
        false => Err(stale_history()),
    }
}

pub fn stale_history() -> Problem {
    let why = "The history is not what this ETag stands for: somebody changed it meanwhile. Read it again.";
    Problem::new(StatusCode::PRECONDITION_FAILED, why)
}

/// The ETag header after a change of this session.
pub fn etag_after_change(session: &Session) -> [(HeaderName, String); 1] {
    let after = Session { revision: session.revision + 1, ..session.clone() };
    [(header::ETAG, history::etag(&after))]
}

/// References and tags of a message. A field that is left out stays as it is; null or an empty list clears it.
// Only describes the body: it is parsed by hand, so that each invalid field is named.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code)]
#[schema(as = Notes)]
pub struct AnnotationBody {
    #[schema(max_items = 100)]
    refs: Option<Vec<NewReference>>,
    /// `group:value` or plain. Trimmed, lower-cased, each once; of an exclusive group only one.
    #[schema(max_items = 50)]
    tags: Option<Vec<String>>,
}

/// A source of a message.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code)]
#[schema(as = NewRef)]
pub struct NewReference {
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
#[schema(as = Noted)]
pub struct AnnotatedEntry {
    success: bool,
    entry: HistoryEntry,
}

/// Replaces the references and tags of a message. In a group: of your own messages and of the answers you asked for.
#[utoipa::path(patch, path = "/sessions/{session_id}/history/{internal_id}", operation_id = "annotate_message", tag = "history",
    params(("session_id" = Uuid, Path), ("internal_id" = i64, Path),
        ("If-Match" = String, Header, description = "The ETag of the history as you read it")),
    request_body = AnnotationBody,
    responses((status = 200, body = AnnotatedEntry, headers(("ETag" = String, description = "For the next change"))),
        CommonProblems, BodyProblems, ChangeProblems))]
pub async fn annotate(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path((id, message)): Path<(Uuid, i64)>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Result<([(HeaderName, String); 1], axum::Json<AnnotatedEntry>), Problem> {
    let (session, _) = find_session(&viewer, &site.store, id).await?;
    let message = MessageId(message);
    let no_message = || Problem::not_found("message");
    let stored = site.store.message(message).await?;
    let stored = stored.filter(|stored| stored.session_id == session.session_id).ok_or_else(no_message)?;
    if !viewer.may_annotate_stored(&site.store, &stored).await? {
        return Err(Problem::forbidden(messages::NOT_YOUR_MESSAGE));
    }
    check_if_match(&headers, &session)?;
    let (refs, tags) = parse_body(&body, &site.exclusive_tags).map_err(invalid)?;
    if let Some(refs) = &refs {
        check_targets(&site, &session, refs).await?;
    }
    let annotation =
        MessageAnnotation { session: session.session_id, revision: session.revision, message, refs, tags };
    let (changing, conversation) = (site.clone(), session.conversation.clone());
    run_to_end(async move {
        match changing.store.annotate_message(&annotation).await? {
            ChangeOutcome::Changed => changing.turns.changed(&conversation),
            ChangeOutcome::Missing => return Err(no_message()),
            ChangeOutcome::Stale | ChangeOutcome::Busy => return Err(stale_history()),
        }
        Ok(())
    })
    .await?;
    let Some(stored) = site.store.message(message).await? else { return Err(no_message()) };
    let files =
        history::load_files(&site.store, &session.conversation, std::slice::from_ref(&stored)).await?;
    let entry = entries_of(&stored, &files, Detail::WithTools).into_iter().next();
    let entry = entry.ok_or_else(no_message)?;
    Ok((etag_after_change(&session), axum::Json(AnnotatedEntry { success: true, entry })))
}

fn invalid(errors: Vec<FieldError>) -> Problem {
    Problem::invalid_fields(errors.into_iter().map(InvalidField::from).collect())
}

type ParsedAnnotation = (Option<Vec<Reference>>, Option<Vec<String>>);

fn parse_body(body: &Value, exclusive_tags: &[String]) -> Result<ParsedAnnotation, Vec<FieldError>> {
    let Some(fields) = body.as_object() else {
        return Err(vec![FieldError::new("body", "must be an object with `refs`, `tags` or both")]);
    };
    let mut errors: Vec<FieldError> = unknown_fields(fields);
    let refs = fields.get("refs").map(annotation::parse_references).transpose();
    let tags = fields.get("tags").map(|given| annotation::parse_tags(given, exclusive_tags)).transpose();
    match (refs, tags) {
        (Ok(None), Ok(None)) if errors.is_empty() => {
            Err(vec![FieldError::new("refs", "is missing, and so is `tags`; send at least one of them")])
        }
        (Ok(refs), Ok(tags)) if errors.is_empty() => Ok((refs, tags)),
        (refs, tags) => {
            errors.extend(refs.err().into_iter().flatten());
            errors.extend(tags.err().into_iter().flatten());
            Err(errors)
        }
    }
}

fn unknown_fields(fields: &Map<String, Value>) -> Vec<FieldError> {
    let names = fields.keys().filter(|name| !["refs", "tags"].contains(&name.as_str()));
    names
        .map(|name| FieldError::new(name, "cannot be noted on a message; only `refs` and `tags` can"))
        .collect()
}

/// Checks that referenced files and turns exist.
async fn check_targets(site: &Site, session: &Session, refs: &[Reference]) -> Result<(), Problem> {
    let targets: Vec<ReferenceTarget> = refs.iter().map(Reference::target).collect();
    let ids: Vec<_> = targets
        .iter()
        .filter_map(|target| match target {
            ReferenceTarget::Attachment(id) => Some(*id),
            _ => None,
        })
        .collect();
    let files = site.store.attachments(&session.conversation, &ids).await?;
    let turns = match targets.iter().any(|target| matches!(target, ReferenceTarget::Turn(_))) {
        true => site.store.turns_of_session(session.session_id).await?,
        false => Vec::new(),
    };
    let mut errors = Vec::new();
    for (at, target) in targets.iter().enumerate() {
        let why = match target {
            ReferenceTarget::Attachment(id) if files.iter().all(|file| file.attachment_id != *id) => {
                "there is no such attachment in this conversation"
            }
            ReferenceTarget::Turn(id) if !turns.contains(id) => "there is no such turn in this session",
            _ => continue,
        };
        errors.push(FieldError::new(format!("refs[{at}].url"), why));
    }
    if errors.is_empty() { Ok(()) } else { Err(invalid(errors)) }
}

/// A reference and the messages that make it.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Gathered)]
pub struct SessionReference {
    #[serde(flatten)]
    reference: ReferenceJson,
    /// How many times it is made.
    count: usize,
    /// The `internalId` of each message that makes it.
    messages: Vec<i64>,
    turn_ids: Vec<Uuid>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Refs)]
pub struct SessionReferences {
    success: bool,
    refs: Vec<SessionReference>,
}

/// The references of all messages of a session, each once, in order of first appearance.
#[utoipa::path(get, path = "/sessions/{session_id}/refs", operation_id = "list_refs", tag = "history", params(("session_id" = Uuid, Path)),
    responses((status = 200, body = SessionReferences), CommonProblems))]
pub async fn list_references(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<SessionReferences>, Problem> {
    let (session, _) = find_session(&viewer, &site.store, id).await?;
    let span = site.store.history_span(session.session_id, None, None, Detail::WithTools).await?;
    let mut pages = HistoryPages::new(&site.store, &session, span.as_ref(), Detail::WithTools);
    let mut refs: Vec<SessionReference> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    while let Some(page) = pages.next(|_| Vec::new()).await? {
        for message in &page.messages {
            for reference in &message.refs {
                let at = *known.entry(reference.url.clone()).or_insert_with(|| {
                    refs.push(SessionReference {
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
    }
    Ok(axum::Json(SessionReferences { success: true, refs }))
}

impl SessionReference {
    /// Adds another occurrence. Of each field, the first value that is set is kept.
    fn add(&mut self, reference: &Reference, message: MessageId, turn: Option<Uuid>) {
        fn set_if_unset(known: &mut Option<String>, new: &Option<String>) {
            if known.as_deref().unwrap_or_default().is_empty() && new.is_some() {
                known.clone_from(new);
            }
        }
        set_if_unset(&mut self.reference.title, &reference.title);
        set_if_unset(&mut self.reference.content, &reference.content);
        set_if_unset(&mut self.reference.key_excerpt, &reference.key_excerpt);
        set_if_unset(&mut self.reference.kind, &reference.kind);
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
