//! The limits over real sockets, with time-outs of milliseconds. Each test waits for the event itself.

use super::*;
use crate::web::{answer_panic, slow_body};
use axum::{
    body::Bytes,
    extract::State,
    middleware,
    response::sse::{Event, Sse},
    routing::{get, post},
};
use futures::{Stream, stream};
use std::{convert::Infallible, future::Future};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    sync::{Mutex, Notify, mpsc},
    task::JoinHandle,
};
use tower_http::catch_panic::CatchPanicLayer;

/// Generous, for slow machines. Nothing waits for it when all is well.
const WAIT_TIMEOUT: Duration = Duration::from_secs(20);
const SHORT: Duration = Duration::from_millis(100);
const HELLO: &str = "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n";

fn limits() -> ServerLimits {
    ServerLimits {
        max_connections: 100,
        per_address: None,
        proxies: TrustedProxies::default(),
        header_timeout: WAIT_TIMEOUT,
        body_timeout: WAIT_TIMEOUT,
        write_timeout: WAIT_TIMEOUT,
    }
}

async fn soon<T>(event: impl Future<Output = T>) -> T {
    tokio::time::timeout(WAIT_TIMEOUT, event).await.expect("it happens soon")
}

/// Handlers that wait here are busy until the test opens the gate.
#[derive(Clone, Default)]
struct Gate {
    reached: Arc<Notify>,
    open: Arc<Notify>,
}

struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
    gate: Gate,
}

impl Server {
    async fn start(limits: ServerLimits) -> Self {
        Self::with(Router::new(), limits).await
    }

    async fn with(more: Router, limits: ServerLimits) -> Self {
        let gate = Gate::default();
        let wait = async |State(gate): State<Gate>| {
            gate.reached.notify_one();
            gate.open.notified().await;
            "opened"
        };
        let app = Router::new()
            .route("/hello", get(async || "hello"))
            .route("/gate", get(wait))
            .with_state(gate.clone())
            .merge(more);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        Self { address, task: tokio::spawn(serve(listener, app, limits)), gate }
    }

    async fn connect(&self) -> Client {
        Client(TcpStream::connect(self.address).await.unwrap())
    }

    /// A connection whose request has reached the gate.
    async fn at_the_gate(&self) -> Client {
        let mut client = self.connect().await;
        client.send("GET /gate HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
        soon(self.gate.reached.notified()).await;
        client
    }
}

struct Client(TcpStream);

impl Client {
    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Reads until the response has this text.
    async fn until(&mut self, text: &str) -> String {
        let mut seen = String::new();
        let read = async {
            while !seen.contains(text) {
                let mut buffer = [0; 4096];
                let count = self.0.read(&mut buffer).await.unwrap();
                assert!(count > 0, "closed after {seen:?}");
                seen.push_str(std::str::from_utf8(&buffer[..count]).unwrap());
            }
        };
        soon(read).await;
        seen
    }

