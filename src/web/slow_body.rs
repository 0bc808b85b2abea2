//! Cuts off requests whose body comes too slowly. A client must send a minimum in each period, or all that is left, so
//! that one byte now and then does not keep a request open. A time-out for a whole body would fail large uploads.

use super::{messages, problem::Problem};
use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};
use tokio::time::Sleep;

/// What a client must send in one period: a thousand bytes a second with the period of the server.
pub const MIN_BYTES: usize = 32 << 10;

/// Middleware: a request that is cut off gets 408 instead of what its handler says about the incomplete body.
pub async fn cut_off(State(period): State<Duration>, request: Request, next: Next) -> Response {
    let too_slow = Arc::<AtomicBool>::default();
    let flag = too_slow.clone();
    let request =
        request.map(|body| Body::new(SlowBody { body, period, deadline: None, received: 0, too_slow: flag }));
    let response = next.run(request).await;
    if !too_slow.load(Ordering::Relaxed) {
        return response;
    }
    let mut response = Problem::new(StatusCode::REQUEST_TIMEOUT, messages::TOO_SLOW).into_response();
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

struct SlowBody {
    body: Body,
    period: Duration,
    /// The end of the current period. It starts when the handler has to wait for the client.
    deadline: Option<Pin<Box<Sleep>>>,
    /// Bytes of the current period.
    received: usize,
    too_slow: Arc<AtomicBool>,
}

impl HttpBody for SlowBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let this = &mut *self;
        let frame = Pin::new(&mut this.body).poll_frame(context);
        if let Poll::Ready(frame) = &frame {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
            this.received += data.map_or(0, Bytes::len);
            if this.received >= MIN_BYTES {
                (this.deadline, this.received) = (None, 0);
            }
        } else {
            // A handler that was busy itself finds the bytes that came meanwhile, so only the client's time counts.
            let period = this.period;
            let deadline = this.deadline.get_or_insert_with(|| Box::pin(tokio::time::sleep(period)));
            if deadline.as_mut().poll(context).is_ready() {
                this.too_slow.store(true, Ordering::Relaxed);
                return Poll::Ready(Some(Err(axum::Error::new(std::io::Error::from(
                    std::io::ErrorKind::TimedOut,
                )))));
            }
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
