//! The history API: one file per resource, and the document that describes them, generated from the same code.

mod history;
mod sessions;
pub mod shapes;
mod tokens;

use super::{Site, problem};
use axum::Router;
use std::sync::Arc;
use utoipa::{
    OpenApi,
    openapi::{
        OpenApi as Document,
        security::{ApiKey, ApiKeyValue, HttpAuthScheme, HttpBuilder, SecurityRequirement, SecurityScheme},
    },
};
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
    let components = description.components.get_or_insert_default();
    components.schemas.insert(name, schema);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("pt_…").build();
    components.add_security_scheme("token", SecurityScheme::Http(token));
    let cookie = ApiKey::Cookie(ApiKeyValue::new("photothread"));
    components.add_security_scheme("login", SecurityScheme::ApiKey(cookie));
    let nothing = SecurityRequirement::default();
    let one_of = ["token", "login"].map(|name| SecurityRequirement::new(name, [""; 0]));
    description.security = Some(one_of.into_iter().chain([nothing]).collect());
    OpenApiRouter::with_openapi(description)
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::show, sessions::rename, sessions::delete))
        .routes(routes!(sessions::metadata))
        .routes(routes!(history::show))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .split_for_parts()
}
