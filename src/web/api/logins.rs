//! Browser logins of a person: ends all of them at once.

use super::sessions::Confirmation;
use crate::{
    access::Viewer,
    web::{
        Site,
        auth::cleared_cookie,
        problem::{CommonProblems, Problem},
    },
};
use axum::{
    Json,
    extract::State,
    http::{HeaderValue, header::SET_COOKIE},
    response::AppendHeaders,
};
use std::sync::Arc;

/// Logs you out everywhere: ends all your browser logins, this one too, and takes back login links that were not used
/// yet. API tokens stay valid; revoke them one by one.
#[utoipa::path(delete, path = "/logins", operation_id = "log_out_everywhere", tag = "tokens",
    responses((status = 200, body = Confirmation), CommonProblems))]
pub async fn end_all(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
) -> Result<(AppendHeaders<Option<(axum::http::HeaderName, HeaderValue)>>, Json<Confirmation>), Problem> {
    site.logins.log_out_everywhere(&viewer.user).await?;
    let cookie = cleared_cookie(&site).map(|cookie| (SET_COOKIE, cookie));
    Ok((AppendHeaders(cookie), Confirmation::of("Logged out everywhere; API tokens stay valid")))
}
