//! Who asks: found out anew for every request, before any route sees it.

use super::{Site, attempts, cookie, guard, problem::Problem, says};
use crate::access::{LoggedIn, Pass, Viewer, WayIn};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, StatusCode, header, request::Parts},
    response::{IntoResponse, Response},
};
use chrono::Utc;
use std::{sync::Arc, time::Instant};

/// Somebody who may come in.
#[derive(Debug, Clone)]
pub struct Arrival {
    pub viewer: Viewer,
    pub pass: Pass,
    /// What their browser should show from now on.
    pub renewed: Option<String>,
}

impl Arrival {
    /// A program: no other site can make a browser send its token.
    pub fn is_program(&self) -> bool {
        matches!(self.pass, Pass::Token(_))
    }
}

/// None if they show nothing that opens the door; an answer if what they show is wrong.
pub async fn arrive(site: &Site, asked: &Parts) -> Result<Option<Arrival>, Response> {
    if !matches!(site.door.way(), WayIn::Login(_)) {
        let viewer = Viewer::local();
        return Ok(Some(Arrival { viewer, pass: Pass::Local, renewed: None }));
    }
    let ours = |error| Problem::from(error).into_response();
    if let Some(token) = bearer(&asked.headers) {
        let (peer, now) = (attempts::peer(asked), Instant::now());
        let Some((viewer, pass)) = site.door.by_token(token, Utc::now()).await.map_err(ours)? else {
            // Only who is wrong waits: behind a proxy, many people may be one address.
            if let Some(seconds) = site.attempts.wait(peer, now) {
                return Err(guard::too_often(seconds));
            }
            site.attempts.wrong(peer, now);
            return Err(Problem::new(StatusCode::UNAUTHORIZED, says::WRONG_TOKEN).into_response());
        };
        return Ok(Some(Arrival { viewer, pass, renewed: None }));
    }
    let Some(login) = cookie::read(site, &asked.headers) else { return Ok(None) };
    let found = site.door.by_login(login, Utc::now()).await.map_err(ours)?;
    Ok(found.map(|LoggedIn { viewer, pass, renewed }| Arrival { viewer, pass, renewed }))
}

/// Other schemes are a proxy's business, not ours.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

impl FromRequestParts<Arc<Site>> for Viewer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, site: &Arc<Site>) -> Result<Self, Problem> {
        Arrival::from_request_parts(parts, site).await.map(|arrival| arrival.viewer)
    }
}

impl FromRequestParts<Arc<Site>> for Arrival {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Arc<Site>) -> Result<Self, Problem> {
        let found = parts.extensions.get::<Self>().cloned();
        found.ok_or_else(|| Problem::new(StatusCode::UNAUTHORIZED, says::LOG_IN_FIRST))
    }
}
