//! Deletes sessions and attachments with all rows that belong to them, and lists the blobs to be deleted.

use super::{
    Conn, Db,
    rows::{self, ATTACHMENT},
};
use crate::{
    domain::{Attachment, AttachmentId, Conversation, InterfaceType, SessionId, TurnId},
    store::{DeletedSession, ObjectToDelete, QueryError, RewriteMessage},
};
use chrono::{DateTime, Utc};
use sqlx::{QueryBuilder, Row as _};
use std::collections::{HashMap, HashSet};

/// Deletes a session with its messages, turns, sends and all files that no other session uses. None if there is no such
/// session.
pub async fn delete_session(conn: &mut Conn, id: SessionId) -> Result<Option<DeletedSession>, QueryError> {
    let Some(session) = super::sessions::session(conn, id).await? else { return Ok(None) };
    let conversation = session.conversation;
    let text = id.to_string();
    let open = sqlx::query::<Db>(
        "SELECT turn_id FROM turns WHERE session_id = $1 AND state IN ('pending', 'running')",
    )
    .bind(&text)
    .fetch_all(&mut *conn)
    .await?;
    let turns: Vec<TurnId> =
        open.iter().map(|row| rows::parse_column(row, "turn_id")).collect::<Result<_, _>>()?;
    let files = files_to_delete_with(conn, &conversation, id).await?;
    delete_messages(conn, id).await?;
    for file in &files {
        delete_attachment(conn, *file).await?;
    }
    // Handled updates stay for a while to recognise repeated deliveries; their content must go now. A note may quote it.
    sqlx::query::<Db>(
        "UPDATE inbox SET raw = '', note = NULL WHERE conversation_id = $1 AND state IN ('done', 'skipped')",
    )
    .bind(&conversation.id)
    .execute(&mut *conn)
    .await?;
    sqlx::query::<Db>("DELETE FROM session_metadata WHERE session_id = $1")
        .bind(&text)
        .execute(&mut *conn)
        .await?;
    // A web conversation ends with its session. A chat goes on, and its members stay.
    if conversation.interface == InterfaceType::Web {
        sqlx::query::<Db>(
            "DELETE FROM members WHERE interface_type = 'web' AND conversation_id = $1 AND NOT EXISTS ( \
               SELECT 1 FROM session_metadata s WHERE s.interface_type = 'web' AND s.conversation_id = $1)",
        )
        .bind(&conversation.id)
        .execute(&mut *conn)
        .await?;
    }
    Ok(Some(DeletedSession { conversation, turns }))
}

/// Deletes the messages, turns and sends of a session. Files are left to the caller.
async fn delete_messages(conn: &mut Conn, id: SessionId) -> Result<(), QueryError> {
    let text = id.to_string();
    for sql in [
        "DELETE FROM outbox WHERE turn_id IS NOT NULL \
         AND turn_id IN (SELECT turn_id FROM turns WHERE session_id = $1)",
        "DELETE FROM turns WHERE session_id = $1",
        "DELETE FROM message_history WHERE session_id = $1",
    ] {
        sqlx::query::<Db>(sql).bind(&text).execute(&mut *conn).await?;
    }
    Ok(())
}

/// The files that are deleted with a session: all files of its conversation if it is the only session, else its own.
async fn files_to_delete_with(
    conn: &mut Conn,
    conversation: &Conversation,
    id: SessionId,
) -> Result<HashSet<AttachmentId>, QueryError> {
    let others = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM session_metadata \
         WHERE interface_type = $1 AND conversation_id = $2 AND session_id <> $3",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .bind(id.to_string())
    .fetch_one(&mut *conn)
    .await?;
    if others.try_get::<i64, _>("n")? == 0 {
        return files_of_conversation(conn, conversation).await;
    }
    let own = own_files(conn, conversation, id).await?;
    without_needed_parents(conn, conversation, own).await
}

/// Files that only messages of this session carry, or that no message carries and only they refer to.
pub async fn own_files(
    conn: &mut Conn,
    conversation: &Conversation,
    id: SessionId,
) -> Result<HashSet<AttachmentId>, QueryError> {
    let own = sqlx::query::<Db>(
        "SELECT a.attachment_id FROM message_history m \
         JOIN message_attachments a ON a.internal_id = m.internal_id \
         WHERE m.session_id = $1 AND NOT EXISTS ( \
           SELECT 1 FROM message_attachments b JOIN message_history o ON o.internal_id = b.internal_id \
           WHERE b.attachment_id = a.attachment_id AND o.session_id <> $1) \
         UNION \
         SELECT f.attachment_id FROM message_history m \
         JOIN message_labels l ON l.internal_id = m.internal_id AND l.kind = 'ref' \
         JOIN attachment_metadata f ON l.value LIKE 'attachment:%' AND f.attachment_id = SUBSTR(l.value, 12) \
         WHERE m.session_id = $1 AND f.interface_type = $2 AND f.conversation_id = $3 \
         AND NOT EXISTS (SELECT 1 FROM message_attachments b WHERE b.attachment_id = f.attachment_id) \
         AND NOT EXISTS ( \
           SELECT 1 FROM message_labels o WHERE o.kind = 'ref' AND o.value = l.value AND o.session_id <> $1)",
    )
    .bind(id.to_string())
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .fetch_all(conn)
    .await?;
    Ok(own.iter().map(|row| rows::parse_column(row, "attachment_id")).collect::<Result<_, _>>()?)
}

