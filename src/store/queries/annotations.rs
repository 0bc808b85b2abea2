//! Changes to the tags and references of stored messages: by a person, or because a referenced file is deleted.

use super::{Conn, Db, history, labels, sessions};
use crate::{
    domain::{AttachmentId, MessageId, Reference, ReferenceTarget},
    store::{ChangeOutcome, MessageAnnotation, QueryError},
};
use sqlx::Row as _;

/// Sets references and tags of a message. `Stale` if the session is not at the revision that the caller has read.
pub async fn annotate_message(
    conn: &mut Conn,
    annotation: &MessageAnnotation,
) -> Result<ChangeOutcome, QueryError> {
    let session = annotation.session;
    let Some(mut message) =
        history::message(conn, annotation.message).await?.filter(|message| message.session_id == session)
    else {
        return Ok(ChangeOutcome::Missing);
    };
    if !sessions::increase_revision_from(conn, session, annotation.revision).await? {
        return Ok(ChangeOutcome::Stale);
    }
    if let Some(refs) = &annotation.refs {
        message.body.refs.clone_from(refs);
    }
    if let Some(tags) = &annotation.tags {
        message.body.tags.clone_from(tags);
    }
    labels::replace_labels(conn, message.internal_id, &message.body).await?;
    Ok(ChangeOutcome::Changed)
}

/// Removes every reference to a file that is being deleted.
pub async fn remove_references_to(conn: &mut Conn, file: AttachmentId) -> Result<(), QueryError> {
    let url = ReferenceTarget::attachment_url(file);
    let found = sqlx::query::<Db>("SELECT internal_id FROM message_labels WHERE kind = 'ref' AND value = $1")
        .bind(&url)
        .fetch_all(&mut *conn)
        .await?;
    for row in found {
        let id = MessageId(row.try_get("internal_id")?);
        let Some(mut message) = history::message(conn, id).await? else { continue };
        message.body.refs.retain(|reference: &Reference| reference.url != url);
        labels::replace_labels(conn, id, &message.body).await?;
        sessions::increase_revision(conn, message.session_id).await?;
    }
    Ok(())
}