    /// Everything until the server closes the connection.
    async fn rest(&mut self) -> String {
        let mut seen = Vec::new();
        // A reset is a close, too.
        let _ = soon(self.0.read_to_end(&mut seen)).await;
        String::from_utf8_lossy(&seen).into_owned()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_without_a_complete_header_are_closed() {
    let server = Server::start(ServerLimits { header_timeout: SHORT, ..limits() }).await;
    for begun in ["", "GET", "GET /hello HTTP/1.1\r\n", "GET /hello HTTP/1.1\r\nHost: localhost\r\nX-Slow: "]
    {
        let mut client = server.connect().await;
        client.send(begun).await;
        assert!(!client.rest().await.contains("200 OK"), "{begun:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_closed_after_their_response() {
    // Longer than a slow machine needs for the request itself.
    let header_timeout = Duration::from_secs(1);
    let server = Server::start(ServerLimits { header_timeout, ..limits() }).await;
    let mut client = server.connect().await;
    client.send(HELLO).await;
    assert!(client.rest().await.ends_with("hello"), "the whole response, and then the end");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_comes_too_slowly_is_cut_off() {
    let limits = ServerLimits { body_timeout: SHORT, ..limits() };
    let upload = Router::new()
        .route("/upload", post(async |body: Bytes| body.len().to_string()))
        .layer(middleware::from_fn_with_state(limits.body_timeout, slow_body::cut_off));
    let server = Server::with(upload, limits).await;
    let head = |length: usize| {
        format!("POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n")
    };
    let mut silent = server.connect().await;
    silent.send(&format!("{}half", head(8))).await;
    let mut trickling = server.connect().await;
    trickling.send(&head(1 << 20)).await;
    let (mut reading, mut writing) = trickling.0.into_split();
    // A byte in a millisecond is steady, but too slow. It stops when the server closes the connection.
    let trickle = tokio::spawn(async move {
        let mut pace = tokio::time::interval(Duration::from_millis(1));
        while writing.write_all(b"x").await.is_ok() {
            pace.tick().await;
        }
    });
    let mut answer = Vec::new();
    let _ = soon(reading.read_to_end(&mut answer)).await;
    soon(trickle).await.unwrap();
    for answer in [silent.rest().await, String::from_utf8_lossy(&answer).into_owned()] {
        assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("connection: close"), "{answer}");
        assert!(answer.contains("application/problem+json") && answer.contains("too slowly"), "{answer}");
    }

    let mut quick = server.connect().await;
    quick.send(&format!("{}complete", head(8))).await;
    quick.until("\r\n\r\n8").await;
}

/// Counts as sent until it is dropped.
struct SendOnDrop(mpsc::UnboundedSender<&'static str>, &'static str);

impl Drop for SendOnDrop {
    fn drop(&mut self) {
        let _ = self.0.send(self.1);
    }
}

fn endless(dropped: SendOnDrop) -> impl Stream<Item = Result<Bytes, Infallible>> {
    stream::repeat_with(move || {
        let _ = &dropped;
        Ok(Bytes::from_static(&[b'x'; 64 << 10]))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_cut_off_and_a_quiet_stream_is_not() {
    let (dropped, mut drops) = mpsc::unbounded_channel();
    let (say, said) = mpsc::unbounded_channel::<Event>();
    let said = Arc::new(Mutex::new(said));
    let large = async move || Body::from_stream(endless(SendOnDrop(dropped.clone(), "the endless response")));
    let events = async move || {
        let events = stream::unfold(said, async |said| {
            let event = said.lock().await.recv().await?;
            Some((Ok::<_, Infallible>(event), said.clone()))
        });
        Sse::new(events)
    };
    let routes = Router::new().route("/large", get(large)).route("/events", get(events));
    let server = Server::with(routes, ServerLimits { write_timeout: SHORT, ..limits() }).await;

    let mut quiet = server.connect().await;
    quiet.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    quiet.until("text/event-stream").await;
    let mut stuck = server.connect().await;
    stuck.send("GET /large HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    assert_eq!(soon(drops.recv()).await, Some("the endless response"));
    // The quiet stream has waited for longer than the time-out.
    say.send(Event::default().data("still here")).unwrap();
    quiet.until("still here").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_connection_takes_the_place_of_the_longest_idle_one() {
    let server = Server::start(ServerLimits { max_connections: 3, ..limits() }).await;
    let mut busy = server.at_the_gate().await;
    let (mut older, mut newer) = (server.connect().await, server.connect().await);
    let (start, end) = HELLO.split_at(10);
    older.send(start).await;
    newer.send(start).await;
    let mut new = server.connect().await;
    new.send(HELLO).await;
    new.until("hello").await;
    assert_eq!(older.rest().await, "", "closed without a response");
    newer.send(end).await;
    newer.until("hello").await;
    server.gate.open.notify_one();
    busy.until("opened").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_never_stop_a_new_request() {
    let server = Server::start(ServerLimits { max_connections: 8, ..limits() }).await;
    let mut idle = Vec::new();
    for _ in 0..100 {
        let mut client = server.connect().await;
        client.send("GET /hello HTTP/1.1\r\n").await;
        idle.push(client);
    }
    for _ in 0..20 {
        let mut client = server.connect().await;
        client.send(HELLO).await;
        client.until("hello").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_limit_a_new_request_waits_for_the_busy_ones() {
    let server = Server::start(ServerLimits { max_connections: 2, ..limits() }).await;
    let (mut first, mut second) = (server.at_the_gate().await, server.at_the_gate().await);
    let mut third = server.connect().await;
    third.send(HELLO).await;
    server.gate.open.notify_one();
    third.until("hello").await;
    server.gate.open.notify_one();
    first.until("opened").await;
    second.until("opened").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_stop_idle_connections_close_and_responses_are_completed() {
    let server = Server::start(limits()).await;
    let mut idle = server.connect().await;
    idle.send(HELLO).await;
    idle.until("hello").await;
    let mut busy = server.at_the_gate().await;
    server.task.abort();
    assert_eq!(idle.rest().await, "");
    server.gate.open.notify_one();
    assert!(busy.rest().await.ends_with("opened"), "complete, and then closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panic_in_a_handler_is_a_500_and_the_connection_stays() {
    let broken = async || -> &'static str { panic!("on purpose") };
    let routes = Router::new().route("/broken", get(broken)).layer(CatchPanicLayer::custom(answer_panic));
    let server = Server::with(routes, limits()).await;
    let mut client = server.connect().await;
    client.send("GET /broken HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    let answer = client.until("try again").await;
    assert!(answer.starts_with("HTTP/1.1 500") && !answer.contains("on purpose"), "{answer}");
    client.send(HELLO).await;
    client.until("hello").await;
}

#[tokio::test]
async fn one_address_gets_no_more_than_its_share() {
    let proxies = TrustedProxies::new(vec!["10.0.0.1/32".parse().unwrap()]);
    let limits = ServerLimits { max_connections: 40, per_address: Some(2), proxies, ..limits() };
    let connections = Arc::new(Connections::new(&limits));
    let open = async |address: &str| {
        let slot = connections.admit(address.parse().unwrap()).await;
        slot.map(|slot| {
            let slot = Arc::new(slot);
            (Slot::begin_request(&slot), slot)
        })
    };
    let first = open("2001:db8:1:2::1").await.unwrap();
    let (busy, idle) = open("2001:db8:1:2::2").await.unwrap();
    assert!(open("2001:db8:1:2::3").await.is_none(), "the same network");
    let _other = open("2001:db8:1:3::1").await.expect("another network");
    let mut through_proxies = Vec::new();
    for _ in 0..10 {
        through_proxies.push(open("10.0.0.1").await.expect("a proxy has no share"));
        through_proxies.push(open("127.0.0.1").await.expect("this machine has none either"));
    }

    drop(busy);
    let closes = async move {
        idle.evicted().await;
        drop(idle);
    };
    let (third, ()) = soon(async { tokio::join!(open("2001:db8:1:2::3"), closes) }).await;
    assert!(third.is_some(), "its own idle connection made room");
    drop(first);
}

#[tokio::test]
async fn a_response_that_is_not_read_yet_is_not_cut_for_a_new_connection() {
    let connections = Arc::new(Connections::new(&ServerLimits { max_connections: 2, ..limits() }));
    let address = "127.0.0.1".parse().unwrap();
    let unread = connections.admit(address).await.unwrap();
    unread.write_stalled().store(true, std::sync::atomic::Ordering::Relaxed);
    let newer = connections.admit(address).await.unwrap();
    let closes = async move { newer.evicted().await };
    let admitted = async {
        tokio::select! {
            slot = connections.admit(address) => slot,
            () = unread.evicted() => panic!("the unread response was cut"),
        }
    };
    let (admitted, ()) = soon(async { tokio::join!(admitted, closes) }).await;
    assert!(admitted.is_some());
}

#[test]
fn connections_leave_room_for_other_files() {
    assert_eq!(connections_within(512, None), 512);
    assert_eq!(connections_within(512, Some(1 << 20)), 512);
    assert_eq!(connections_within(512, Some(1024)), 480);
    assert_eq!(connections_within(512, Some(256)), 96);
    assert_eq!(connections_within(512, Some(64)), MIN_CONNECTIONS);
    assert_eq!(connections_within(100, Some(1024)), 100);
}