/// All files that messages of this session carry or refer to.
pub async fn files_in_use(conn: &mut Conn, id: SessionId) -> Result<HashSet<AttachmentId>, QueryError> {
    let used = sqlx::query::<Db>(
        "SELECT a.attachment_id FROM message_history m \
         JOIN message_attachments a ON a.internal_id = m.internal_id WHERE m.session_id = $1 \
         UNION \
         SELECT SUBSTR(l.value, 12) AS attachment_id FROM message_history m \
         JOIN message_labels l ON l.internal_id = m.internal_id AND l.kind = 'ref' \
         WHERE m.session_id = $1 AND l.value LIKE 'attachment:%'",
    )
    .bind(id.to_string())
    .fetch_all(conn)
    .await?;
    Ok(used.iter().map(|row| rows::parse_column(row, "attachment_id")).collect::<Result<_, _>>()?)
}

/// Removes the files from the set that a picture outside the set is rendered from.
pub async fn without_needed_parents(
    conn: &mut Conn,
    conversation: &Conversation,
    mut files: HashSet<AttachmentId>,
) -> Result<HashSet<AttachmentId>, QueryError> {
    // A picture without a blob is rendered from its parents when it is needed.
    let sql = format!(
        "SELECT {ATTACHMENT} FROM attachment_metadata f \
         WHERE f.interface_type = $1 AND f.conversation_id = $2 AND f.object_key = ''"
    );
    let unrendered = sqlx::query::<Db>(sqlx::AssertSqlSafe(sql))
        .bind(conversation.interface.as_str())
        .bind(&conversation.id)
        .fetch_all(&mut *conn)
        .await?;
    let unrendered = rows::read_attachments(unrendered)?;
    loop {
        let before = files.len();
        for file in unrendered.iter().filter(|file| !files.contains(&file.attachment_id)).collect::<Vec<_>>()
        {
            for parent in &file.parents {
                files.remove(parent);
            }
        }
        if files.len() == before {
            return Ok(files);
        }
    }
}

async fn files_of_conversation(
    conn: &mut Conn,
    conversation: &Conversation,
) -> Result<HashSet<AttachmentId>, QueryError> {
    let all = sqlx::query::<Db>(
        "SELECT attachment_id FROM attachment_metadata WHERE interface_type = $1 AND conversation_id = $2",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .fetch_all(conn)
    .await?;
    Ok(all.iter().map(|row| rows::parse_column(row, "attachment_id")).collect::<Result<_, _>>()?)
}

/// Deletes files that were uploaded before this time and that no message used. The range is the prefix of
/// `Conversation::uploads`.
pub async fn delete_unused_uploads(conn: &mut Conn, before: DateTime<Utc>) -> Result<u64, QueryError> {
    let stale = sqlx::query::<Db>(
        "SELECT attachment_id FROM attachment_metadata \
         WHERE interface_type = 'web' AND conversation_id >= 'uploads-' AND conversation_id < 'uploads.' \
         AND created_at < $1",
    )
    .bind(before)
    .fetch_all(&mut *conn)
    .await?;
    for row in &stale {
        delete_attachment(conn, rows::parse_column(row, "attachment_id")?).await?;
    }
    Ok(stale.len() as u64)
}

/// The conversations with files from before this time, without uploads that no message uses yet.
pub async fn conversations_with_files_before(
    conn: &mut Conn,
    before: DateTime<Utc>,
) -> Result<Vec<Conversation>, QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT f.interface_type, f.conversation_id FROM attachment_metadata f WHERE f.created_at < $1 \
         AND NOT (f.interface_type = 'web' AND f.conversation_id >= 'uploads-' AND f.conversation_id < 'uploads.')",
    )
    .bind(before)
    .fetch_all(conn)
    .await?;
    let all: HashSet<Conversation> = found.iter().map(rows::read_conversation).collect::<Result<_, _>>()?;
    Ok(all.into_iter().collect())
}

