//! A model with scripted answers, behind the APIs of OpenAI, Anthropic and Gemini at once, streamed or not. Each API
//! refuses requests that the real one would refuse.

mod anthropic;
mod gemini;
mod openai;
pub mod reading;
mod script;

pub use script::{Answer, Said};

use super::{
    WAIT_TIMEOUT,
    gate::Gate,
    rules,
    server::{Line, OnLine, Server},
};
use axum::{
    Json, Router,
    body::{Body, Bytes},
    extract::{ConnectInfo, DefaultBodyLimit, Path, RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
    routing::post,
};
use futures::{StreamExt as _, stream};
use photothread::providers::Vendor;
use reading::attachment_ids;
use script::{Called, Script};
use serde_json::Value;
use std::{
    io,
    sync::{Arc, Mutex, MutexGuard},
};
use tokio::sync::watch;

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
        let gemini = Router::new().route("/v1beta/models/{call}", post(ask_gemini));
        ScriptedModel::serve(gemini, Router::new())
    }

    /// The same on a server with further routes, which include Gemini's paths.
    pub async fn start_beside(others: Router) -> ScriptedModel {
        ScriptedModel::serve(Router::new(), others)
    }

    fn serve(more: Router<Arc<Shared>>, others: Router) -> ScriptedModel {
        let script = Mutex::new(Script::new(Answer::Text("Done.".into())));
        let shared = Arc::new(Shared { script, asked: watch::Sender::new(0) });
        let router = Router::new()
            .route("/v1/chat/completions", post(ask_openai))
            .route("/v1/messages", post(ask_anthropic))
            .merge(more)
            .layer(DefaultBodyLimit::disable())
            .with_state(shared.clone())
            .merge(others);
        ScriptedModel { shared, server: Server::start(router) }
    }

    /// The value of `providers.openai.base_url`.
    pub fn base_url(&self) -> String {
        self.base_url_of(Vendor::OpenAi)
    }

    /// The value of this provider's `base_url`.
    pub fn base_url_of(&self, vendor: Vendor) -> String {
        match vendor {
            Vendor::OpenAi => format!("{}/v1", self.server.url()),
            Vendor::Anthropic | Vendor::Gemini => self.server.url(),
        }
    }

    pub fn next_reply(&self, text: &str) {
        self.next(Answer::Text(text.into()));
    }

    pub fn next_calls<'a>(&self, calls: impl IntoIterator<Item = (&'a str, Value)>) {
        let calls = calls.into_iter().map(|(tool, arguments)| (tool.to_owned(), arguments)).collect();
        self.next(Answer::Calls(calls));
    }

    /// A streamed text. Each piece is sent when its gate is opened.
    pub fn next_slowly<const N: usize>(&self, pieces: [&str; N]) -> [Gate; N] {
        let gates = pieces.map(|_| Gate::closed());
        let pieces = gates.iter().cloned().zip(pieces.map(str::to_owned)).collect();
        self.next(Answer::Slow(pieces));
        gates
    }

    pub fn next_raw(&self, status: u16, body: &str) {
        self.next(Answer::Raw(status, body.into()));
    }

    pub fn next(&self, answer: Answer) {
        self.next_with(move |_| answer);
    }

    /// An answer that depends on the request, such as a tool call with an id of the request.
    pub fn next_with(&self, answer: impl FnOnce(&Value) -> Answer + Send + 'static) {
        self.shared.script().lines.push_back(Box::new(answer));
    }

    /// One tool call on all attachments of the request, in order of appearance.
    pub fn next_call_on_all(&self, tool: &str, mut arguments: Value) {
        let tool = tool.to_owned();
        self.next_with(move |request| {
            arguments["images"] = attachment_ids(request).into();
            Answer::Calls(vec![(tool, arguments)])
        });
    }

    pub fn default_reply(&self, text: &str) {
        self.always(Answer::Text(text.into()));
    }

    /// The answer from now on when the script is at its end.
    pub fn always(&self, answer: Answer) {
        self.shared.script().otherwise = answer;
    }

    /// The next request is not answered until the gate is opened.
    pub fn hold_next(&self) -> Gate {
        let gate = Gate::closed();
        self.shared.script().gates.push_back(gate.clone());
        gate
    }

    /// Every request so far, refused ones too.
    pub fn requests(&self) -> Vec<Value> {
        self.shared.script().asked.iter().map(|(_, request)| request.clone()).collect()
    }

    /// The vendor whose API received each request.
    pub fn vendors_asked(&self) -> Vec<Vendor> {
        self.shared.script().asked.iter().map(|(vendor, _)| *vendor).collect()
    }

    /// Why requests were refused; a test of a whole turn asserts that this is empty.
    pub fn refusals(&self) -> Vec<String> {
        self.shared.script().refusals.clone()
    }

    pub async fn wait_for_requests(&self, count: usize) {
        let mut asked = self.shared.asked.subscribe();
        let came = tokio::time::timeout(WAIT_TIMEOUT, asked.wait_for(|asked| *asked >= count)).await.is_ok();
        assert!(
            came,
            "waited {WAIT_TIMEOUT:?} for request {count} to the model, saw {}",
            self.requests().len()
        );
    }
}

