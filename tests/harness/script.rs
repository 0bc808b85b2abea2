//! A model that says what the test scripts, behind OpenAI's chat completions. It refuses what OpenAI refuses, so
//! that a broken prompt fails the test and not the first user.

use super::{
    PATIENCE,
    gate::Gate,
    script_check as check,
    server::{OnLine, Server},
};
use axum::{
    Json, Router,
    extract::{ConnectInfo, DefaultBodyLimit, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use regex::Regex;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, LazyLock, Mutex, MutexGuard},
};
use tokio::sync::watch;

/// What the model does when asked.
#[derive(Clone, Debug)]
pub enum Answer {
    Text(String),
    Calls(Vec<(String, Value)>),
    Raw(u16, String),
    /// 429, and when to come back.
    Busy {
        retry_after_ms: u64,
    },
    /// The connection dies without an answer.
    Nothing,
}

type Line = Box<dyn FnOnce(&Value) -> Answer + Send>;

#[derive(Default)]
struct Script {
    lines: VecDeque<Line>,
    gates: VecDeque<Gate>,
    default_reply: String,
    requests: Vec<Value>,
    refusals: Vec<String>,
    calls_made: usize,
}

struct Shared {
    script: Mutex<Script>,
    asked: watch::Sender<usize>,
}

impl Shared {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

pub struct ScriptedModel {
    shared: Arc<Shared>,
    server: Server,
}

impl ScriptedModel {
    /// A model without a script: it answers "Done." to everything.
    pub async fn start() -> ScriptedModel {
        ScriptedModel::start_beside(Router::new()).await
    }

    /// The same on a server that answers at other paths, too.
    pub async fn start_beside(others: Router) -> ScriptedModel {
        let script = Script { default_reply: "Done.".into(), ..Script::default() };
        let shared = Arc::new(Shared { script: Mutex::new(script), asked: watch::Sender::new(0) });
        let router = Router::new()
            .route("/v1/chat/completions", post(complete))
            .layer(DefaultBodyLimit::disable())
            .with_state(shared.clone())
            .merge(others);
        ScriptedModel { shared, server: Server::start(router) }
    }

    /// What goes into `providers.openai.base_url`.
    pub fn base_url(&self) -> String {
        format!("{}/v1", self.server.url())
    }

    pub fn next_reply(&self, text: &str) {
        self.next(Answer::Text(text.into()));
    }

    pub fn next_calls<'a>(&self, calls: impl IntoIterator<Item = (&'a str, Value)>) {
        let calls = calls.into_iter().map(|(tool, arguments)| (tool.to_owned(), arguments)).collect();
        self.next(Answer::Calls(calls));
    }

    pub fn next_raw(&self, status: u16, body: &str) {
        self.next(Answer::Raw(status, body.into()));
    }

    pub fn next(&self, answer: Answer) {
        self.next_with(move |_| answer);
    }

    /// An answer that depends on the request, such as a tool call on an id only the bot knows.
    pub fn next_with(&self, answer: impl FnOnce(&Value) -> Answer + Send + 'static) {
        self.shared.script().lines.push_back(Box::new(answer));
    }

    /// One tool call on all attachments the request names, in order of appearance.
    pub fn next_call_on_all(&self, tool: &str, mut arguments: Value) {
        let tool = tool.to_owned();
        self.next_with(move |request| {
            arguments["images"] = attachment_ids(request).into();
            Answer::Calls(vec![(tool, arguments)])
        });
    }

    pub fn default_reply(&self, text: &str) {
        self.shared.script().default_reply = text.into();
    }

    /// The next request is not answered until the gate is opened.
    pub fn hold_next(&self) -> Gate {
        let gate = Gate::closed();
        self.shared.script().gates.push_back(gate.clone());
        gate
    }

    /// Every request so far, refused ones too.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.script().requests.clone()
    }

    /// Why requests were refused; a test of a whole turn asserts that this is empty.
    pub fn refusals(&self) -> Vec<String> {
        self.shared.script().refusals.clone()
    }

    pub async fn wait_for_requests(&self, count: usize) {
        let mut asked = self.shared.asked.subscribe();
        let came = tokio::time::timeout(PATIENCE, asked.wait_for(|asked| *asked >= count)).await.is_ok();
        assert!(came, "waited {PATIENCE:?} for request {count} to the model, saw {}", self.requests().len());
    }
}