/// Deletes the files of a conversation from before this time, except those that a newer file was made from. Their messages
/// stay; `rewrite` gives their new content. Returns how many were deleted: none while a turn waits or runs, which may be
/// about to use one of them.
pub async fn expire_files(
    conn: &mut Conn,
    conversation: &Conversation,
    before: DateTime<Utc>,
    rewrite: &RewriteMessage<'_>,
) -> Result<u64, QueryError> {
    let open = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM turns WHERE interface_type = $1 AND conversation_id = $2 \
         AND state IN ('pending', 'running')",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .fetch_one(&mut *conn)
    .await?;
    if open.try_get::<i64, _>("n")? > 0 {
        return Ok(0);
    }
    let sql = format!(
        "SELECT {ATTACHMENT} FROM attachment_metadata f WHERE f.interface_type = $1 AND f.conversation_id = $2"
    );
    let all = sqlx::query::<Db>(sqlx::AssertSqlSafe(sql))
        .bind(conversation.interface.as_str())
        .bind(&conversation.id)
        .fetch_all(&mut *conn)
        .await?;
    let all = rows::read_attachments(all)?;
    let parents_of: HashMap<AttachmentId, &[AttachmentId]> =
        all.iter().map(|file| (file.attachment_id, file.parents.as_slice())).collect();
    let mut needed = HashSet::new();
    let mut queue: Vec<AttachmentId> =
        all.iter().filter(|file| file.created_at >= before).map(|file| file.attachment_id).collect();
    while let Some(id) = queue.pop() {
        if needed.insert(id) {
            queue.extend(parents_of.get(&id).copied().unwrap_or_default());
        }
    }
    let mut count = 0;
    for file in all.iter().filter(|file| !needed.contains(&file.attachment_id)) {
        rewrite_messages_of(conn, file, rewrite).await?;
        count += u64::from(delete_attachment(conn, file.attachment_id).await?);
    }
    Ok(count)
}

async fn rewrite_messages_of(
    conn: &mut Conn,
    file: &Attachment,
    rewrite: &RewriteMessage<'_>,
) -> Result<(), QueryError> {
    let messages = sqlx::query::<Db>(
        "SELECT m.internal_id, m.content FROM message_attachments a \
         JOIN message_history m ON m.internal_id = a.internal_id WHERE a.attachment_id = $1",
    )
    .bind(file.attachment_id.to_string())
    .fetch_all(&mut *conn)
    .await?;
    for row in &messages {
        let content: String = row.try_get("content")?;
        sqlx::query::<Db>("UPDATE message_history SET content = $2 WHERE internal_id = $1")
            .bind(row.try_get::<i64, _>("internal_id")?)
            .bind(rewrite(file, &content))
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

/// Deletes an attachment and lists its blob for deletion. False if there is no such attachment.
pub async fn delete_attachment(conn: &mut Conn, id: AttachmentId) -> Result<bool, QueryError> {
    super::annotations::remove_references_to(conn, id).await?;
    // The histories that show the file change.
    sqlx::query::<Db>(
        "UPDATE session_metadata SET revision = revision + 1 WHERE session_id IN ( \
           SELECT m.session_id FROM message_attachments a \
           JOIN message_history m ON m.internal_id = a.internal_id WHERE a.attachment_id = $1)",
    )
    .bind(id.to_string())
    .execute(&mut *conn)
    .await?;
    sqlx::query::<Db>(
        "INSERT INTO doomed_objects (attachment_id, object_key, sha256) \
         SELECT attachment_id, object_key, sha256 FROM attachment_metadata \
         WHERE attachment_id = $1 AND object_key <> '' ON CONFLICT DO NOTHING",
    )
    .bind(id.to_string())
    .execute(&mut *conn)
    .await?;
    let done = sqlx::query::<Db>("DELETE FROM attachment_metadata WHERE attachment_id = $1")
        .bind(id.to_string())
        .execute(conn)
        .await?;
    Ok(done.rows_affected() > 0)
}

/// Blobs of deleted attachments.
pub async fn objects_to_delete(conn: &mut Conn, limit: i64) -> Result<Vec<ObjectToDelete>, QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT attachment_id, object_key, sha256 FROM doomed_objects ORDER BY attachment_id LIMIT $1",
    )
    .bind(limit)
    .fetch_all(conn)
    .await?;
    let read = |row| -> Result<ObjectToDelete, sqlx::Error> {
        Ok(ObjectToDelete {
            attachment_id: rows::parse_column(row, "attachment_id")?,
            object_key: row.try_get("object_key")?,
            sha256: row.try_get("sha256")?,
        })
    };
    Ok(found.iter().map(read).collect::<Result<_, _>>()?)
}

/// True if an attachment uses the blob.
pub async fn object_in_use(conn: &mut Conn, object_key: &str) -> Result<bool, QueryError> {
    let row = sqlx::query::<Db>("SELECT COUNT(*) AS n FROM attachment_metadata WHERE object_key = $1")
        .bind(object_key)
        .fetch_one(conn)
        .await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}

/// Removes blobs from the list of those to be deleted: they are deleted, or in use again.
pub async fn unlist_objects(conn: &mut Conn, ids: &[AttachmentId]) -> Result<(), QueryError> {
    if ids.is_empty() {
        return Ok(());
    }
    let mut query = QueryBuilder::<Db>::new("DELETE FROM doomed_objects WHERE attachment_id IN (");
    let mut list = query.separated(", ");
    for id in ids {
        list.push_bind(id.to_string());
    }
    query.push(")");
    query.build().execute(conn).await?;
    Ok(())
}
