//! axum's extractors with `Problem` as the rejection.

use super::{messages, problem::Problem};
use crate::transfer::json_cost::JsonCost;
use axum::{
    body::{Body, Bytes},
    extract::{FromRequest, FromRequestParts, Request, rejection::JsonRejection},
    http::{HeaderMap, StatusCode, header, request::Parts},
};
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Path parameters. A malformed id is answered with 404, like an unknown one.
pub struct Path<T>(pub T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Path::from_request_parts(parts, state).await {
            Ok(axum::extract::Path(value)) => Ok(Self(value)),
            Err(_) => Err(Problem::not_found("thing")),
        }
    }
}

pub struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        match axum::extract::Query::from_request_parts(parts, state).await {
            Ok(axum::extract::Query(value)) => Ok(Self(value)),
            Err(why) => Err(Problem::bad(why.body_text())),
        }
    }
}

/// What the values of a request may take in memory. Histories are read elsewhere, with a limit of their own.
const MAX_VALUE_MEMORY: u64 = 4 << 20;

/// JSON whose values are counted before they are parsed: a megabyte of small lists and objects would take a hundred.
pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let whole = Request::from_parts(parts.clone(), body);
        let bytes = Bytes::from_request(whole, state).await;
        let bytes = bytes.map_err(|why| Problem::new(why.status(), why.body_text()))?;
        if JsonCost::of(&bytes).memory(0) > MAX_VALUE_MEMORY {
            return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, messages::TOO_MANY_VALUES));
        }
        match axum::Json::from_request(Request::from_parts(parts, Body::from(bytes)), state).await {
            Ok(axum::Json(value)) => Ok(Self(value)),
            Err(why) => Err(json_problem(&why)),
        }
    }
}

/// A JSON object. Plain serde would also accept an array of the field values.
pub struct Object<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Object<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let Json(value) = Json::<Value>::from_request(request, state).await?;
        if !value.is_object() {
            return Err(Problem::invalid("Send a JSON object."));
        }
        serde_json::from_value(value).map(Self).map_err(|why| Problem::invalid(format!("{why}.")))
    }
}

/// Fails for a body that is not called JSON.
pub fn check_json_type(headers: &HeaderMap) -> Result<(), Problem> {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"));
    if is_json { Ok(()) } else { Err(not_json()) }
}

fn not_json() -> Problem {
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "Send JSON, with Content-Type: application/json.")
}

fn json_problem(why: &JsonRejection) -> Problem {
    match why {
        JsonRejection::MissingJsonContentType(_) => not_json(),
        JsonRejection::JsonDataError(error) => Problem::invalid(error.body_text()),
        other => Problem::new(other.status(), other.body_text()),
    }
}
