//! Login and logout pages: the page behind a login link, the button that logs in, and logout.

use super::cookie;
use crate::{
    access::PageAccess,
    web::{Site, assets, messages, problem::Problem},
};
use askama::Template;
use axum::{
    Router,
    extract::{Path, State},
    http::{HeaderMap, Method, StatusCode, header, request::Parts},
    response::{Html, IntoResponse, Redirect, Response},
    routing::{get, post},
};
use chrono::Utc;
use std::sync::Arc;

#[derive(Template)]
#[template(path = "login.html")]
struct LoginPage {
    assets: String,
    title: &'static str,
    text: String,
    /// The label of the button, if there is one. It posts to the address of the page.
    button: Option<&'static str>,
}

pub fn routes() -> Router<Arc<Site>> {
    Router::new()
        .route("/login", get(show_instructions))
        .route("/login/{token}", get(show_link).post(log_in))
        .route("/logout", post(log_out))
}

fn render_page(
    status: StatusCode,
    title: &'static str,
    text: String,
    button: Option<&'static str>,
) -> Response {
    match (LoginPage { assets: assets::folder(), title, text: text.clone(), button }).render() {
        Ok(html) => (status, Html(html)).into_response(),
        Err(_) => (status, text).into_response(),
    }
}

/// The reply to a request without a valid login: a page for browsers, a problem for programs.
pub fn login_required(request: &Parts) -> Response {
    let accepts = request.headers.get(header::ACCEPT).and_then(|accept| accept.to_str().ok());
    let is_browser = accepts.is_some_and(|accept| accept.contains("text/html"));
    if !is_browser || !matches!(request.method, Method::GET | Method::HEAD) {
        return Problem::new(StatusCode::UNAUTHORIZED, messages::LOG_IN_FIRST).into_response();
    }
    let mut response =
        render_page(StatusCode::UNAUTHORIZED, messages::LOG_IN, messages::HOW_TO_LOG_IN.into(), None);
    let scheme = header::HeaderValue::from_static("Bearer");
    response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
    response
}

/// On a page without login, the login pages redirect to the start.
fn needs_login(site: &Site) -> bool {
    matches!(site.logins.page_access(), PageAccess::Login(_))
}

async fn show_instructions(State(site): State<Arc<Site>>) -> Response {
    match needs_login(&site) {
        true => render_page(StatusCode::OK, messages::LOG_IN, messages::HOW_TO_LOG_IN.into(), None),
        false => Redirect::to("/").into_response(),
    }
}

/// Shows the login button. GET must not use up the link: messengers fetch links for previews.
async fn show_link(State(site): State<Arc<Site>>, Path(token): Path<String>, request: Parts) -> Response {
    if !needs_login(&site) {
        return Redirect::to("/").into_response();
    }
    match site.logins.link_is_valid(&token, Utc::now()).await {
        Ok(true) => render_page(
            StatusCode::OK,
            messages::WELCOME,
            messages::ONE_CLICK.into(),
            Some(messages::LOG_IN_HERE),
        ),
        Ok(false) => reject_link(&site, &request),
        Err(error) => Problem::from(error).into_response(),
    }
}

async fn log_in(State(site): State<Arc<Site>>, Path(token): Path<String>, request: Parts) -> Response {
    if !needs_login(&site) {
        return Redirect::to("/").into_response();
    }
    let login = match site.logins.log_in(&token, Utc::now()).await {
        Ok(Some(login)) => login,
        Ok(None) => return reject_link(&site, &request),
        Err(error) => return Problem::from(error).into_response(),
    };
    // End the login that this browser had before.
    if let Some(previous) = cookie::read(&site, &request.headers)
        && let Err(error) = site.logins.log_out(previous).await
    {
        return Problem::from(error).into_response();
    }
    redirect_with_cookie(cookie::set(&site, &login), "/")
}

async fn log_out(State(site): State<Arc<Site>>, headers: HeaderMap) -> Result<Response, Problem> {
    if let Some(login) = cookie::read(&site, &headers) {
        site.logins.log_out(login).await?;
    }
    Ok(redirect_with_cookie(cookie::clear(&site), "/login"))
}

fn redirect_with_cookie(cookie: Option<header::HeaderValue>, to: &str) -> Response {
    let mut response = Redirect::to(to).into_response();
    response.headers_mut().extend(cookie.map(|cookie| (header::SET_COOKIE, cookie)));
    response
}

/// Rejects a link that is expired, used or forged, and counts it as a guess.
fn reject_link(site: &Site, request: &Parts) -> Response {
    match site.failed_attempts.record(request) {
        Ok(()) => {
            render_page(StatusCode::GONE, messages::LINK_IS_SPENT, messages::ASK_FOR_ANOTHER.into(), None)
        }
        Err(seconds) => {
            let text = messages::too_often(seconds);
            let page = render_page(StatusCode::TOO_MANY_REQUESTS, messages::SLOW_DOWN, text, None);
            ([(header::RETRY_AFTER, seconds.to_string())], page).into_response()
        }
    }
}
