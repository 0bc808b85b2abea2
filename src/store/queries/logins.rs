//! Login links, logins of browsers and API tokens of programs. Only hashes of their secrets are stored.

use super::{Conn, Db, Row, rows};
use crate::{
    domain::{TokenId, UserId},
    store::{ApiToken, Login, LoginLink, QueryError},
};
use chrono::{DateTime, Utc};
use sqlx::Row as _;

/// The stored key of this name; stores `fresh` if there is none. All instances get the same key.
pub async fn ensure_web_key(conn: &mut Conn, name: &str, fresh: &str) -> Result<String, QueryError> {
    sqlx::query::<Db>("INSERT INTO web_keys (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING")
        .bind(name)
        .bind(fresh)
        .execute(&mut *conn)
        .await?;
    let row = sqlx::query::<Db>("SELECT value FROM web_keys WHERE name = $1").bind(name).fetch_one(conn);
    Ok(row.await?.try_get("value")?)
}

pub async fn add_login_link(conn: &mut Conn, link: &LoginLink) -> Result<(), QueryError> {
    sqlx::query::<Db>("INSERT INTO login_links (link_hash, user_id, expires_at) VALUES ($1, $2, $3)")
        .bind(&link.link_hash)
        .bind(&link.user_id.0)
        .bind(link.expires_at)
        .execute(conn)
        .await?;
    Ok(())
}

/// True if the link is unused and not expired. Does not use it up.
pub async fn login_link_is_valid(
    conn: &mut Conn,
    link_hash: &str,
    now: DateTime<Utc>,
) -> Result<bool, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM login_links WHERE link_hash = $1 AND used_at IS NULL AND expires_at > $2",
    )
    .bind(link_hash)
    .bind(now)
    .fetch_one(conn)
    .await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}

/// Uses up a link, adds a login and returns its user. None if the link is used, expired or unknown.
pub async fn log_in(
    conn: &mut Conn,
    link_hash: &str,
    login_hash: &str,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<Option<UserId>, QueryError> {
    let row = sqlx::query::<Db>(
        "UPDATE login_links SET used_at = $2 \
         WHERE link_hash = $1 AND used_at IS NULL AND expires_at > $2 RETURNING user_id",
    )
    .bind(link_hash)
    .bind(now)
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let user = UserId(row.try_get("user_id")?);
    add_login(conn, login_hash, &user, now, until).await?;
    Ok(Some(user))
}

async fn add_login(
    conn: &mut Conn,
    login_hash: &str,
    user: &UserId,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO logins (login_hash, user_id, created_at, expires_at) VALUES ($1, $2, $3, $4)",
    )
    .bind(login_hash)
    .bind(&user.0)
    .bind(now)
    .bind(until)
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn login(conn: &mut Conn, login_hash: &str) -> Result<Option<Login>, QueryError> {
    let row = sqlx::query::<Db>("SELECT * FROM logins WHERE login_hash = $1")
        .bind(login_hash)
        .fetch_optional(conn)
        .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Login {
        user_id: UserId(row.try_get("user_id")?),
        created_at: row.try_get("created_at")?,
        expires_at: row.try_get("expires_at")?,
        replaced_at: row.try_get("replaced_at")?,
    }))
}

/// Replaces a login by a new one. False if another request replaced it first.
pub async fn renew_login(
    conn: &mut Conn,
    old_hash: &str,
    new_hash: &str,
    now: DateTime<Utc>,
    until: DateTime<Utc>,
) -> Result<bool, QueryError> {
    let row = sqlx::query::<Db>(
        "UPDATE logins SET replaced_at = $2 WHERE login_hash = $1 AND replaced_at IS NULL RETURNING user_id",
    )
    .bind(old_hash)
    .bind(now)
    .fetch_optional(&mut *conn)
    .await?;
    let Some(row) = row else { return Ok(false) };
    add_login(conn, new_hash, &UserId(row.try_get("user_id")?), now, until).await?;
    Ok(true)
}

/// Deletes a login and all replaced logins of its user, which would stay valid for a short time otherwise.
pub async fn log_out(conn: &mut Conn, login_hash: &str) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "DELETE FROM logins WHERE login_hash = $1 OR (replaced_at IS NOT NULL AND user_id = \
           (SELECT user_id FROM logins WHERE login_hash = $1))",
    )
    .bind(login_hash)
    .execute(conn)
    .await?;
    Ok(())
}

