//! The Bot API over HTTP: checks the token, routes calls to `methods`, injects faults, serves long polls and downloads.

use super::{
    faults::Fault,
    methods,
    received::Call,
    server::{Line, OnLine},
    state::Shared,
    uploads::Params,
};
use axum::{
    Json, Router,
    body::Body,
    extract::{ConnectInfo, DefaultBodyLimit, Path, Request, State},
    http::{StatusCode, header::CONTENT_LENGTH},
    response::{IntoResponse, Response},
    routing::{any, get},
};
use bytes::Bytes;
use serde_json::{Value, json};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};

/// An answer with `"ok": false`.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub status: u16,
    pub description: String,
    retry_after: Option<u64>,
    migrate_to: Option<i64>,
}

impl Refusal {
    pub fn new(status: u16, description: impl Into<String>) -> Refusal {
        Refusal { status, description: description.into(), retry_after: None, migrate_to: None }
    }

    pub fn bad(why: impl std::fmt::Display) -> Refusal {
        Refusal::new(400, format!("Bad Request: {why}"))
    }

    pub fn unreadable(why: impl std::fmt::Display) -> Refusal {
        Refusal::bad(format!("can't read the request: {why}"))
    }

    pub fn flood(seconds: u64) -> Refusal {
        let description = format!("Too Many Requests: retry after {seconds}");
        Refusal { retry_after: Some(seconds), ..Refusal::new(429, description) }
    }

    /// The group is a supergroup now, under this id.
    pub fn migrated(to: i64) -> Refusal {
        let why = "group chat was upgraded to a supergroup chat";
        Refusal { migrate_to: Some(to), ..Refusal::bad(why) }
    }

    fn server_error(status: u16) -> Refusal {
        let reason = StatusCode::from_u16(status).ok().and_then(|code| code.canonical_reason());
        Refusal::new(status, reason.unwrap_or("Error"))
    }
}

/// Recorded instead of a status if the caller closed the connection before the answer.
pub const HUNG_UP: u16 = 0;

pub type Outcome = Result<Value, Refusal>;

fn answer(outcome: &Outcome) -> Response {
    match outcome {
        Ok(result) => Json(json!({ "ok": true, "result": result })).into_response(),
        Err(refusal) => {
            let mut body =
                json!({ "ok": false, "error_code": refusal.status, "description": refusal.description });
            if let Some(seconds) = refusal.retry_after {
                body["parameters"] = json!({ "retry_after": seconds });
            }
            if let Some(id) = refusal.migrate_to {
                body["parameters"] = json!({ "migrate_to_chat_id": id });
            }
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            (status, Json(body)).into_response()
        }
    }
}

pub fn router(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/{bot}/{method}", any(method))
        .route("/file/{bot}/{*path}", get(download))
        .fallback(async || answer(&Err(Refusal::new(404, "Not Found"))))
        .layer(DefaultBodyLimit::disable())
        .with_state(shared)
}

fn check_token(shared: &Shared, bot: &str) -> Result<(), Refusal> {
    match bot.strip_prefix("bot") {
        Some(token) if token == shared.token => Ok(()),
        Some(token) if token.contains(':') => Err(Refusal::new(401, "Unauthorized")),
        _ => Err(Refusal::new(404, "Not Found")),
    }
}

async fn method(
    State(shared): State<Arc<Shared>>,
    Path((bot, mut method)): Path<(String, String)>,
    ConnectInfo(line): OnLine,
    request: Request,
) -> Response {
    if let Err(refusal) = check_token(&shared, &bot) {
        return answer(&Err(refusal));
    }
    // Telegram ignores case, and teloxide writes `SendMessage`. Tests use the spelling of the documentation.
    if method.is_char_boundary(1) {
        method[..1].make_ascii_lowercase();
    }
    let params = match Params::read(request).await {
        Ok(params) => params,
        Err(refusal) => return answer(&Err(refusal)),
    };
    let chat_id = params.number("chat_id");
    let (call, fault) = Recorded::new(&shared, &method, chat_id, params.recorded());
    let outcome = match before(fault.as_ref(), &line).await {
        Ok(()) if method.eq_ignore_ascii_case("getUpdates") => get_updates(&shared, &params).await,
        Ok(()) => shared.change(|state| methods::run(state, &method, &params)),
        Err(refusal) => Err(refusal),
    };
    call.answered(outcome.as_ref().err());
    after(fault.as_ref(), &line).await;
    answer(&outcome)
}

/// A recorded call. Records `HUNG_UP` if it is dropped before there is an answer.
struct Recorded<'s> {
    shared: &'s Shared,
    index: usize,
}