/// The ids in `[Attachment ID: …]` markers of all messages, each once, in order.
pub fn attachment_ids(request: &Value) -> Vec<String> {
    static MARKER: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\[Attachment ID: ([0-9a-fA-F-]{36})\]").expect("a valid pattern"));
    let mut ids: Vec<String> = Vec::new();
    for message in request["messages"].as_array().into_iter().flatten() {
        let text = message["content"].to_string();
        for id in MARKER.captures_iter(&text).map(|marker| marker[1].to_owned()) {
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }
    ids
}

async fn complete(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): OnLine,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    let bearer = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let checked = match bearer.strip_prefix("Bearer ").is_some_and(|key| !key.is_empty()) {
        true => check::request(&request).map_err(|complaint| (400, complaint)),
        false => {
            Err((401, json!({ "message": "You didn't provide an API key.", "param": null, "code": null })))
        }
    };
    let (answer, gate, first_call) = {
        let mut script = shared.script();
        script.requests.push(request.clone());
        let answer = match checked {
            Ok(()) => match script.lines.pop_front() {
                Some(answer) => answer(&request),
                None => Answer::Text(script.default_reply.clone()),
            },
            Err((status, mut complaint)) => {
                complaint["type"] = "invalid_request_error".into();
                script.refusals.push(complaint["message"].as_str().unwrap_or_default().into());
                Answer::Raw(status, json!({ "error": complaint }).to_string())
            }
        };
        let first_call = script.calls_made;
        if let Answer::Calls(calls) = &answer {
            script.calls_made += calls.len();
        }
        (answer, script.gates.pop_front(), first_call)
    };
    shared.asked.send_modify(|asked| *asked += 1);
    if let Some(gate) = gate {
        gate.pass().await;
    }
    let (message, finish) = match answer {
        Answer::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Answer::Calls(calls) => {
            let call = |(index, (tool, arguments)): (usize, (String, Value))| {
                let id = format!("call_{}", first_call + index + 1);
                json!({ "id": id, "type": "function",
                    "function": { "name": tool, "arguments": arguments.to_string() } })
            };
            let calls: Vec<Value> = calls.into_iter().enumerate().map(call).collect();
            (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
        }
        Answer::Raw(status, body) => {
            let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            return (status, [(header::CONTENT_TYPE, "application/json")], body).into_response();
        }
        Answer::Busy { retry_after_ms } => {
            let body = json!({ "error": { "message": "Rate limit reached.", "type": "requests", "code": "rate_limit_exceeded" } });
            let wait = [("retry-after-ms", retry_after_ms.to_string())];
            return (StatusCode::TOO_MANY_REQUESTS, wait, Json(body)).into_response();
        }
        Answer::Nothing => {
            line.cut();
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
    };
    match request["stream"] == true {
        true => streamed(&request, message, finish),
        false => {
            let choice = json!({ "index": 0, "message": message, "finish_reason": finish, "logprobs": null });
            let mut body = envelope(&request, "chat.completion");
            body["choices"] = json!([choice]);
            body["usage"] = usage();
            Json(body).into_response()
        }
    }
}

fn envelope(request: &Value, object: &str) -> Value {
    json!({ "id": "chatcmpl-scripted", "object": object, "created": 1_700_000_000, "model": request["model"] })
}

fn usage() -> Value {
    json!({ "prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120 })
}

/// The same answer in pieces: text by the word, each call's arguments apart from its name.
fn streamed(request: &Value, message: Value, finish: &str) -> Response {
    let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
    for word in message["content"].as_str().unwrap_or_default().split_inclusive(' ') {
        deltas.push(json!({ "content": word }));
    }
    for (index, call) in message["tool_calls"].as_array().into_iter().flatten().enumerate() {
        let mut opening = call.clone();
        opening["index"] = index.into();
        opening["function"]["arguments"] = "".into();
        deltas.push(json!({ "tool_calls": [opening] }));
        let arguments = &call["function"]["arguments"];
        deltas.push(json!({ "tool_calls": [{ "index": index, "function": { "arguments": arguments } }] }));
    }
    let mut body = String::new();
    let mut emit = |choices: Value, usage: Value| {
        let mut chunk = envelope(request, "chat.completion.chunk");
        chunk["choices"] = choices;
        chunk["usage"] = usage;
        body += &format!("data: {chunk}\n\n");
    };
    for delta in deltas {
        emit(json!([{ "index": 0, "delta": delta, "finish_reason": null }]), Value::Null);
    }
    emit(json!([{ "index": 0, "delta": {}, "finish_reason": finish }]), Value::Null);
    if request["stream_options"]["include_usage"] == true {
        emit(json!([]), usage());
    }
    body += "data: [DONE]\n\n";
    ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
}
