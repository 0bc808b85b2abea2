//! API tokens: what programs show instead of a login. Made once, shown once, revoked at any time.

use super::sessions::Done;
use crate::{
    access::Viewer,
    domain::TokenId,
    store::ApiToken,
    web::{
        Site,
        extract::{Object, Path},
        problem::{Problem, Reading, Usual},
        says,
        viewer::Arrival,
    },
};
use axum::{extract::State, http::StatusCode};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

const LONGEST_NAME: usize = 100;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Token {
    token_id: Uuid,
    name: String,
    created_at: DateTime<Utc>,
    /// To the minute; null if it never was.
    last_used_at: Option<DateTime<Utc>>,
}

impl From<ApiToken> for Token {
    fn from(token: ApiToken) -> Self {
        Self {
            token_id: token.token_id.0,
            name: token.name,
            created_at: token.created_at,
            last_used_at: token.last_used_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
pub struct Tokens {
    success: bool,
    tokens: Vec<Token>,
}

#[derive(Serialize, ToSchema)]
pub struct MadeToken {
    success: bool,
    token: Token,
    /// What a program sends as `Authorization: Bearer`. It is shown only here and only now.
    #[schema(example = "pt_…")]
    secret: String,
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// What it is for.
    #[schema(min_length = 1, max_length = 100, pattern = r"\S")]
    name: String,
}

/// Your API tokens, oldest first. What they are is not told again.
#[utoipa::path(get, path = "/tokens", operation_id = "list_tokens", tag = "tokens", responses((status = 200, body = Tokens), Usual))]
pub async fn list(viewer: Viewer, State(site): State<Arc<Site>>) -> Result<axum::Json<Tokens>, Problem> {
    let tokens = site.store.api_tokens(&viewer.user).await?;
    Ok(axum::Json(Tokens { success: true, tokens: tokens.into_iter().map(Token::from).collect() }))
}

/// Makes an API token. Only a person can: a token cannot make another.
#[utoipa::path(post, path = "/tokens", operation_id = "make_token", tag = "tokens", request_body = NewToken,
    responses((status = 201, body = MadeToken), Usual, Reading))]
pub async fn create(
    arrival: Arrival,
    State(site): State<Arc<Site>>,
    Object(new): Object<NewToken>,
) -> Result<(StatusCode, axum::Json<MadeToken>), Problem> {
    if arrival.is_program() {
        return Err(Problem::new(StatusCode::FORBIDDEN, says::TOKENS_MAKE_NO_TOKENS));
    }
    let name = new.name.trim();
    if !(1..=LONGEST_NAME).contains(&name.chars().count()) {
        return Err(Problem::invalid(format!("name must have 1 to {LONGEST_NAME} characters.")));
    }
    let made = site.door.make_token(&arrival.viewer.user, name, Utc::now()).await?;
    let (token, secret) = made.ok_or_else(|| Problem::invalid(says::TOO_MANY_TOKENS))?;
    Ok((StatusCode::CREATED, axum::Json(MadeToken { success: true, token: token.into(), secret })))
}

/// Revokes an API token: from now on it opens nothing.
#[utoipa::path(delete, path = "/tokens/{token_id}", operation_id = "revoke_token", tag = "tokens", params(("token_id" = Uuid, Path)),
    responses((status = 200, body = Done), Usual))]
pub async fn revoke(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Done>, Problem> {
    match site.store.revoke_api_token(&viewer.user, TokenId(id)).await? {
        true => Ok(Done::saying("Token revoked")),
        false => Err(Problem::not_found("token")),
    }
}