/// Deletes all logins of a user, and the links that could log in again.
pub async fn log_out_everywhere(conn: &mut Conn, user: &UserId) -> Result<(), QueryError> {
    sqlx::query::<Db>("DELETE FROM logins WHERE user_id = $1").bind(&user.0).execute(&mut *conn).await?;
    sqlx::query::<Db>("DELETE FROM login_links WHERE user_id = $1").bind(&user.0).execute(conn).await?;
    Ok(())
}

/// Deletes expired links, logins and API tokens, and logins replaced before this time.
pub async fn delete_expired_logins(
    conn: &mut Conn,
    now: DateTime<Utc>,
    replaced_before: DateTime<Utc>,
) -> Result<u64, QueryError> {
    let links = sqlx::query::<Db>("DELETE FROM login_links WHERE expires_at <= $1")
        .bind(now)
        .execute(&mut *conn)
        .await?;
    let logins = sqlx::query::<Db>("DELETE FROM logins WHERE expires_at <= $1 OR replaced_at <= $2")
        .bind(now)
        .bind(replaced_before)
        .execute(&mut *conn)
        .await?;
    let tokens =
        sqlx::query::<Db>("DELETE FROM api_tokens WHERE expires_at <= $1").bind(now).execute(conn).await?;
    Ok(links.rows_affected() + logins.rows_affected() + tokens.rows_affected())
}

/// Adds an API token. False if the user has `max` unexpired tokens already.
pub async fn add_api_token(
    conn: &mut Conn,
    token: &ApiToken,
    token_hash: &str,
    max: i64,
) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>(
        "INSERT INTO api_tokens (token_id, token_hash, user_id, name, created_at, expires_at) \
         SELECT $1, $2, $3, $4, $5, $7 WHERE \
           (SELECT COUNT(*) FROM api_tokens WHERE user_id = $3 AND (expires_at IS NULL OR expires_at > $5)) < $6",
    )
    .bind(token.token_id.to_string())
    .bind(token_hash)
    .bind(&token.user_id.0)
    .bind(rows::strip_nul(&token.name))
    .bind(token.created_at)
    .bind(max)
    .bind(token.expires_at)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

pub async fn api_token(conn: &mut Conn, token_hash: &str) -> Result<Option<ApiToken>, QueryError> {
    let row = sqlx::query::<Db>("SELECT * FROM api_tokens WHERE token_hash = $1")
        .bind(token_hash)
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(read_token).transpose()?)
}

/// The API tokens of a user, oldest first.
pub async fn api_tokens(conn: &mut Conn, user: &UserId) -> Result<Vec<ApiToken>, QueryError> {
    let rows = sqlx::query::<Db>("SELECT * FROM api_tokens WHERE user_id = $1 ORDER BY created_at, token_id")
        .bind(&user.0)
        .fetch_all(conn)
        .await?;
    Ok(rows.iter().map(read_token).collect::<Result<_, _>>()?)
}

fn read_token(row: &Row) -> Result<ApiToken, sqlx::Error> {
    Ok(ApiToken {
        token_id: rows::parse_column(row, "token_id")?,
        user_id: UserId(row.try_get("user_id")?),
        name: row.try_get("name")?,
        created_at: row.try_get("created_at")?,
        last_used_at: row.try_get("last_used_at")?,
        expires_at: row.try_get("expires_at")?,
    })
}

/// Stores when a token was last used.
pub async fn record_token_use(
    conn: &mut Conn,
    token_id: TokenId,
    now: DateTime<Utc>,
) -> Result<(), QueryError> {
    sqlx::query::<Db>("UPDATE api_tokens SET last_used_at = $2 WHERE token_id = $1")
        .bind(token_id.to_string())
        .bind(now)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes an API token. False if it is not a token of this user.
pub async fn revoke_api_token(conn: &mut Conn, user: &UserId, token_id: TokenId) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>("DELETE FROM api_tokens WHERE token_id = $1 AND user_id = $2")
        .bind(token_id.to_string())
        .bind(&user.0)
        .execute(conn)
        .await?;
    Ok(done.rows_affected() > 0)
}
