//! Serves a router on 127.0.0.1 from a thread of its own, so that a blocked test does not block the stand-ins. A handler
//! can cut the connection that it was called on.

use axum::{
    Router,
    extract::connect_info::{ConnectInfo, Connected},
    serve::{IncomingStream, Listener},
};
use std::{
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    sync::oneshot,
};

/// A panic on this thread fails the test.
pub(super) const THREAD_NAME: &str = "stand-in";

/// A running server; dropping it closes every connection.
pub struct Server {
    pub address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub fn start(router: Router) -> Server {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a non-blocking listener");
        let address = listener.local_addr().expect("a bound address");
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::Builder::new().name(THREAD_NAME.into());
        let serve = move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
            runtime.block_on(async {
                let lines = Lines(TcpListener::from_std(listener).expect("a listener"));
                let service = router.into_make_service_with_connect_info::<Line>();
                tokio::select! {
                    _ = stopped => {}
                    _ = axum::serve(lines, service) => {}
                }
            });
            runtime.shutdown_background();
        };
        let thread = thread.spawn(serve).expect("a thread");
        Server { address, stop: Some(stop), thread: Some(thread) }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The connection of a request, for its handler.
#[derive(Clone, Debug)]
pub struct Line(Arc<AtomicBool>);

pub type OnLine = ConnectInfo<Line>;

impl Line {
    /// Closes the connection in both directions: the client gets no answer.
    pub fn cut(&self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

impl Connected<IncomingStream<'_, Lines>> for Line {
    fn connect_info(stream: IncomingStream<'_, Lines>) -> Self {
        stream.remote_addr().clone()
    }
}

pub struct Lines(TcpListener);

impl Listener for Lines {
    type Io = Wire;
    type Addr = Line;

    async fn accept(&mut self) -> (Wire, Line) {
        let (stream, _) = Listener::accept(&mut self.0).await;
        let _ = stream.set_nodelay(true);
        let line = Line(Arc::default());
        (Wire { stream, line: line.clone() }, line)
    }

    fn local_addr(&self) -> io::Result<Line> {
        Ok(Line(Arc::default()))
    }
}

pub struct Wire {
    stream: TcpStream,
    line: Line,
}

impl Wire {
    fn check(&self) -> io::Result<()> {
        match self.line.0.load(Ordering::SeqCst) {
            true => Err(io::ErrorKind::ConnectionReset.into()),
            false => Ok(()),
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
