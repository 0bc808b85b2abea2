//! Tags and references of messages as an index: which messages have this one?

use super::{Conn, Db};
use crate::{
    domain::{MessageId, NewMessage},
    store::StoreError,
};

/// Makes a new message findable by its tags and references.
pub async fn note(conn: &mut Conn, id: MessageId, message: &NewMessage) -> Result<(), StoreError> {
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
        .bind(super::rows::clean(value))
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}
