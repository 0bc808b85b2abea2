//! The web interface: a page and an HTTP API over the same conversations as Telegram. A posted message enters the store
//! like a Telegram batch; answers leave as server-sent events.

mod address;
mod api;
mod assets;
mod auth;
mod compression;
mod event_streams;
mod extract;
mod file_response;
mod forms;
mod markdown;
mod messages;
mod page;
mod problem;
mod request_log;
mod run_to_end;
mod server;
mod slow_body;
mod submit;

pub use address::TrustedProxies;
pub use auth::FailedAttempts;
pub use event_streams::EventStreams;
pub use server::ServerLimits;
pub use submit::EchoPlanners;

use crate::{
    access::Logins,
    agent::{Routes, Turns},
    attachments::Attachments,
    rendering::Renderer,
    store::Store,
};
use axum::{
    Router,
    extract::DefaultBodyLimit,
    http::StatusCode,
    middleware,
    response::{IntoResponse as _, Response},
    routing::get,
};
use problem::Problem;
use std::{any::Any, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpListener;
use tower_http::{catch_panic::CatchPanicLayer, trace::TraceLayer};
use tracing::error;
use url::Url;
use utoipa_swagger_ui::{Config, SwaggerUi};

/// The shared state of all routes.
pub struct Site {
    pub store: Store,
    pub attachments: Attachments,
    pub turns: Arc<Turns>,
    pub renderer: Renderer,
    /// Chooses the agent for a message.
    pub routes: Routes,
    pub logins: Arc<Logins>,
    /// The only address that the page answers to, if configured.
    pub public_url: Option<Url>,
    pub failed_attempts: FailedAttempts,
    pub event_streams: EventStreams,
    /// Shows messages of the web on the interface that a conversation belongs to.
    pub echo_planners: EchoPlanners,
    /// Tag groups of which a message may have at most one.
    pub exclusive_tags: Vec<String>,
}

/// The body limit of a page form, in files of the maximal size: an album and a little more.
const MAX_FILES_PER_FORM: u64 = 12;

#[derive(Debug, thiserror::Error)]
#[error("the page cannot listen on {address}: {why}. Choose another web.listen, or null for no page.")]
pub struct BindError {
    address: SocketAddr,
    why: String,
}

/// A bound address that is not served yet.
pub struct Bound {
    pub address: SocketAddr,
    listener: TcpListener,
}

pub async fn bind(address: SocketAddr) -> Result<Bound, BindError> {
    let bind_error = |error: std::io::Error| BindError { address, why: error.to_string() };
    let listener = TcpListener::bind(address).await.map_err(bind_error)?;
    Ok(Bound { address: listener.local_addr().map_err(bind_error)?, listener })
}

fn router(site: Site, body_timeout: Duration) -> Router {
    let max_body = site.attachments.limits().max_file_bytes.saturating_mul(MAX_FILES_PER_FORM);
    let (api, description) = api::routes(site.attachments.limits());
    let site = Arc::new(site);
    Router::new()
        .merge(api)
        .merge(auth::routes())
        // The default validator is an external service that must not learn of this server.
        .merge(
            SwaggerUi::new("/docs")
                .url("/openapi.json", description)
                .config(Config::default().validator_url("none")),
        )
        .merge(page::routes())
        .route("/healthz", get(|| async { "ok" }))
        .layer(DefaultBodyLimit::max(usize::try_from(max_body).unwrap_or(usize::MAX)))
        .layer(middleware::from_fn_with_state(body_timeout, slow_body::cut_off))
        .layer(CatchPanicLayer::custom(answer_panic))
        .layer(middleware::from_fn_with_state(site.clone(), auth::authenticate))
        .layer(compression::layer())
        .layer(
            TraceLayer::new_for_http()
                .make_span_with(request_log::request_span)
                .on_response(request_log::log_response)
                .on_request(())
                .on_body_chunk(())
                .on_eos(())
                .on_failure(()),
        )
        .with_state(site)
}

/// The response to a request whose handler panicked. The panic itself is in the log already.
fn answer_panic(_: Box<dyn Any + Send>) -> Response {
    error!(op = "handle_request", "a request failed by a panic");
    Problem::new(StatusCode::INTERNAL_SERVER_ERROR, messages::BROKEN).into_response()
}

impl Bound {
    pub async fn serve(self, site: Site, limits: ServerLimits) {
        let app = router(site, limits.body_timeout);
        server::serve(self.listener, app, limits).await;
    }
}
