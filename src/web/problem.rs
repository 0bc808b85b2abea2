//! What went wrong, as RFC 9457 problem details: the right status, a sentence for whoever can act on it, and never
//! anything of our insides, which go to the log.

use crate::{
    attachments::AttachmentError, domain::Flaw, rendering::RenderError, store::StoreError,
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
    /// Always `about:blank`: the status says what kind it is.
    #[serde(rename = "type")]
    kind: &'static str,
    title: String,
    status: u16,
    /// What happened and what to do about it.
    detail: String,
    /// Each thing that is wrong with what was sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    errors: Vec<Wrong>,
}

/// One thing that is wrong with what was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Wrong {
    /// Which item of the list, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<usize>,
    pub field: String,
    pub detail: String,
}

impl From<Flaw> for Wrong {
    fn from(flaw: Flaw) -> Self {
        Self { index: None, field: flaw.field, detail: flaw.detail }
    }
}

impl From<EntryError> for Wrong {
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

    pub fn bad(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    pub fn not_found(what: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("There is no such {what}."))
    }

    pub fn invalid(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail)
    }

    /// Told one by one; the sentence names the first.
    pub fn all_wrong(errors: Vec<Wrong>) -> Self {
        let first = errors.first().map(|wrong| match wrong.index {
            Some(index) => format!("Item {index}, {}: {}", wrong.field, wrong.detail),
            None => format!("{}: {}", wrong.field, wrong.detail),
        });
        Self { errors, ..Self::invalid(first.unwrap_or_default()) }
    }

    /// Something of ours broke, or is away.
    pub fn ours(what: &str, error: &dyn std::fmt::Display) -> Self {
        error!(%error, what, "a request could not be answered");
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
        Self::ours("the database", &error)
    }
}

impl From<AttachmentError> for Problem {
    fn from(error: AttachmentError) -> Self {
        match error {
            AttachmentError::Unknown(_) => Self::not_found("attachment"),
            AttachmentError::TooLarge { .. } | AttachmentError::ConversationFull { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, error.to_string())
            }
            AttachmentError::Empty { .. } => Self::invalid(error.to_string()),
            AttachmentError::Objects(_) | AttachmentError::Store(_) => Self::ours("the files", &error),
        }
    }
}

impl From<RenderError> for Problem {
    fn from(error: RenderError) -> Self {
        match error.is_passing() {
            true => Self::ours("a picture", &error),
            false => Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, error.describe()),
        }
    }
}

impl From<MultipartError> for Problem {
    fn from(error: MultipartError) -> Self {
        Self::new(error.status(), error.body_text())
    }
}

/// How the OpenAPI document tells of problems: one of these types for each set of statuses.
macro_rules! documented {
    ($($(#[$doc:meta])* $name:ident { $($status:literal $when:literal,)* })*) => {$(
        $(#[$doc])*
        pub struct $name;

        impl IntoResponses for $name {
            fn responses() -> BTreeMap<String, RefOr<Documented>> {
                [$(($status, $when)),*].into_iter().map(|(status, when)| (status.to_owned(), told(when))).collect()
            }
        }
    )*};
}

fn told(when: &str) -> RefOr<Documented> {
    let schema = Ref::from_schema_name(Problem::name());
    ResponseBuilder::new().description(when).content(MEDIA_TYPE, Content::new(Some(schema))).build().into()
}

documented! {
    /// What any route may answer.
    Usual {
        "400" "The request cannot be read",
        "401" "Log in first, or send an API token",
        "403" "Sent from another site, or under a name this server does not answer to",
        "404" "There is no such thing, or it is not yours to see",
        "405" "This address does not take this method",
        "408" "The request did not arrive in time",
        "429" "Too often; try again later",
        "503" "The database or the files cannot be reached; try again",
    }
    /// What a route with a body may answer.
    Reading {
        "413" "Larger than is kept here",
        "415" "Not a content type this route takes",
        "422" "Something in it is not allowed; the problem names what",
    }
    /// What a route may answer that changes a history.
    Changing {
        "409" "A turn is running in this session; cancel it or wait",
        "412" "Somebody changed the history meanwhile: read it again",
        "428" "Send the ETag of the history in If-Match",
    }
}

/// So that the document has the schema all of these point at.
pub fn schema() -> (String, RefOr<utoipa::openapi::Schema>) {
    (Problem::name().into_owned(), Problem::schema())
}
