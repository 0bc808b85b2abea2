//! The HTTP server: accepts connections within limits and serves HTTP/1.1 on them. No client can hold a connection
//! without using it, and connections never take the file descriptors that the database, the files and Telegram need.
//!
//! | a client that … | is cut off after |
//! | --- | --- |
//! | sends nothing, or half a header, on a new or on a kept-alive connection | `header_timeout` |
//! | sends its body too slowly | `body_timeout` (see `slow_body`) |
//! | does not read its response | `write_timeout` |
//!
//! At `max_connections`, a new connection takes the place of the one that has been idle the longest. If none is idle,
//! it waits for a place, and further ones wait in the listener's backlog, where they use no file descriptor. An address
//! with more than its share loses its own idle connections; if none of them is idle, its new one is closed at once.

mod connections;
mod stream;
#[cfg(test)]
mod tests;

use super::address::TrustedProxies;
use axum::{Router, body::Body, extract::ConnectInfo, http::Request};
use connections::{Busy, Connections, Slot};
use hyper::{
    body::{Body as HttpBody, Frame, Incoming, SizeHint},
    server::conn::http1,
    service::{Service as _, service_fn},
};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};
use stream::TimedStream;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

/// How long no connection is accepted after an error, such as too many open files.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_secs(1);
/// The read buffer of a connection, and so the limit of a header; also the write buffer.
const BUFFER_BYTES: usize = 64 << 10;
/// File descriptors that are never used for connections: the database, Telegram, models, the log.
const RESERVED_FILES: u64 = 32;
/// The smallest number of connections with which a page can be used.
const MIN_CONNECTIONS: usize = 8;
/// No address takes more than this part of all connections.
const ADDRESS_SHARE: usize = 4;

/// What clients may take, and for how long. The operator sets only the number of connections.
#[derive(Clone, Debug)]
pub struct ServerLimits {
    pub max_connections: usize,
    /// Connections of one address. None: only the total counts.
    pub per_address: Option<usize>,
    /// Addresses of many people, which have no limit of their own.
    pub proxies: TrustedProxies,
    /// For the header of a request, from the moment at which the server waits for it. So it is also how long a
    /// connection may be idle.
    pub header_timeout: Duration,
    /// In this time a client must send `slow_body::MIN_BYTES` of a body, or all that is left of it.
    pub body_timeout: Duration,
    /// In this time a client must read something of what is sent to it.
    pub write_timeout: Duration,
}

impl ServerLimits {
    /// At most `wanted` connections, and fewer if the limit on open files does not leave room for them.
    pub fn new(wanted: usize) -> Self {
        Self {
            max_connections: connections_within(wanted, max_open_files()),
            per_address: None,
            proxies: TrustedProxies::default(),
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
        }
    }

    /// No single address can take all connections, except the proxies, through which many people come.
    pub fn shared_between_addresses(self, proxies: TrustedProxies) -> Self {
        Self { per_address: Some(self.max_connections.div_ceil(ADDRESS_SHARE)), proxies, ..self }
    }
}

/// Half of the open files, because a request may hold a file beside its connection.
fn connections_within(wanted: usize, max_open_files: Option<u64>) -> usize {
    let room = max_open_files.map_or(u64::MAX, |files| (files / 2).saturating_sub(RESERVED_FILES));
    wanted.min(usize::try_from(room).unwrap_or(usize::MAX)).max(MIN_CONNECTIONS)
}

/// The soft limit of this process. None if there is no limit.
fn max_open_files() -> Option<u64> {
    #[cfg(unix)]
    return rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    #[cfg(not(unix))]
    return None;
}

/// Serves until dropped. Then idle connections close, and the others close after their response.
pub async fn serve(listener: TcpListener, app: Router, limits: ServerLimits) {
    let connections = Arc::new(Connections::new(&limits));
    let stopping = CancellationToken::new();
    let _stop_when_dropped = stopping.clone().drop_guard();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.header_timeout).max_buf_size(BUFFER_BYTES);
    loop {
        let (stream, peer) = match listener.accept().await {
            Ok(accepted) => accepted,
            Err(error) => {
                recover_from(error).await;
                continue;
            }
        };
        let Some(slot) = connections.admit(peer.ip()).await else {
            debug!("connection refused: too many of one address");
            continue;
        };
        let connection = Connection {
            slot: Arc::new(slot),
            peer,
            app: TowerToHyperService::new(app.clone()),
            http: http.clone(),
            write_timeout: limits.write_timeout,
        };
        tokio::spawn(connection.run(stream, stopping.clone()));
    }
}

/// A client that is gone already is no reason to pause. Anything else may last, and must not become a busy loop.
async fn recover_from(error: io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        error!(%error, op = "accept", "no connection accepted; trying again in {ACCEPT_RETRY_DELAY:?}");
        tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
    }
}

/// One accepted connection.
struct Connection {
    slot: Arc<Slot>,
    peer: SocketAddr,
    app: TowerToHyperService<Router>,
    http: http1::Builder,
    write_timeout: Duration,
}

impl Connection {
    async fn run(self, stream: TcpStream, stopping: CancellationToken) {
        // Without it, small events wait for the acknowledgement of the previous one.
        let _ = stream.set_nodelay(true);
        let Self { slot, peer, app, http, write_timeout } = self;
        let stream = TimedStream::new(stream, write_timeout, slot.write_stalled());
        let for_requests = slot.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            let busy = Slot::begin_request(&for_requests);
            request.extensions_mut().insert(ConnectInfo(peer));
            let response = app.call(request.map(Body::new));
            async move { response.await.map(|response| response.map(|body| BusyBody { body, _busy: busy })) }
        });
        let connection = http.serve_connection(TokioIo::new(stream), service);
        tokio::pin!(connection);
        let mut stop_requested = false;
        loop {
            tokio::select! {
                ended = connection.as_mut() => {
                    if let Err(error) = ended {
                        debug!(%error, "connection ended early");
                    }
                    return;
                }
                () = slot.evicted() => return,
                () = stopping.cancelled(), if !stop_requested => {
                    stop_requested = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// A response body. Its connection counts as busy until the body is sent or given up.
struct BusyBody {
    body: Body,
    _busy: Busy,
}

impl HttpBody for BusyBody {
    type Data = bytes::Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
