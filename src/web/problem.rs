//! Errors of the API as RFC 9457 problem details: a status and a sentence for the caller. Internal errors go to the log,
//! never into the response.

use crate::{
    attachments::AttachmentError, domain::FieldError, rendering::RenderError, store::StoreError,
    transfer::import::EntryError,
};
use axum::{
    Json,
    extract::multipart::MultipartError,
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::Serialize;
use std::collections::BTreeMap;
use tracing::error;
use utoipa::{
    IntoResponses, PartialSchema, ToSchema,
    openapi::{Content, Ref, RefOr, Response as Documented, ResponseBuilder},
};

pub const MEDIA_TYPE: &str = "application/problem+json";

#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Problem {
    /// Always `about:blank`: the status is the type.
    #[serde(rename = "type")]
    kind: &'static str,
    title: String,
    status: u16,
    /// What happened and what to do about it.
    detail: String,
    /// Each invalid field of the request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<InvalidField>,
}

/// One invalid field of the request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[schema(as = Wrong)]
pub struct InvalidField {
    /// The item of the list, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    pub field: String,
    pub detail: String,
}

impl From<FieldError> for InvalidField {
    fn from(error: FieldError) -> Self {
        Self { index: None, field: error.field, detail: error.detail }
    }
}

impl From<EntryError> for InvalidField {
    fn from(error: EntryError) -> Self {
        Self { index: error.index, field: error.field, detail: error.detail }
    }
}

impl Problem {
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self {
            kind: "about:blank",
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
        }
    }

    /// The person may see it, but not do this to it.
    pub fn forbidden(detail: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, detail)
    }

    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("There is no such {what}."))
    }

    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// Lists all invalid fields; the detail names the first.
    pub fn invalid_fields(errors: Vec<InvalidField>) -> Self {
        let first = errors.first().map(|first| match first.index {
            Some(index) => format!("Item {index}, {}: {}", first.field, first.detail),
            None => format!("{}: {}", first.field, first.detail),
        });
        Self { errors, ..Self::invalid(first.unwrap_or_default()) }
    }

    /// An internal error or an unavailable dependency. Logs the error.
    pub fn unavailable(part: &str, error: &dyn std::fmt::Display) -> Self {
        error!(%error, op = "handle_request", part, "request failed");
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "Something is not available here right now. Please try again in a moment.",
        )
    }

    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub fn detail(&self) -> &str {
        &self.detail
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        response
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::OverQuota(over) => AttachmentError::from(over).into(),
            error => Self::unavailable("database", &error),
        }
    }
}

impl From<AttachmentError> for Problem {
    fn from(error: AttachmentError) -> Self {
        match error {
            AttachmentError::Unknown(_) => Self::not_found("attachment"),
            AttachmentError::TooLarge { .. }
            | AttachmentError::ConversationFull { .. }
            | AttachmentError::PersonFull { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string())
            }
            AttachmentError::DiskFull => Self::new(StatusCode::INSUFFICIENT_STORAGE, error.to_string()),
            AttachmentError::Empty { .. } => Self::invalid(error.to_string()),
            AttachmentError::TooManyUploads => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.to_string()),
            AttachmentError::Objects(_) | AttachmentError::Store(_) => Self::unavailable("files", &error),
        }
    }
}

impl From<RenderError> for Problem {
    fn from(error: RenderError) -> Self {
        match error {
            RenderError::Busy { .. } => Self::new(StatusCode::SERVICE_UNAVAILABLE, error.describe()),
            error if error.is_transient() => Self::unavailable("rendering", &error),
            error => Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error.describe()),
        }
    }
}

impl From<MultipartError> for Problem {
    fn from(error: MultipartError) -> Self {
        Self::new(error.status(), error.body_text())
    }
}

/// Defines the sets of problems that routes document in OpenAPI.
macro_rules! documented_problems {
    ($($(#[$doc:meta])* $name:ident { $($status:literal $when:literal,)* })*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Documented>> {
                [$(($status, $when)),*].into_iter().map(|(status, when)| (status.to_owned(), documented(when))).collect()
            }
        }
    )*};
}

fn documented(when: &str) -> RefOr<Documented> {
    let schema = Ref::from_schema_name(Problem::name());
    ResponseBuilder::new().description(when).content(MEDIA_TYPE, Content::new(Some(schema))).build().into()
}

documented_problems! {
    /// Problems of every route.
    CommonProblems {
        "400" "The request cannot be read",
        "401" "Log in first, or send an API token",
        "403" "Not yours to change, sent from another site, or under a name this server does not answer to",
        "404" "There is no such thing, or it is not yours to see",
        "405" "This address does not take this method",
        "408" "The request did not arrive in time",
        "429" "Too often, or too many at once; try again later",
        "503" "The database or the files cannot be reached, or too much work is waiting; try again",
    }
    /// Problems of routes with a body.
    BodyProblems {
        "413" "Larger than is kept here",
        "415" "Not a content type this route takes",
        "422" "Something in it is not allowed; the problem names what",
        "507" "The disk is nearly full, so no new files are kept",
    }
    /// Problems of routes that change a history.
    ChangeProblems {
        "409" "A turn is running in this session; cancel it or wait",
        "412" "Somebody changed the history meanwhile: read it again",
        "428" "Send the ETag of the history in If-Match",
    }
}

/// The schema that all documented problems refer to.
pub fn schema() -> (String, RefOr<utoipa::openapi::Schema>) {
    (Problem::name().into_owned(), Problem::schema())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_waiting_work_is_a_503_that_says_so_and_when_to_come_back() {
        let problem = Problem::from(RenderError::Busy { kind: "edits" });
        assert_eq!(problem.detail(), "Many edits are waiting right now. Please try again in a minute.");
        let response = problem.into_response();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(response.headers().contains_key(header::RETRY_AFTER));
    }
}
