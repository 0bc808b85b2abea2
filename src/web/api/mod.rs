//! The HTTP API: one file per resource. The OpenAPI document is generated from the same code.

mod annotations;
mod attachments;
mod events;
mod export;
mod history;
mod import;
mod logins;
mod messages;
mod recent;
mod sessions;
mod tokens;

use super::{Site, problem};
use crate::attachments::FileLimits;
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
struct ApiDocument;

/// The body limit of requests without files. A history has a limit of its own, and goes to disk first.
const MAX_JSON_BYTES: usize = 1 << 20;
/// The body limit of a form, in files of the maximal size. More files are uploaded one by one first.
const MAX_FORM_FILES: u64 = 10;
/// Size limit of a form without its files.
const FORM_OVERHEAD_BYTES: u64 = 1 << 20;

fn max_bytes_of_files(limits: FileLimits, count: u64) -> u64 {
    limits.max_file_bytes.saturating_mul(count)
}

/// The largest archive that can be imported.
fn max_form_bytes(limits: FileLimits) -> u64 {
    max_bytes_of_files(limits, MAX_FORM_FILES)
}

/// All routes of the API and their OpenAPI document.
pub fn routes(limits: FileLimits) -> (Router<Arc<Site>>, Document) {
    let mut description = ApiDocument::openapi();
    let (name, schema) = problem::schema();
    let components = description.components.get_or_insert_default();
    components.schemas.insert(name, schema);
    let token = HttpBuilder::new().scheme(HttpAuthScheme::Bearer).bearer_format("pt_…").build();
    components.add_security_scheme("token", SecurityScheme::Http(token));
    let cookie = ApiKey::Cookie(ApiKeyValue::new("photothread"));
    components.add_security_scheme("login", SecurityScheme::ApiKey(cookie));
    let no_login = SecurityRequirement::default();
    let one_of = ["token", "login"].map(|name| SecurityRequirement::new(name, [""; 0]));
    description.security = Some(one_of.into_iter().chain([no_login]).collect());
    let form_limit = |max_files: u64| {
        let bytes = max_bytes_of_files(limits, max_files).saturating_add(FORM_OVERHEAD_BYTES);
        DefaultBodyLimit::max(usize::try_from(bytes).unwrap_or(usize::MAX))
    };
    OpenApiRouter::with_openapi(description)
        .routes(routes!(sessions::list, sessions::create))
        .routes(routes!(sessions::show, sessions::rename, sessions::delete))
        .routes(routes!(sessions::metadata))
        .routes(routes!(history::show, import::replace_history))
        .routes(routes!(recent::list))
        .routes(routes!(annotations::annotate))
        .routes(routes!(annotations::list_references))
        .routes(routes!(export::export_session))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(logins::end_all))
        .routes(routes!(messages::cancel))
        .routes(routes!(events::watch))
        .routes(routes!(attachments::download, attachments::delete))
        .routes(routes!(attachments::metadata))
        .layer(DefaultBodyLimit::max(MAX_JSON_BYTES))
        .merge(OpenApiRouter::new().routes(routes!(messages::send)).layer(form_limit(MAX_FORM_FILES)))
        .merge(OpenApiRouter::new().routes(routes!(attachments::upload)).layer(form_limit(1)))
        .merge(OpenApiRouter::new().routes(routes!(import::import_session)).layer(form_limit(MAX_FORM_FILES)))
        .split_for_parts()
}
