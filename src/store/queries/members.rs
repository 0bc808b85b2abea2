//! Who takes part in a conversation, and so may see it.

use super::{Conn, Db};
use crate::{
    domain::{Conversation, UserId},
    store::QueryError,
};
use chrono::Utc;
use sqlx::Row as _;

/// Whoever says something takes part.
pub async fn add_member(conn: &mut Conn, place: &Conversation, user: &UserId) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO members (interface_type, conversation_id, user_id, since) VALUES ($1, $2, $3, $4) \
         ON CONFLICT DO NOTHING",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(&user.0)
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(())
}

/// They left, or were made to: they see nothing of it any more.
pub async fn remove_member(conn: &mut Conn, place: &Conversation, user: &UserId) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "DELETE FROM members WHERE interface_type = $1 AND conversation_id = $2 AND user_id = $3",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(&user.0)
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn is_member(conn: &mut Conn, place: &Conversation, user: &UserId) -> Result<bool, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM members WHERE interface_type = $1 AND conversation_id = $2 AND user_id = $3",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(&user.0)
    .fetch_one(conn)
    .await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}
