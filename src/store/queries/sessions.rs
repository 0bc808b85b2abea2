//! Sessions: the parts of a conversation, each with a title, a message count and a last activity.

use super::{Conn, Db, lock_name, members, rows};
use crate::{
    domain::{Conversation, InterfaceType, NewMessage, Role, Session, SessionId, UserId},
    store::QueryError,
};
use chrono::{DateTime, Utc};
use sqlx::Row as _;

const PREVIEW_CHARS: usize = 120;

/// Creates a session of the web, in a conversation of its own.
pub async fn create_web_session(
    conn: &mut Conn,
    user: &UserId,
    title: Option<&str>,
) -> Result<Session, QueryError> {
    let (id, now) = (SessionId::new(), Utc::now());
    let conversation = Conversation::new(InterfaceType::Web, id.to_string());
    add_session(conn, id, &conversation, user, now).await?;
    if let Some(title) = title {
        rename_session(conn, id, title).await?;
    }
    session(conn, id).await?.ok_or(QueryError::AlreadyDone)
}

/// Sets the title of a session. False if there is no such session.
pub async fn rename_session(conn: &mut Conn, id: SessionId, title: &str) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>("UPDATE session_metadata SET title = $2 WHERE session_id = $1")
        .bind(id.to_string())
        .bind(rows::strip_nul(title))
        .execute(conn)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Increases the revision: a message of the session changed.
pub async fn increase_revision(conn: &mut Conn, id: SessionId) -> Result<(), QueryError> {
    sqlx::query::<Db>("UPDATE session_metadata SET revision = revision + 1 WHERE session_id = $1")
        .bind(id.to_string())
        .execute(conn)
        .await?;
    Ok(())
}

/// Increases the revision if it is still this one. False if the session changed meanwhile.
pub async fn increase_revision_from(
    conn: &mut Conn,
    id: SessionId,
    revision: i64,
) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>(
        "UPDATE session_metadata SET revision = revision + 1 WHERE session_id = $1 AND revision = $2",
    )
    .bind(id.to_string())
    .bind(revision)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Computes count, preview and last activity again after the history was replaced. Sets the title if there is none.
pub async fn refresh_session(
    conn: &mut Conn,
    id: SessionId,
    revision: i64,
    title: Option<&str>,
) -> Result<(), QueryError> {
    let text = id.to_string();
    let texts = sqlx::query::<Db>(
        "SELECT content FROM message_history WHERE session_id = $1 AND role = 'user' ORDER BY internal_id",
    )
    .bind(&text)
    .fetch_all(&mut *conn)
    .await?;
    let texts: Vec<String> = texts.iter().map(|row| row.try_get("content")).collect::<Result<_, _>>()?;
    let preview = texts.iter().map(|content| preview(content)).find(|preview| !preview.is_empty());
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
    .bind(rows::strip_nul(title.unwrap_or_default()))
    .execute(conn)
    .await?;
    Ok(())
}

/// Changes the preview if it is the start of this message, which was edited.
pub async fn replace_preview(conn: &mut Conn, id: SessionId, old: &str, new: &str) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "UPDATE session_metadata SET first_message_preview = $3 \
         WHERE session_id = $1 AND first_message_preview = $2",
    )
    .bind(id.to_string())
    .bind(preview(old))
    .bind(rows::strip_nul(&preview(new)))
    .execute(conn)
    .await?;
    Ok(())
}

/// The start of a text as lists show it.
fn preview(content: &str) -> String {
    content.lines().next().unwrap_or_default().chars().take(PREVIEW_CHARS).collect()
}

/// Starts a new session, as `/new` does.
pub async fn start_session(
    conn: &mut Conn,
    conversation: &Conversation,
    user: &UserId,
) -> Result<SessionId, QueryError> {
    let id = SessionId::new();
    add_session(conn, id, conversation, user, Utc::now()).await?;
    Ok(id)
}

/// Adds a session. Its user becomes a member of the conversation.
async fn add_session(
    conn: &mut Conn,
    id: SessionId,
    conversation: &Conversation,
    user: &UserId,
    now: DateTime<Utc>,
) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO session_metadata (session_id, interface_type, conversation_id, user_id, created_at, last_activity) \
         VALUES ($1, $2, $3, $4, $5, $5)",
    )
    .bind(id.to_string())
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .bind(&user.0)
    .bind(now)
    .execute(&mut *conn)
    .await?;
    members::add_member(conn, conversation, user).await
}

pub async fn session(conn: &mut Conn, id: SessionId) -> Result<Option<Session>, QueryError> {
    let row = sqlx::query::<Db>("SELECT * FROM session_metadata WHERE session_id = $1")
        .bind(id.to_string())
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(rows::read_session).transpose()?)
}

/// The newest session of a conversation.
pub async fn current_session(
    conn: &mut Conn,
    conversation: &Conversation,
) -> Result<Option<Session>, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT * FROM session_metadata WHERE interface_type = $1 AND conversation_id = $2 \
         ORDER BY created_at DESC LIMIT 1",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .fetch_optional(conn)
    .await?;
    Ok(row.as_ref().map(rows::read_session).transpose()?)
}

/// The newest session of a conversation. Starts one if there is none.
pub async fn ensure_session(
    conn: &mut Conn,
    conversation: &Conversation,
    user: &UserId,
) -> Result<SessionId, QueryError> {
    if let Some(session) = current_session(conn, conversation).await? {
        return Ok(session.session_id);
    }
    // Two people of a new group may write at once: look again under a lock.
    lock_name(conn, &format!("start a session in {conversation}")).await?;
    match current_session(conn, conversation).await? {
        Some(session) => Ok(session.session_id),
        None => start_session(conn, conversation, user).await,
    }
}

/// Updates the session for a new message. Tool calls and results change the revision, but not the count, the preview
/// and the last activity.
pub async fn count_message(conn: &mut Conn, message: &NewMessage) -> Result<(), QueryError> {
    if !message.is_chat_message() {
        return increase_revision(conn, message.session_id).await;
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
    .bind(rows::strip_nul(&preview))
    .execute(conn)
    .await?;
    Ok(())
}

/// Replaces the title `from`. False if the session has another title meanwhile.
pub async fn replace_title(
    conn: &mut Conn,
    id: SessionId,
    from: Option<&str>,
    to: &str,
) -> Result<bool, QueryError> {
    let done =
        sqlx::query::<Db>("UPDATE session_metadata SET title = $3 WHERE session_id = $1 AND title = $2")
            .bind(id.to_string())
            .bind(rows::strip_nul(from.unwrap_or_default()))
            .bind(rows::strip_nul(to))
            .execute(conn)
            .await?;
    Ok(done.rows_affected() > 0)
}