/// An unstreamed answer of this vendor's API.
pub fn whole_answer(vendor: Vendor, model: &str, said: &Said) -> Value {
    Asked { vendor, model: model.into(), wanted: Wanted::Whole, request: Value::Null }.whole(said)
}

/// An answer as a stream of events.
struct Pieces {
    /// What comes before the text, such as thoughts.
    before: Vec<String>,
    text: Vec<String>,
    /// What comes after it, such as calls.
    after: Vec<String>,
    /// The events that end the stream.
    end: Vec<String>,
}

/// A request, and whether its answer is streamed.
struct Asked {
    vendor: Vendor,
    model: Value,
    wanted: Wanted,
    request: Value,
}

#[derive(Clone, Copy, PartialEq)]
enum Wanted {
    Whole,
    Events,
    /// What Gemini streams without `alt=sse`.
    Array,
}

async fn ask_openai(
    shared: State<Arc<Shared>>,
    line: OnLine,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    let wanted = if request["stream"] == true { Wanted::Events } else { Wanted::Whole };
    let asked = Asked { vendor: Vendor::OpenAi, model: request["model"].clone(), wanted, request };
    serve(shared, line, headers, asked).await
}

async fn ask_anthropic(
    shared: State<Arc<Shared>>,
    line: OnLine,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    let wanted = if request["stream"] == true { Wanted::Events } else { Wanted::Whole };
    let asked = Asked { vendor: Vendor::Anthropic, model: request["model"].clone(), wanted, request };
    serve(shared, line, headers, asked).await
}

async fn ask_gemini(
    shared: State<Arc<Shared>>,
    line: OnLine,
    Path(call): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    Json(request): Json<Value>,
) -> Response {
    let query = query.unwrap_or_default();
    let (model, wanted) = match call.rsplit_once(':') {
        Some((model, "generateContent")) => (model, Wanted::Whole),
        Some((model, "streamGenerateContent")) if query.contains("alt=sse") => (model, Wanted::Events),
        Some((model, "streamGenerateContent")) => (model, Wanted::Array),
        _ => return said(404, gemini::error(404, "The requested URL was not found on this server.")),
    };
    let asked = Asked { vendor: Vendor::Gemini, model: model.into(), wanted, request };
    serve(shared, line, headers, asked).await
}

