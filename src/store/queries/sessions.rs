//! Sessions: the sittings of a conversation, each with a title, a count and a last activity.

use super::{Conn, Db, alone, members, rows};
use crate::{
    domain::{Conversation, InterfaceType, NewMessage, Role, Session, SessionId, UserId},
    store::QueryError,
};
use chrono::{DateTime, Utc};
use sqlx::Row as _;

const PREVIEW_CHARS: usize = 120;

/// A session of the page: a conversation of its own, which its person takes part in.
pub async fn open_session(
    conn: &mut Conn,
    user: &UserId,
    title: Option<&str>,
) -> Result<Session, QueryError> {
    let (id, now) = (SessionId::new(), Utc::now());
    let place = Conversation::new(InterfaceType::Web, id.to_string());
    add_session(conn, id, &place, user, now).await?;
    if let Some(title) = title {
        rename_session(conn, id, title).await?;
    }
    session(conn, id).await?.ok_or(QueryError::AlreadyDone)
}

/// Gives a session another title. False if there is none.
pub async fn rename_session(conn: &mut Conn, id: SessionId, title: &str) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>("UPDATE session_metadata SET title = $2 WHERE session_id = $1")
        .bind(id.to_string())
        .bind(rows::clean(title))
        .execute(conn)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Something about the session's messages has changed.
pub async fn touch_session(conn: &mut Conn, id: SessionId) -> Result<(), QueryError> {
    sqlx::query::<Db>("UPDATE session_metadata SET revision = revision + 1 WHERE session_id = $1")
        .bind(id.to_string())
        .execute(conn)
        .await?;
    Ok(())
}

/// Like `touch_session`, but only if it is still at this revision.
pub async fn change_session(conn: &mut Conn, id: SessionId, revision: i64) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>(
        "UPDATE session_metadata SET revision = revision + 1 WHERE session_id = $1 AND revision = $2",
    )
    .bind(id.to_string())
    .bind(revision)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Counts a session's messages anew. The title is given only to a session that has none.
pub async fn recount_session(
    conn: &mut Conn,
    id: SessionId,
    revision: i64,
    title: Option<&str>,
) -> Result<(), QueryError> {
    let text = id.to_string();
    let said = sqlx::query::<Db>(
        "SELECT content FROM message_history WHERE session_id = $1 AND role = 'user' ORDER BY internal_id",
    )
    .bind(&text)
    .fetch_all(&mut *conn)
    .await?;
    let said: Vec<String> = said.iter().map(|row| row.try_get("content")).collect::<Result<_, _>>()?;
    let preview = said.iter().map(|content| preview(content)).find(|preview| !preview.is_empty());
    sqlx::query::<Db>(
        "UPDATE session_metadata SET revision = $2, first_message_preview = $3, \
         title = CASE WHEN title = '' THEN $4 ELSE title END, \
         message_count = (SELECT COUNT(*) FROM message_history m WHERE m.session_id = $1 AND m.role <> 'tool' \
           AND (m.tool_calls IS NULL OR CAST(m.tool_calls AS TEXT) = '[]')), \
         last_activity = COALESCE((SELECT MAX(m.timestamp) FROM message_history m WHERE m.session_id = $1 \
           AND m.role <> 'tool' AND (m.tool_calls IS NULL OR CAST(m.tool_calls AS TEXT) = '[]')), created_at) \
         WHERE session_id = $1",
    )
    .bind(&text)
    .bind(revision)
    .bind(preview.unwrap_or_default())
    .bind(rows::clean(title.unwrap_or_default()))
    .execute(conn)
    .await?;
    Ok(())
}

/// What is shown of a message in a list.
fn preview(content: &str) -> String {
    content.lines().next().unwrap_or_default().chars().take(PREVIEW_CHARS).collect()
}

/// What `/new` does.
pub async fn start_session(
    conn: &mut Conn,
    place: &Conversation,
    user: &UserId,
) -> Result<SessionId, QueryError> {
    let id = SessionId::new();
    add_session(conn, id, place, user, Utc::now()).await?;
    Ok(id)
}

/// Whoever begins a session takes part in its conversation.
async fn add_session(
    conn: &mut Conn,
    id: SessionId,
    place: &Conversation,
    user: &UserId,
    now: DateTime<Utc>,
) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO session_metadata (session_id, interface_type, conversation_id, user_id, created_at, last_activity) \
         VALUES ($1, $2, $3, $4, $5, $5)",
    )
    .bind(id.to_string())
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(&user.0)
    .bind(now)
    .execute(&mut *conn)
    .await?;
    members::add_member(conn, place, user).await
}

pub async fn session(conn: &mut Conn, id: SessionId) -> Result<Option<Session>, QueryError> {
    let row = sqlx::query::<Db>("SELECT * FROM session_metadata WHERE session_id = $1")
        .bind(id.to_string())
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(rows::session).transpose()?)
}

/// The newest session of a conversation.
pub async fn current_session(conn: &mut Conn, place: &Conversation) -> Result<Option<Session>, QueryError> {
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
) -> Result<SessionId, QueryError> {
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

/// Counts people's and the agent's messages, not the tools': the number people would count in the chat. Any of them
/// is a change.
pub async fn count_message(conn: &mut Conn, message: &NewMessage) -> Result<(), QueryError> {
    if !message.is_chat_message() {
        return touch_session(conn, message.session_id).await;
    }
    let preview: String = match message.role {
        Role::User => preview(&message.content),
        _ => String::new(),
    };
    sqlx::query::<Db>(
        "UPDATE session_metadata SET message_count = message_count + 1, revision = revision + 1, \
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

/// Replaces the title `from`. False if the session has another title meanwhile.
pub async fn retitle_session(
    conn: &mut Conn,
    id: SessionId,
    from: Option<&str>,
    to: &str,
) -> Result<bool, QueryError> {
    let done =
        sqlx::query::<Db>("UPDATE session_metadata SET title = $3 WHERE session_id = $1 AND title = $2")
            .bind(id.to_string())
            .bind(rows::clean(from.unwrap_or_default()))
            .bind(rows::clean(to))
            .execute(conn)
            .await?;
    Ok(done.rows_affected() > 0)
}
