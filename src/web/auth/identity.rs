//! Who sent a request: the local user, a browser login or an API token. Verified for every request.

use super::{cookie, rate_limit::too_many_attempts};
use crate::{
    access::{Credential, LoggedIn, PageAccess, Viewer},
    web::{Site, messages, problem::Problem},
};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use chrono::Utc;
use std::sync::Arc;

/// An authenticated request.
#[derive(Debug, Clone)]
pub struct Identity {
    pub viewer: Viewer,
    pub credential: Credential,
    /// The new login secret that the response must set as the cookie.
    pub renewed: Option<String>,
}

impl Identity {
    /// A program with a token. No other site can make a browser send a token.
    pub fn is_program(&self) -> bool {
        matches!(self.credential, Credential::Token(_))
    }
}

/// Identifies the sender of a request. None without credentials; an error response if a token is wrong.
pub async fn identify(site: &Site, request: &Parts) -> Result<Option<Identity>, Response> {
    if !matches!(site.logins.page_access(), PageAccess::Login(_)) {
        let viewer = Viewer::local();
        return Ok(Some(Identity { viewer, credential: Credential::Local, renewed: None }));
    }
    let store_problem = |error| Problem::from(error).into_response();
    if let Some(token) = bearer_token(&request.headers) {
        let found = site.logins.verify_token(token, Utc::now()).await.map_err(store_problem)?;
        let Some((viewer, credential)) = found else {
            return Err(match site.failed_attempts.record(request) {
                Ok(()) => Problem::new(StatusCode::UNAUTHORIZED, messages::WRONG_TOKEN).into_response(),
                Err(seconds) => too_many_attempts(seconds),
            });
        };
        return Ok(Some(Identity { viewer, credential, renewed: None }));
    }
    let Some(login) = cookie::read(site, &request.headers) else { return Ok(None) };
    let found = site.logins.verify_login(login, Utc::now()).await.map_err(store_problem)?;
    Ok(found.map(|LoggedIn { viewer, credential, renewed }| Identity { viewer, credential, renewed }))
}

/// The token of a bearer header. Other schemes may be meant for a proxy and are ignored.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl FromRequestParts<Arc<Site>> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Problem> {
        Identity::from_request_parts(parts, site).await.map(|identity| identity.viewer)
    }
}

/// Reads what the middleware found.
impl FromRequestParts<Arc<Site>> for Identity {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Site>) -> Result<Self, Problem> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, messages::LOG_IN_FIRST))
    }
}
