//! Tags and references of messages as an index: which messages have this one? And what follows from it when a file
//! that is referred to is gone.

use super::{Conn, Db, history, rows, sessions};
use crate::{
    domain::{AttachmentId, MessageId, NewMessage, Reference, Target},
    store::{Annotation, Change, StoreError},
};
use sqlx::Row as _;

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
        .bind(rows::clean(value))
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Notes references and tags on a message, if the session is still as it was when somebody looked.
pub async fn annotate_message(conn: &mut Conn, annotation: &Annotation) -> Result<Change, StoreError> {
    let session = annotation.session;
    let Some(mut message) =
        history::message(conn, annotation.message).await?.filter(|message| message.session_id == session)
    else {
        return Ok(Change::Missing);
    };
    if !sessions::change_session(conn, session, annotation.revision).await? {
        return Ok(Change::Stale);
    }
    if let Some(refs) = &annotation.refs {
        message.body.refs.clone_from(refs);
    }
    if let Some(tags) = &annotation.tags {
        message.body.tags.clone_from(tags);
    }
    write(conn, message.internal_id, &message.body).await?;
    Ok(Change::Made)
}

/// Puts other references and tags on a message, and into the index.
pub async fn write(conn: &mut Conn, id: MessageId, message: &NewMessage) -> Result<(), StoreError> {
    sqlx::query::<Db>("UPDATE message_history SET refs = $2, tags = $3 WHERE internal_id = $1")
        .bind(id.0)
        .bind((!message.refs.is_empty()).then(|| rows::clean_json(&message.refs)).transpose()?)
        .bind((!message.tags.is_empty()).then(|| rows::clean_json(&message.tags)).transpose()?)
        .execute(&mut *conn)
        .await?;
    sqlx::query::<Db>("DELETE FROM message_labels WHERE internal_id = $1")
        .bind(id.0)
        .execute(&mut *conn)
        .await?;
    note(conn, id, message).await
}

/// A file is gone, and so is every reference to it.
pub async fn forget_file(conn: &mut Conn, file: AttachmentId) -> Result<(), StoreError> {
    let url = Target::url_of(file);
    let found = sqlx::query::<Db>("SELECT internal_id FROM message_labels WHERE kind = 'ref' AND value = $1")
        .bind(&url)
        .fetch_all(&mut *conn)
        .await?;
    for row in found {
        let id = MessageId(row.try_get("internal_id")?);
        let Some(mut message) = history::message(conn, id).await? else { continue };
        message.body.refs.retain(|reference: &Reference| reference.url != url);
        write(conn, id, &message.body).await?;
        sessions::touch_session(conn, message.session_id).await?;
    }
    Ok(())
}
