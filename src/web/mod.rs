//! The web: a page and an API over the same conversations as Telegram's. It enters the walk where Telegram does, at the
//! filing of messages, and tells what the history holds and what is on its way.

mod api;
mod attempts;
mod cookie;
mod extract;
mod guard;
mod login;
mod markdown;
mod page;
mod post;
mod posting;
mod problem;
mod says;
mod serving;
mod viewer;

use crate::{
    access::Door,
    agent::{Routes, Turns},
    attachments::Attachments,
    rendering::Renderer,
    store::Store,
};
pub use attempts::Attempts;
use axum::{Router, extract::DefaultBodyLimit, middleware, routing::get};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;
use tracing::error;
use url::Url;
use utoipa_swagger_ui::{Config, SwaggerUi};

pub use posting::Echoes;

/// What the page needs of the rest.
pub struct Site {
    pub store: Store,
    pub attachments: Attachments,
    pub turns: Arc<Turns>,
    pub renderer: Renderer,
    /// Which agent a message is for.
    pub routes: Routes,
    pub door: Arc<Door>,
    /// The one name the page answers to, if it has one.
    pub public_url: Option<Url>,
    pub attempts: Attempts,
    /// How what is said here is shown where a conversation is at home.
    pub echoes: Echoes,
    /// Groups of tags of which a message has at most one.
    pub exclusive_tags: Vec<String>,
}

/// One upload of the page: an album and a little more.
const MOST_FILES: u64 = 12;

#[derive(Debug, thiserror::Error)]
#[error("the page cannot listen on {address}: {why}. Choose another web.listen, or null for no page.")]
pub struct BindError {
    address: SocketAddr,
    why: String,
}

/// An address of our own, before anything is served there.
pub struct Bound {
    pub address: SocketAddr,
    listener: TcpListener,
}

pub async fn bind(address: SocketAddr) -> Result<Bound, BindError> {
    let trouble = |error: std::io::Error| BindError { address, why: error.to_string() };
    let listener = TcpListener::bind(address).await.map_err(trouble)?;
    Ok(Bound { address: listener.local_addr().map_err(trouble)?, listener })
}

fn router(site: Site) -> Router {
    let most = site.attachments.limits().max_file_bytes.saturating_mul(MOST_FILES);
    let (api, description) = api::routes(site.attachments.limits());
    let site = Arc::new(site);
    Router::new()
        .merge(api)
        .merge(login::routes())
        // Its validator is somebody else's service, which need not hear of us.
        .merge(
            SwaggerUi::new("/docs")
                .url("/openapi.json", description)
                .config(Config::default().validator_url("none")),
        )
        .merge(page::routes())
        .route("/healthz", get(|| async { "ok" }))
        .layer(DefaultBodyLimit::max(usize::try_from(most).unwrap_or(usize::MAX)))
        .layer(middleware::from_fn_with_state(site.clone(), guard::guard))
        .with_state(site)
}

impl Bound {
    pub async fn serve(self, site: Site) {
        let service = router(site).into_make_service_with_connect_info::<SocketAddr>();
        if let Err(error) = axum::serve(self.listener, service).await {
            error!(%error, "the page stopped");
        }
    }
}
