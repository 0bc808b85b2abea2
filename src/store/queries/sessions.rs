//! Sessions: the sittings of a conversation, each with a title, a count and a last activity.

use super::{Conn, Db, alone, rows};
use crate::{
    domain::{Conversation, NewMessage, Role, Session, SessionId, UserId},
    store::StoreError,
};
use chrono::Utc;

const PREVIEW_CHARS: usize = 120;

/// What `/new` does.
pub async fn start_session(
    conn: &mut Conn,
    place: &Conversation,
    user: &UserId,
) -> Result<SessionId, StoreError> {
    let id = SessionId::new();
    let now = Utc::now();
    sqlx::query::<Db>(
        "INSERT INTO session_metadata (session_id, interface_type, conversation_id, user_id, created_at, last_activity) \
         VALUES ($1, $2, $3, $4, $5, $5)",
    )
    .bind(id.to_string())
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(&user.0)
    .bind(now)
    .execute(conn)
    .await?;
    Ok(id)
}

pub async fn session(conn: &mut Conn, id: SessionId) -> Result<Option<Session>, StoreError> {
    let row = sqlx::query::<Db>("SELECT * FROM session_metadata WHERE session_id = $1")
        .bind(id.to_string())
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(rows::session).transpose()?)
}

/// The newest session of a conversation.
pub async fn current_session(conn: &mut Conn, place: &Conversation) -> Result<Option<Session>, StoreError> {
    let row = sqlx::query::<Db>(
        "SELECT * FROM session_metadata WHERE interface_type = $1 AND conversation_id = $2 \
         ORDER BY created_at DESC LIMIT 1",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .fetch_optional(conn)
    .await?;
    Ok(row.as_ref().map(rows::session).transpose()?)
}

/// The newest session of a conversation, begun now if there is none.
pub async fn ensure_session(
    conn: &mut Conn,
    place: &Conversation,
    user: &UserId,
) -> Result<SessionId, StoreError> {
    if let Some(session) = current_session(conn, place).await? {
        return Ok(session.session_id);
    }
    // Two people of a new group may write at once: look again when nobody else is beginning one.
    alone(conn, &format!("begin a session in {place}")).await?;
    match current_session(conn, place).await? {
        Some(session) => Ok(session.session_id),
        None => start_session(conn, place, user).await,
    }
}

/// Counts people's and the agent's messages, not the tools': the number people would count in the chat.
pub async fn count_message(conn: &mut Conn, message: &NewMessage) -> Result<(), StoreError> {
    if message.role == Role::Tool || !message.tool_calls.is_empty() {
        return Ok(());
    }
    let preview: String = match message.role {
        Role::User => {
            message.content.lines().next().unwrap_or_default().chars().take(PREVIEW_CHARS).collect()
        }
        _ => String::new(),
    };
    sqlx::query::<Db>(
        "UPDATE session_metadata SET message_count = message_count + 1, \
         last_activity = CASE WHEN last_activity < $2 THEN $2 ELSE last_activity END, \
         first_message_preview = CASE WHEN first_message_preview = '' THEN $3 ELSE first_message_preview END \
         WHERE session_id = $1",
    )
    .bind(message.session_id.to_string())
    .bind(message.timestamp)
    .bind(rows::clean(&preview))
    .execute(conn)
    .await?;
    Ok(())
}

/// A person's sessions, newest activity first.
pub async fn sessions_of(
    conn: &mut Conn,
    user: &UserId,
    limit: i64,
    offset: i64,
) -> Result<Vec<Session>, StoreError> {
    let rows = sqlx::query::<Db>(
        "SELECT * FROM session_metadata WHERE user_id = $1 ORDER BY last_activity DESC LIMIT $2 OFFSET $3",
    )
    .bind(&user.0)
    .bind(limit)
    .bind(offset)
    .fetch_all(conn)
    .await?;
    Ok(rows.iter().map(rows::session).collect::<Result<_, _>>()?)
}

/// Gives a session another title, unless it has not this one any more: then somebody else named it.
pub async fn retitle_session(
    conn: &mut Conn,
    id: SessionId,
    from: &str,
    to: &str,
) -> Result<bool, StoreError> {
    let done =
        sqlx::query::<Db>("UPDATE session_metadata SET title = $3 WHERE session_id = $1 AND title = $2")
            .bind(id.to_string())
            .bind(rows::clean(from))
            .bind(rows::clean(to))
            .execute(conn)
            .await?;
    Ok(done.rows_affected() > 0)
}
