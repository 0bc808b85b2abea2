//! The local page: upload a photo, ask for an edit, see the result, reply to any picture. It enters the walk where
//! Telegram does, at the filing of messages, and shows what the history holds.

mod api;
pub mod export;
mod extract;
mod guard;
mod import;
mod markdown;
mod page;
mod post;
mod posting;
mod problem;
mod serving;
mod viewer;

use crate::{
    agent::{Routes, Turns},
    attachments::Attachments,
    store::Store,
    tools::Prints,
};
use axum::{Router, extract::DefaultBodyLimit, middleware, routing::get};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;
use tracing::error;
use utoipa_swagger_ui::SwaggerUi;

pub use posting::Echoes;

/// What the page needs of the rest.
pub struct Site {
    pub store: Store,
    pub attachments: Attachments,
    pub turns: Arc<Turns>,
    pub prints: Prints,
    /// Which agent a message is for.
    pub routes: Routes,
    /// How what is said here is shown where a conversation is at home.
    pub echoes: Echoes,
    /// Groups of tags of which a message has at most one.
    pub exclusive_tags: Vec<String>,
}

/// One upload of the page: an album and a little more.
const MOST_FILES: u64 = 12;

pub struct Server {
    pub address: SocketAddr,
    listener: TcpListener,
    router: Router,
}

#[derive(Debug, thiserror::Error)]
#[error("the page cannot listen on {address}: {why}. Choose another web.listen, or null for no page.")]
pub struct BindError {
    address: SocketAddr,
    why: String,
}

pub async fn bind(address: SocketAddr, site: Site) -> Result<Server, BindError> {
    let trouble = |error: std::io::Error| BindError { address, why: error.to_string() };
    let listener = TcpListener::bind(address).await.map_err(trouble)?;
    let bound = listener.local_addr().map_err(trouble)?;
    let most = site.attachments.limits().max_file_bytes.saturating_mul(MOST_FILES);
    let (api, description) = api::routes(site.attachments.limits());
    let router = Router::new()
        .merge(api)
        .merge(SwaggerUi::new("/docs").url("/openapi.json", description))
        .merge(page::routes())
        .route("/healthz", get(|| async { "ok" }))
        .layer(DefaultBodyLimit::max(usize::try_from(most).unwrap_or(usize::MAX)))
        .layer(middleware::from_fn(guard::local_only))
        .with_state(Arc::new(site));
    Ok(Server { address: bound, listener, router })
}

impl Server {
    pub async fn run(self) {
        if let Err(error) = axum::serve(self.listener, self.router).await {
            error!(%error, "the page stopped");
        }
    }
}
