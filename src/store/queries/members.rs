//! Members of conversations: the people who may see them. A member of a Telegram chat is a member of all its topics, so
//! there is one row for the chat.

use super::{Conn, Db};
use crate::{
    domain::{Conversation, UserId},
    store::QueryError,
};
use chrono::Utc;
use sqlx::Row as _;

/// Adds a member. A person who writes in a conversation becomes one.
pub async fn add_member(
    conn: &mut Conn,
    conversation: &Conversation,
    user: &UserId,
) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO members (interface_type, conversation_id, user_id, since) VALUES ($1, $2, $3, $4) \
         ON CONFLICT DO NOTHING",
    )
    .bind(conversation.interface.as_str())
    .bind(conversation.chat_id())
    .bind(&user.0)
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(())
}

/// Removes a person who left or was removed. They cannot see the conversation any more.
pub async fn remove_member(
    conn: &mut Conn,
    conversation: &Conversation,
    user: &UserId,
) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "DELETE FROM members WHERE interface_type = $1 AND conversation_id = $2 AND user_id = $3",
    )
    .bind(conversation.interface.as_str())
    .bind(conversation.chat_id())
    .bind(&user.0)
    .execute(conn)
    .await?;
    Ok(())
}

pub async fn is_member(
    conn: &mut Conn,
    conversation: &Conversation,
    user: &UserId,
) -> Result<bool, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM members WHERE interface_type = $1 AND conversation_id = $2 AND user_id = $3",
    )
    .bind(conversation.interface.as_str())
    .bind(conversation.chat_id())
    .bind(&user.0)
    .fetch_one(conn)
    .await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}
