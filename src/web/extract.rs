//! axum's extractors with `Problem` as the rejection.

use super::problem::Problem;
use axum::{
    extract::{FromRequest, FromRequestParts, Request, rejection::JsonRejection},
    http::{StatusCode, request::Parts},
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

pub struct Json<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        match axum::Json::from_request(request, state).await {
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

fn json_problem(why: &JsonRejection) -> Problem {
    match why {
        JsonRejection::MissingJsonContentType(_) => Problem::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "Send JSON, with Content-Type: application/json.",
        ),
        JsonRejection::JsonDataError(error) => Problem::invalid(error.body_text()),
        other => Problem::new(other.status(), other.body_text()),
    }
}