async fn serve(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(line): OnLine,
    headers: HeaderMap,
    asked: Asked,
) -> Response {
    let complaint = || {
        let complaint = rules::complaint(asked.vendor, &asked.request);
        complaint.or_else(|| asked.unsigned_call()).map(|complaint| (400, complaint))
    };
    let refused = asked.unwelcome(&headers).or_else(complaint);
    let (answer, gate) = {
        let mut script = shared.script();
        script.asked.push((asked.vendor, asked.request.clone()));
        let answer = match refused {
            Some((status, complaint)) => {
                let error = asked.error(status, &complaint).to_string();
                script.refusals.push(complaint);
                Answer::Raw(status, error)
            }
            None => script.answer(&asked.request),
        };
        (answer, script.gates.pop_front())
    };
    shared.asked.send_modify(|asked| *asked += 1);
    if let Some(gate) = gate {
        gate.pass().await;
    }
    asked.answered(answer, line).await
}

impl Asked {
    fn unwelcome(&self, headers: &HeaderMap) -> Option<(u16, String)> {
        let own = self.key_header();
        let keys = [openai::KEY, anthropic::KEY, gemini::KEY];
        if let Some(foreign) = keys.into_iter().find(|key| *key != own && headers.contains_key(*key)) {
            // No vendor answers this, but no vendor may be sent such a request.
            return Some((400, format!("{foreign} carries a key that is not for {}", self.vendor)));
        }
        match self.vendor {
            Vendor::OpenAi => openai::unwelcome(headers),
            Vendor::Anthropic => anthropic::unwelcome(headers),
            Vendor::Gemini => gemini::unwelcome(headers),
        }
    }

    fn unsigned_call(&self) -> Option<String> {
        let is_signed = self.vendor == Vendor::Gemini && gemini::is_signed(self);
        is_signed.then(|| rules::gemini::unsigned_call(&self.request)).flatten()
    }

