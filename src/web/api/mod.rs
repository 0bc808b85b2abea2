//! The history API: one file per resource, and the document that describes them, generated from the same code.

mod annotations;
mod attachments;
mod events;
mod export;
mod history;
mod import;
pub mod messages;
mod sessions;
mod tokens;

use super::{Site, problem};
use crate::attachments::Limits;
use axum::{Router, extract::DefaultBodyLimit};
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

/// What a request without files may hold; an imported history is the largest.
const LARGEST_JSON: usize = 16 << 20;
/// Files of the largest size in one message: more are sent as uploads of their own first.
const LARGE_FILES: u64 = 10;
/// What a form holds beside its files.
const FORM: u64 = 1 << 20;

/// All routes of the API, and their description.
pub fn routes(limits: Limits) -> (Router<Arc<Site>>, Document) {
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
    let files = |most: u64| {
        let bytes = limits.max_file_bytes.saturating_mul(most).saturating_add(FORM);
        DefaultBodyLimit::max(usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    OpenApiRouter::with_openapi(description)
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::show, sessions::rename, sessions::delete))
        .routes(routes!(sessions::metadata))
        .routes(routes!(history::show, import::replace))
        .routes(routes!(annotations::change))
        .routes(routes!(annotations::refs))
        .routes(routes!(export::export))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(messages::cancel))
        .routes(routes!(events::watch))
        .routes(routes!(attachments::bytes, attachments::delete))
        .routes(routes!(attachments::metadata))
        .layer(DefaultBodyLimit::max(LARGEST_JSON))
        .merge(OpenApiRouter::new().routes(routes!(messages::send)).layer(files(LARGE_FILES)))
        .merge(OpenApiRouter::new().routes(routes!(attachments::upload)).layer(files(1)))
        .merge(OpenApiRouter::new().routes(routes!(import::import_session)).layer(files(LARGE_FILES)))
        .split_for_parts()
}
