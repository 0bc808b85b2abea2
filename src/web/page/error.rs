//! The error page: a sentence and a link back. The API answers with `Problem` instead.

use crate::{
    store::StoreError,
    web::{assets, problem::Problem},
};
use askama::Template;
use axum::{
    extract::multipart::MultipartError,
    http::StatusCode,
    response::{Html, IntoResponse, Response},
};
use std::fmt::Display;
use tracing::error;

#[derive(Debug)]
pub struct PageError {
    status: StatusCode,
    text: String,
}

#[derive(Template)]
#[template(path = "error.html")]
struct ErrorPage<'a> {
    assets: String,
    text: &'a str,
}

impl PageError {
    pub fn not_found() -> Self {
        let text = "There is no such conversation. It may have been deleted.".into();
        Self { status: StatusCode::NOT_FOUND, text }
    }

    pub fn internal(error: &dyn Display) -> Self {
        error!(%error, op = "render_page", "page failed");
        let text = "Something went wrong here. Please try again in a moment.".into();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, text }
    }
}

impl From<StoreError> for PageError {
    fn from(error: StoreError) -> Self {
        Self::internal(&error)
    }
}

impl From<Problem> for PageError {
    fn from(problem: Problem) -> Self {
        Self { status: problem.status(), text: problem.detail().to_owned() }
    }
}

impl From<MultipartError> for PageError {
    fn from(error: MultipartError) -> Self {
        Self { status: error.status(), text: error.body_text() }
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let page = ErrorPage { assets: assets::folder(), text: &self.text };
        match page.render() {
            Ok(html) => (self.status, Html(html)).into_response(),
            Err(_) => (self.status, self.text).into_response(),
        }
    }
}
