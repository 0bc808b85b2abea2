//! API tokens: create, list, revoke. The secret of a token is shown only once. A token may expire.

use super::sessions::Confirmation;
use crate::{
    access::Viewer,
    domain::TokenId,
    store::ApiToken,
    web::{
        Site,
        auth::Identity,
        extract::{Object, Path},
        messages,
        problem::{BodyProblems, CommonProblems, Problem},
    },
};
use axum::{extract::State, http::StatusCode};
use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use utoipa::ToSchema;
use uuid::Uuid;

const MAX_NAME_CHARS: usize = 100;
const MAX_LIFETIME_DAYS: i64 = 3650;

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Token)]
pub struct TokenJson {
    token_id: Uuid,
    name: String,
    created_at: DateTime<Utc>,
    /// To the minute; null if it was never used.
    last_used_at: Option<DateTime<Utc>>,
    /// Null if it is valid until it is revoked.
    expires_at: Option<DateTime<Utc>>,
}

impl From<ApiToken> for TokenJson {
    fn from(token: ApiToken) -> Self {
        Self {
            token_id: token.token_id.0,
            name: token.name,
            created_at: token.created_at,
            last_used_at: token.last_used_at,
            expires_at: token.expires_at,
        }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = Tokens)]
pub struct TokenList {
    success: bool,
    tokens: Vec<TokenJson>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = MadeToken)]
pub struct CreatedToken {
    success: bool,
    token: TokenJson,
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
    /// After this many days it is refused and deleted. Null or left out: it is valid until it is revoked.
    #[schema(minimum = 1, maximum = 3650)]
    expires_in_days: Option<i64>,
}

/// Your API tokens, oldest first. Their secrets are not shown again.
#[utoipa::path(get, path = "/tokens", operation_id = "list_tokens", tag = "tokens", responses((status = 200, body = TokenList), CommonProblems))]
pub async fn list(viewer: Viewer, State(site): State<Arc<Site>>) -> Result<axum::Json<TokenList>, Problem> {
    let tokens = site.store.api_tokens(&viewer.user).await?;
    Ok(axum::Json(TokenList { success: true, tokens: tokens.into_iter().map(TokenJson::from).collect() }))
}

/// Creates an API token. Only a logged-in person can: a token cannot create another.
#[utoipa::path(post, path = "/tokens", operation_id = "make_token", tag = "tokens", request_body = NewToken,
    responses((status = 201, body = CreatedToken), CommonProblems, BodyProblems))]
pub async fn create(
    identity: Identity,
    State(site): State<Arc<Site>>,
    Object(new): Object<NewToken>,
) -> Result<(StatusCode, axum::Json<CreatedToken>), Problem> {
    if identity.is_program() {
        return Err(Problem::new(StatusCode::FORBIDDEN, messages::TOKENS_MAKE_NO_TOKENS));
    }
    let name = new.name.trim();
    if !(1..=MAX_NAME_CHARS).contains(&name.chars().count()) {
        return Err(Problem::invalid(format!("name must have 1 to {MAX_NAME_CHARS} characters.")));
    }
    if new.expires_in_days.is_some_and(|days| !(1..=MAX_LIFETIME_DAYS).contains(&days)) {
        return Err(Problem::invalid(format!("expires_in_days must be 1 to {MAX_LIFETIME_DAYS}, or null.")));
    }
    let lifetime = new.expires_in_days.map(TimeDelta::days);
    let created = site.logins.create_token(&identity.viewer.user, name, lifetime, Utc::now()).await?;
    let (token, secret) = created.ok_or_else(|| Problem::invalid(messages::TOO_MANY_TOKENS))?;
    Ok((StatusCode::CREATED, axum::Json(CreatedToken { success: true, token: token.into(), secret })))
}

/// Revokes an API token.
#[utoipa::path(delete, path = "/tokens/{token_id}", operation_id = "revoke_token", tag = "tokens", params(("token_id" = Uuid, Path)),
    responses((status = 200, body = Confirmation), CommonProblems))]
pub async fn revoke(
    viewer: Viewer,
    State(site): State<Arc<Site>>,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Confirmation>, Problem> {
    match site.store.revoke_api_token(&viewer.user, TokenId(id)).await? {
        true => Ok(Confirmation::of("Token revoked")),
        false => Err(Problem::not_found("token")),
    }
}
