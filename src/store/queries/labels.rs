//! `message_labels`: the index that finds messages by tag or reference. The columns `tags` and `refs` of the message are
//! the source of truth; every change to them updates this table.

use super::{Conn, Db, rows};
use crate::{
    domain::{MessageId, NewMessage},
    store::QueryError,
};

/// Adds the tags and references of a new message to the index.
pub async fn index_labels(conn: &mut Conn, id: MessageId, message: &NewMessage) -> Result<(), QueryError> {
    let tags = message.tags.iter().map(|tag| ("tag", tag.as_str()));
    let refs = message.refs.iter().map(|reference| ("ref", reference.url.as_str()));
    for (kind, value) in tags.chain(refs) {
        sqlx::query::<Db>(
            "INSERT INTO message_labels (internal_id, session_id, kind, value) VALUES ($1, $2, $3, $4) \
             ON CONFLICT DO NOTHING",
        )
        .bind(id.0)
        .bind(message.session_id.to_string())
        .bind(kind)
        .bind(rows::strip_nul(value))
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Replaces the tags and references of a message, in its row and in the index.
pub async fn replace_labels(conn: &mut Conn, id: MessageId, message: &NewMessage) -> Result<(), QueryError> {
    sqlx::query::<Db>("UPDATE message_history SET refs = $2, tags = $3 WHERE internal_id = $1")
        .bind(id.0)
        .bind((!message.refs.is_empty()).then(|| rows::json_without_nul(&message.refs)).transpose()?)
        .bind((!message.tags.is_empty()).then(|| rows::json_without_nul(&message.tags)).transpose()?)
        .execute(&mut *conn)
        .await?;
    sqlx::query::<Db>("DELETE FROM message_labels WHERE internal_id = $1")
        .bind(id.0)
        .execute(&mut *conn)
        .await?;
    index_labels(conn, id, message).await
}
