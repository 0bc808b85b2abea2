//! Replaces the history of a session, and imports an exported session.

use super::{
    annotations::{NewReference, check_if_match, etag_after_change, stale_history},
    attachments::receive_only_file,
    history::{HistoryJson, HistoryQuery, load_history},
    max_form_bytes,
    sessions::{SessionResult, find_session, sweep},
};
use crate::{
    access::Viewer,
    attachments::ReceivedBytes,
    transfer::import::{ImportError, Importer, MAX_HISTORY_BYTES},
    web::{
        Site,
        extract::{Path, check_json_type},
        forms::receive_in_time,
        messages,
        problem::{BodyProblems, ChangeProblems, CommonProblems, InvalidField, Problem},
        run_to_end::run_to_end,
    },
};
use axum::{
    body::Body,
    extract::{Multipart, Request, State, multipart::MultipartRejection},
    http::{HeaderName, StatusCode},
};
use futures::TryStreamExt as _;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

/// A list of entries, or an object with one under `history`, as exports and GET return it.
// Only describes the body: it is parsed by hand, so that each invalid field is named.
#[derive(Deserialize, ToSchema)]
#[serde(untagged)]
#[allow(dead_code)]
pub enum NewHistory {
    Entries(Vec<NewEntry>),
    Export(NewExport),
}

#[derive(Deserialize, ToSchema)]
#[allow(dead_code)]
pub struct NewExport {
    #[schema(max_items = 10000)]
    history: Vec<NewEntry>,
}

/// One entry, with the field names of GET. In an entry whose `internalId` is a row that stays, a field that is left out
/// keeps its value and null clears it.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[allow(dead_code)]
pub struct NewEntry {
    /// `user`, `assistant`, `tool_call` or `tool`.
    role: NewRole,
    /// The text; for a tool call, JSON with its `name` and `arguments`. May be called `msg` instead.
    #[schema(max_length = 200000)]
    content: Option<String>,
    #[schema(max_length = 200000)]
    msg: Option<String>,
    /// RFC 3339; now, if left out.
    timestamp: Option<chrono::DateTime<chrono::Utc>>,
    /// A row of this session that stays, if it comes first and in order; else only a name for `replyTo`.
    #[schema(minimum = 0)]
    internal_id: Option<i64>,
    /// Created if left out, or if it is a turn of another session.
    turn_id: Option<Uuid>,
    #[serde(rename = "agent_id")]
    agent_id: Option<String>,
    #[serde(rename = "tool_call_id")]
    tool_call_id: Option<String>,
    #[serde(rename = "tool_name")]
    tool_name: Option<String>,
    /// Ids, or attachments as GET returns them: of this conversation, or of another one that you may see.
    #[schema(value_type = Option<Vec<Value>>, max_items = 100)]
    attachments: Option<Vec<Value>>,
    #[schema(max_items = 100)]
    refs: Option<Vec<NewReference>>,
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

/// Replaces the whole history in one transaction. Rows that stay keep their ids and their messages on other interfaces;
/// files that are no longer used are deleted. In a group, only an admin changes more than their own messages.
#[utoipa::path(put, path = "/sessions/{session_id}/history", operation_id = "replace_history", tag = "history",
    params(("session_id" = Uuid, Path),
        ("If-Match" = String, Header, description = "The ETag of the history as you read it")),
    request_body = NewHistory,
    responses((status = 200, body = HistoryJson, headers(("ETag" = String, description = "For the next change"))),
        CommonProblems, BodyProblems, ChangeProblems))]
pub async fn replace_history(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
    request: Request,
) -> Result<([(HeaderName, String); 2], Body), Problem> {
    let (session, scope) = find_session(&viewer, &site.store, id).await?;
    check_if_match(request.headers(), &session)?;
    let json = receive_json(&site, &viewer, request).await?;
    let etag = etag_after_change(&session);
    let (for_import, importer) = (site.clone(), viewer.clone());
    run_to_end(async move {
        for_import.importer(&importer).replace_history(&session, &scope, json).await?;
        for_import.turns.changed(&session.conversation);
        sweep(&for_import).await;
        Ok(())
    })
    .await?;
    let (replaced, _) = find_session(&viewer, &site.store, id).await?;
    let ([_, content_type], history) = load_history(&site, &replaced, &HistoryQuery::all()).await?;
    let [etag] = etag;
    Ok(([etag, content_type], history))
}

/// Receives a history like a file: on disk, within the upload budget, until it is its turn to be parsed.
async fn receive_json(site: &Site, viewer: &Viewer, request: Request) -> Result<ReceivedBytes, Problem> {
    check_json_type(request.headers())?;
    let mut upload = site.attachments.start_upload(&viewer.user, MAX_HISTORY_BYTES);
    let receive = async {
        let mut body = request.into_body().into_data_stream();
        let broken_off = |_| Problem::bad(messages::BROKEN_OFF);
        // Without an extractor, no other limit applies to this body.
        while !upload.is_too_large()
            && let Some(chunk) = body.try_next().await.map_err(broken_off)?
        {
            upload.write(chunk).await?;
        }
        Ok::<_, Problem>(())
    };
    receive_in_time(receive).await?;
    Ok(upload.into_bytes("the history")?)
}

impl From<ImportError> for Problem {
    fn from(error: ImportError) -> Self {
        match error {
            ImportError::Invalid(errors) => {
                Self::invalid_fields(errors.into_iter().map(InvalidField::from).collect())
            }
            ImportError::Unreadable(detail) => Self::invalid(detail),
            ImportError::TooLarge => Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string()),
            ImportError::Missing => Self::not_found("session"),
            ImportError::NotTheirs => Self::forbidden(messages::ONLY_YOUR_WORDS),
            ImportError::Stale => stale_history(),
            ImportError::Busy => {
                let detail = "A turn of this session waits or runs. Cancel it, or try again when it is over.";
                Self::new(StatusCode::CONFLICT, detail)
            }
            ImportError::TooMany => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            ImportError::Store(error) => error.into(),
            ImportError::Attachment(error) => error.into(),
            ImportError::Render(error) => error.into(),
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
#[schema(as = Archive)]
pub struct ImportForm {
    /// An export: a zip with the files, or JSON whose files are still stored here.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// Creates a session from an export: the same messages and files, under new ids.
#[utoipa::path(post, path = "/sessions/import", operation_id = "import_session", tag = "sessions",
    request_body(content = ImportForm, content_type = "multipart/form-data"),
    responses((status = 201, body = SessionResult), CommonProblems, BodyProblems))]
pub async fn import_session(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    form: Result<Multipart, MultipartRejection>,
) -> Result<(StatusCode, axum::Json<SessionResult>), Problem> {
    let upload = receive_only_file(&site, &viewer, form, max_form_bytes(site.attachments.limits())).await?;
    let export = upload.into_bytes("the file")?;
    let imported = async move { Ok(site.importer(&viewer).import_session(export).await?) };
    let session = run_to_end(imported).await?;
    Ok((StatusCode::CREATED, SessionResult::of(session)))
}
