//! What a person sees when a page cannot be shown: a sentence and a way back. Programs get problems instead.

use crate::{store::StoreError, web::problem::Problem};
use askama::Template;
use axum::{
    extract::multipart::MultipartError,
    http::StatusCode,
    response::{Html, IntoResponse, Response},
};
use std::fmt::Display;
use tracing::error;

#[derive(Debug)]
pub struct Oops {
    status: StatusCode,
    text: String,
}

#[derive(Template)]
#[template(path = "oops.html")]
struct Shown<'a> {
    assets: String,
    text: &'a str,
}

impl Oops {
    pub fn not_found() -> Self {
        let text = "There is no such conversation. It may have been deleted.".into();
        Self { status: StatusCode::NOT_FOUND, text }
    }

    pub fn ours(error: &dyn Display) -> Self {
        error!(%error, "the page could not be made");
        let text = "Something went wrong here. Please try again in a moment.".into();
        Self { status: StatusCode::SERVICE_UNAVAILABLE, text }
    }
}

impl From<StoreError> for Oops {
    fn from(error: StoreError) -> Self {
        Self::ours(&error)
    }
}

impl From<Problem> for Oops {
    fn from(problem: Problem) -> Self {
        Self { status: problem.status(), text: problem.detail().to_owned() }
    }
}

impl From<MultipartError> for Oops {
    fn from(error: MultipartError) -> Self {
        Self { status: error.status(), text: error.body_text() }
    }
}

impl IntoResponse for Oops {
    fn into_response(self) -> Response {
        let page = Shown { assets: super::assets::folder(), text: &self.text };
        match page.render() {
            Ok(html) => (self.status, Html(html)).into_response(),
            Err(_) => (self.status, self.text).into_response(),
        }
    }
}
