//! The history API: one file per resource, and the document that describes them, generated from the same code.

mod history;
mod sessions;
pub mod shapes;

use super::{Site, problem};
use axum::Router;
use std::sync::Arc;
use utoipa::{OpenApi, openapi::OpenApi as Document};
use utoipa_axum::{router::OpenApiRouter, routes};

#[derive(OpenApi)]
#[openapi(info(
    title = "Photothread",
    description = "Sessions, their history and their files. Ids are opaque; times are RFC 3339 in UTC. On this \
                   machine's own page nobody need log in; elsewhere send `Authorization: Bearer` with an API token. \
                   Every failure is a problem (RFC 9457)."
))]
struct Described;

/// All routes of the API, and their description.
pub fn routes() -> (Router<Arc<Site>>, Document) {
    let mut description = Described::openapi();
    let (name, schema) = problem::schema();
    description.components.get_or_insert_default().schemas.insert(name, schema);
    OpenApiRouter::with_openapi(description)
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::show, sessions::rename, sessions::delete))
        .routes(routes!(sessions::metadata))
        .routes(routes!(history::show))
        .split_for_parts()
}
