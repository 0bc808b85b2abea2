//! In and out: the page behind a link from the bot, the button that logs in, and the way out.

use super::{Site, attempts, cookie, page::folder, problem::Problem, says};
use crate::access::WayIn;
use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use chrono::Utc;
use std::{sync::Arc, time::Instant};

#[derive(Template)]
#[template(path = "login.html")]
struct Page {
    assets: String,
    title: &'static str,
    text: String,
    /// What the button says, if there is one; it sends to where the page itself is.
    button: Option<&'static str>,
}

pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/login", get(how))
        .route("/login/{token}", get(look).post(log_in))
        .route("/logout", post(log_out))
}

fn page(status: StatusCode, title: &'static str, text: String, button: Option<&'static str>) -> Response {
    match (Page { assets: folder(), title, text: text.clone(), button }).render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(_) => (status, text).into_response(),
    }
}

/// The answer to whoever is not logged in: a page for people, a problem for programs.
pub fn asked_for(asked: &Parts) -> Response {
    let accepts = asked.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let person = accepts.is_some_and(|accept| accept.contains("text/html"));
    if !person || !matches!(asked.method, Method::GET | Method::HEAD) {
        return Problem::new(StatusCode::UNAUTHORIZED, says::LOG_IN_FIRST).into_response();
    }
    let mut response = page(StatusCode::UNAUTHORIZED, says::LOG_IN, says::HOW_TO_LOG_IN.into(), None);
    let scheme = header::HeaderValue::from_static("Bearer");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    response
}

/// Where nobody logs in, every door leads inside.
fn is_needed(site: &Site) -> bool {
    matches!(site.door.way(), WayIn::Login(_))
}

async fn how(State(site): State<Arc<Site>>) -> Response {
    match is_needed(&site) {
        true => page(StatusCode::OK, says::LOG_IN, says::HOW_TO_LOG_IN.into(), None),
        false => Redirect::to("/").into_response(),
    }
}

/// Messengers fetch a link before anybody follows it, so looking at it must not use it up.
async fn look(State(site): State<Arc<Site>>, Path(token): Path<String>, asked: Parts) -> Response {
    if !is_needed(&site) {
        return Redirect::to("/").into_response();
    }
    match site.door.is_open(&token, Utc::now()).await {
        Ok(true) => page(StatusCode::OK, says::WELCOME, says::ONE_CLICK.into(), Some(says::LOG_IN_HERE)),
        Ok(false) => refused(&site, &asked),
        Err(error) => Problem::from(error).into_response(),
    }
}

async fn log_in(State(site): State<Arc<Site>>, Path(token): Path<String>, asked: Parts) -> Response {
    if !is_needed(&site) {
        return Redirect::to("/").into_response();
    }
    let login = match site.door.log_in(&token, Utc::now()).await {
        Ok(Some(login)) => login,
        Ok(None) => return refused(&site, &asked),
        Err(error) => return Problem::from(error).into_response(),
    };
    // Whoever was logged in here before is not any more.
    if let Some(old) = cookie::read(&site, &asked.headers)
        && let Err(error) = site.door.log_out(old).await
    {
        return Problem::from(error).into_response();
    }
    with_cookie(cookie::set(&site, &login), "/")
}

async fn log_out(State(site): State<Arc<Site>>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(login) = cookie::read(&site, &headers) {
        site.door.log_out(login).await?;
    }
    Ok(with_cookie(cookie::clear(&site), "/login"))
}

fn with_cookie(line: Option<header::HeaderValue>, to: &str) -> Response {
    let mut response = Redirect::to(to).into_response();
    response.headers_mut().extend(line.map(|line| (header::SET_COOKIE, line)));
    response
}

/// A link that opens nothing counts as a guess. Only who is wrong waits: behind a proxy, many may be one address.
fn refused(site: &Site, asked: &Parts) -> Response {
    let (peer, now) = (attempts::peer(asked), Instant::now());
    if let Some(seconds) = site.attempts.wait(peer, now) {
        return slow_down(seconds);
    }
    site.attempts.wrong(peer, now);
    spent()
}

fn spent() -> Response {
    page(StatusCode::GONE, says::LINK_IS_SPENT, says::ASK_FOR_ANOTHER.into(), None)
}

fn slow_down(seconds: u64) -> Response {
    let page = page(StatusCode::TOO_MANY_REQUESTS, says::SLOW_DOWN, says::too_often(seconds), None);
    ([(header::RETRY_AFTER, seconds.to_string())], page).into_response()
}