impl<'s> Recorded<'s> {
    fn new(
        shared: &'s Shared,
        method: &str,
        chat_id: Option<i64>,
        params: Value,
    ) -> (Recorded<'s>, Option<Fault>) {
        let (index, fault) = shared.change(|state| {
            let call = Call { method: method.into(), chat_id, params, at: Instant::now(), answer: None };
            state.calls.push(call);
            (state.calls.len() - 1, state.take_fault(method, chat_id))
        });
        (Recorded { shared, index }, fault)
    }

    fn answered(&self, refusal: Option<&Refusal>) {
        let answer =
            refusal.map_or((200, String::new()), |refusal| (refusal.status, refusal.description.clone()));
        self.shared.change(|state| state.calls[self.index].answer = Some(answer));
    }
}

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        self.shared.change(|state| {
            state.calls[self.index].answer.get_or_insert((HUNG_UP, "the caller hung up".into()));
        });
    }
}

async fn before(fault: Option<&Fault>, line: &Line) -> Result<(), Refusal> {
    match fault {
        Some(Fault::CutBefore) => {
            line.cut();
            Err(Refusal::new(500, "(the connection died before this was seen)"))
        }
        Some(Fault::Answer(status)) => Err(Refusal::server_error(*status)),
        Some(Fault::Flood(seconds)) => Err(Refusal::flood(*seconds)),
        Some(Fault::Hold(gate)) => {
            gate.pass().await;
            Ok(())
        }
        Some(Fault::CutAfter | Fault::CutHalfway | Fault::HoldAnswer(_)) | None => Ok(()),
    }
}

async fn after(fault: Option<&Fault>, line: &Line) {
    match fault {
        Some(Fault::CutAfter) => line.cut(),
        Some(Fault::HoldAnswer(gate)) => gate.pass().await,
        _ => {}
    }
}

async fn get_updates(shared: &Shared, params: &Params) -> Outcome {
    let offset = params.number("offset").unwrap_or(0);
    let limit = params.number("limit").unwrap_or(100).clamp(1, 100) as usize;
    let patience = Duration::from_secs(params.number("timeout").unwrap_or(0).clamp(0, 50) as u64);
    let allowed = params.json("allowed_updates")?;
    let mut changes = shared.changes();
    let poll = shared.change(|state| {
        if let Some(Value::Array(kinds)) = allowed {
            let kinds: Vec<String> = kinds.iter().filter_map(|kind| kind.as_str().map(Into::into)).collect();
            state.allowed_updates = Some(kinds).filter(|kinds| !kinds.is_empty());
        }
        let keep_from = match offset {
            0.. => offset,
            from_end => {
                let first = state.updates.len().saturating_sub(from_end.unsigned_abs() as usize);
                state.updates.get(first).map_or(0, |update| update.id)
            }
        };
        state.updates.retain(|update| update.id >= keep_from);
        state.confirmed_offset = state.confirmed_offset.max(keep_from);
        state.polls += 1;
        state.polls
    });
    let deadline = tokio::time::Instant::now() + patience;
    loop {
        changes.mark_unchanged();
        {
            let state = shared.look();
            if state.polls != poll {
                return Err(Refusal::new(
                    409,
                    "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running",
                ));
            }
            let ready: Vec<Value> =
                state.updates.iter().take(limit).map(|update| update.body.clone()).collect();
            if !ready.is_empty() || tokio::time::Instant::now() >= deadline {
                return Ok(ready.into());
            }
        }
        let _ = tokio::time::timeout_at(deadline, changes.changed()).await;
    }
}

async fn download(
    State(shared): State<Arc<Shared>>,
    Path((bot, path)): Path<(String, String)>,
    ConnectInfo(line): OnLine,
) -> Response {
    if let Err(refusal) = check_token(&shared, &bot) {
        return answer(&Err(refusal));
    }
    let (call, fault) = Recorded::new(&shared, "download", None, json!({ "path": path }));
    let found = match before(fault.as_ref(), &line).await {
        Ok(()) => {
            let file = shared.look().files.values().find(|file| file.path == path).cloned();
            file.filter(|file| file.is_downloadable()).ok_or_else(|| Refusal::new(404, "Not Found"))
        }
        Err(refusal) => Err(refusal),
    };
    call.answered(found.as_ref().err());
    after(fault.as_ref(), &line).await;
    match found {
        Ok(file) => {
            let bytes = file.content();
            match fault {
                Some(Fault::CutHalfway) => half_of(&bytes),
                _ => bytes.into_response(),
            }
        }
        Err(refusal) => answer(&Err(refusal)),
    }
}

fn half_of(bytes: &Bytes) -> Response {
    let half = Ok(bytes.slice(..bytes.len() / 2));
    let broken = Err(std::io::Error::from(std::io::ErrorKind::ConnectionReset));
    let body = Body::from_stream(futures::stream::iter([half, broken]));
    ([(CONTENT_LENGTH, bytes.len())], body).into_response()
}