    fn key_header(&self) -> &'static str {
        match self.vendor {
            Vendor::OpenAi => openai::KEY,
            Vendor::Anthropic => anthropic::KEY,
            Vendor::Gemini => gemini::KEY,
        }
    }

    fn error(&self, status: u16, message: &str) -> Value {
        match self.vendor {
            Vendor::OpenAi => openai::error(status, message),
            Vendor::Anthropic => anthropic::error(status, message),
            Vendor::Gemini => gemini::error(status, message),
        }
    }

    fn whole(&self, said: &Said) -> Value {
        match self.vendor {
            Vendor::OpenAi => openai::whole(self, said),
            Vendor::Anthropic => anthropic::whole(self, said),
            Vendor::Gemini => gemini::whole(self, said),
        }
    }

    fn pieces(&self, said: &Said) -> Pieces {
        match self.vendor {
            Vendor::OpenAi => openai::pieces(self, said),
            Vendor::Anthropic => anthropic::pieces(self, said),
            Vendor::Gemini => gemini::pieces(self, said),
        }
    }

    async fn answered(&self, answer: Answer, line: Line) -> Response {
        match answer {
            Answer::All(said) => self.answer(&said),
            Answer::Text(_) | Answer::Calls(_) => {
                unreachable!("the script turns these into all that is said")
            }
            Answer::Raw(status, body) => said(status, body),
            Answer::Error(status, message) => said(status, self.error(status, &message)),
            Answer::Garbled => {
                let garbled = "{\"text\": oops";
                let event = format!("data: {garbled}\n\n");
                self.body(if self.wanted == Wanted::Events { event } else { garbled.into() }, Then::Ends)
            }
            Answer::Page(page) => {
                ([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()
            }
            Answer::Busy { retry_after_ms } => self.busy(retry_after_ms),
            Answer::HalfStream(text) if self.wanted == Wanted::Events => {
                self.body(self.half(&text), Then::Ends)
            }
            Answer::Slow(pieces) => self.slow(pieces),
            Answer::Nothing | Answer::HalfStream(_) => {
                line.cut();
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
            Answer::Half(text) => self.body(self.half(&text), Then::Dies),
            Answer::Silence(text) if text.is_empty() => std::future::pending().await,
            Answer::Silence(text) if self.wanted == Wanted::Events => {
                self.body(self.half(&text), Then::Waits)
            }
            Answer::Silence(_) => self.body("{".into(), Then::Waits),
            Answer::Huge => {
                let opening =
                    if self.wanted == Wanted::Events { "data: {\"text\":\"" } else { "{\"text\":\"" };
                self.body(opening.into(), Then::GoesOnForMegabytes(50))
            }
        }
    }

    fn answer(&self, told: &Said) -> Response {
        if self.wanted == Wanted::Whole {
            return said(200, self.whole(told));
        }
        let Pieces { before, text, after, end } = self.pieces(told);
        let events = [before, text, after, end].concat();
        if self.wanted == Wanted::Events {
            return self.body(events.concat(), Then::Ends);
        }
        let data = |event: &String| event.trim().trim_start_matches("data: ").to_owned();
        said(200, format!("[{}]", events.iter().map(data).collect::<Vec<_>>().join(",")))
    }

    fn slow(&self, pieces: Vec<(Gate, String)>) -> Response {
        assert!(self.wanted == Wanted::Events, "only a stream can halt in the middle");
        let (gates, texts): (Vec<Gate>, Vec<String>) = pieces.into_iter().unzip();
        let Pieces { before, text, after, end } = self.pieces(&Said::in_pieces(texts));
        let spoken = stream::iter(gates.into_iter().zip(text)).then(|(gate, event)| async move {
            gate.pass().await;
            event
        });
        let begun = stream::once(async move { before.concat() });
        let ended = stream::once(async move { [after, end].concat().concat() });
        let body = Body::from_stream(begun.chain(spoken).chain(ended).map(Ok::<_, io::Error>));
        ([(header::CONTENT_TYPE, "text/event-stream")], body).into_response()
    }

    fn busy(&self, retry_after_ms: u64) -> Response {
        let error = self.error(429, "Rate limit reached.");
        // Anthropic sends whole seconds, which is too long for a test.
        let seconds = retry_after_ms as f64 / 1000.0;
        match self.vendor {
            Vendor::OpenAi => {
                ([("retry-after-ms", retry_after_ms.to_string())], said(429, error)).into_response()
            }
            Vendor::Anthropic => ([("retry-after", seconds.to_string())], said(429, error)).into_response(),
            Vendor::Gemini => said(429, gemini::busy(retry_after_ms)),
        }
    }

    /// The start of an answer, up to this text.
    fn half(&self, text: &str) -> String {
        let told = Said::text(text);
        if self.wanted == Wanted::Events {
            let Pieces { before, text, .. } = self.pieces(&told);
            return [before, text].concat().concat();
        }
        let whole: Vec<char> = self.whole(&told).to_string().chars().collect();
        whole[..whole.len() / 2].iter().collect()
    }

    fn body(&self, text: String, then: Then) -> Response {
        let begun = stream::once(async { Ok::<_, io::Error>(Bytes::from(text)) });
        let cut = || {
            stream::once(async {
                // Yields once, so that the text is sent before the connection is cut.
                tokio::task::yield_now().await;
                Err(io::ErrorKind::ConnectionReset.into())
            })
        };
        let body = match then {
            Then::Ends => Body::from_stream(begun),
            Then::Dies => Body::from_stream(begun.chain(cut())),
            Then::Waits => Body::from_stream(begun.chain(stream::pending())),
            Then::GoesOnForMegabytes(count) => {
                let piece = Bytes::from(vec![b'x'; 1 << 20]);
                Body::from_stream(begun.chain(stream::iter((0..count).map(move |_| Ok(piece.clone())))))
            }
        };
        let kind = if self.wanted == Wanted::Events { "text/event-stream" } else { "application/json" };
        ([(header::CONTENT_TYPE, kind)], body).into_response()
    }
}

/// What follows the beginning of a body.
enum Then {
    Ends,
    Dies,
    Waits,
    GoesOnForMegabytes(usize),
}

fn said(status: u16, body: impl ToString) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    (status, [(header::CONTENT_TYPE, "application/json")], body.to_string()).into_response()
}
