//! Deleted means deleted: rows, tool calls, planned sends and what the inbox still held; and which files are to go.

use super::{
    Conn, Db,
    rows::{self, ATTACHMENT},
};
use crate::{
    domain::{AttachmentId, Conversation, InterfaceType, SessionId, TurnId},
    store::{DeletedSession, Doomed, QueryError},
};
use chrono::{DateTime, Utc};
use sqlx::{QueryBuilder, Row as _};
use std::collections::HashSet;

/// Deletes a session with everything in it that no other session uses; none if there is no such session.
pub async fn delete_session(conn: &mut Conn, id: SessionId) -> Result<Option<DeletedSession>, QueryError> {
    let Some(session) = super::sessions::session(conn, id).await? else { return Ok(None) };
    let place = session.conversation;
    let text = id.to_string();
    let open = sqlx::query::<Db>(
        "SELECT turn_id FROM turns WHERE session_id = $1 AND state IN ('pending', 'running')",
    )
    .bind(&text)
    .fetch_all(&mut *conn)
    .await?;
    let turns: Vec<TurnId> = open.iter().map(|row| rows::parsed(row, "turn_id")).collect::<Result<_, _>>()?;
    let files = only_used_by(conn, &place, id).await?;
    empty_session(conn, id).await?;
    for file in &files {
        doom(conn, *file).await?;
    }
    // Handled updates are kept for a while to be recognised; what they said need not be.
    sqlx::query::<Db>(
        "UPDATE inbox SET raw = '' WHERE conversation_id = $1 AND state IN ('done', 'skipped')",
    )
    .bind(&place.id)
    .execute(&mut *conn)
    .await?;
    sqlx::query::<Db>("DELETE FROM session_metadata WHERE session_id = $1")
        .bind(&text)
        .execute(&mut *conn)
        .await?;
    // A conversation of the web is its session; a chat goes on, and so do those who take part in it.
    if place.interface == InterfaceType::Web {
        sqlx::query::<Db>(
            "DELETE FROM members WHERE interface_type = 'web' AND conversation_id = $1 AND NOT EXISTS ( \
               SELECT 1 FROM session_metadata s WHERE s.interface_type = 'web' AND s.conversation_id = $1)",
        )
        .bind(&place.id)
        .execute(&mut *conn)
        .await?;
    }
    Ok(Some(DeletedSession { conversation: place, turns }))
}

/// Takes all messages out of a session, with what hangs on them. Its files stay for the caller to judge.
pub async fn empty_session(conn: &mut Conn, id: SessionId) -> Result<(), QueryError> {
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

/// What goes with a session: all files of its conversation if this is the only one, else its own.
async fn only_used_by(
    conn: &mut Conn,
    place: &Conversation,
    id: SessionId,
) -> Result<HashSet<AttachmentId>, QueryError> {
    let others = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM session_metadata \
         WHERE interface_type = $1 AND conversation_id = $2 AND session_id <> $3",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(id.to_string())
    .fetch_one(&mut *conn)
    .await?;
    if others.try_get::<i64, _>("n")? == 0 {
        return all_of_conversation(conn, place).await;
    }
    let own = own_files(conn, place, id).await?;
    spared(conn, place, own).await
}

/// Files that only messages of this session carry, or that nobody carries and only they refer to.
pub async fn own_files(
    conn: &mut Conn,
    place: &Conversation,
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
    .bind(place.interface.as_str())
    .bind(&place.id)
    .fetch_all(conn)
    .await?;
    Ok(own.iter().map(|row| rows::parsed(row, "attachment_id")).collect::<Result<_, _>>()?)
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
    Ok(used.iter().map(|row| rows::parsed(row, "attachment_id")).collect::<Result<_, _>>()?)
}

/// Of files that are to go, those that no picture is still to be made from.
pub async fn spared(
    conn: &mut Conn,
    place: &Conversation,
    mut files: HashSet<AttachmentId>,
) -> Result<HashSet<AttachmentId>, QueryError> {
    // Pictures without a file are made again from their parents when somebody asks for them.
    let sql = format!(
        "SELECT {ATTACHMENT} FROM attachment_metadata f \
         WHERE f.interface_type = $1 AND f.conversation_id = $2 AND f.object_key = ''"
    );
    let unprinted = sqlx::query::<Db>(sqlx::AssertSqlSafe(sql))
        .bind(place.interface.as_str())
        .bind(&place.id)
        .fetch_all(&mut *conn)
        .await?;
    let unprinted = rows::attachments(unprinted)?;
    loop {
        let before = files.len();
        for file in unprinted.iter().filter(|file| !files.contains(&file.attachment_id)).collect::<Vec<_>>() {
            for parent in &file.parents {
                files.remove(parent);
            }
        }
        if files.len() == before {
            return Ok(files);
        }
    }
}

async fn all_of_conversation(
    conn: &mut Conn,
    place: &Conversation,
) -> Result<HashSet<AttachmentId>, QueryError> {
    let all = sqlx::query::<Db>(
        "SELECT attachment_id FROM attachment_metadata WHERE interface_type = $1 AND conversation_id = $2",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .fetch_all(conn)
    .await?;
    Ok(all.iter().map(|row| rows::parsed(row, "attachment_id")).collect::<Result<_, _>>()?)
}

/// Files that were uploaded and never sent with a message.
pub async fn forget_uploads(conn: &mut Conn, before: DateTime<Utc>) -> Result<u64, QueryError> {
    let stale = sqlx::query::<Db>(
        "SELECT attachment_id FROM attachment_metadata \
         WHERE interface_type = 'web' AND conversation_id >= 'uploads-' AND conversation_id < 'uploads.' \
         AND created_at < $1",
    )
    .bind(before)
    .fetch_all(&mut *conn)
    .await?;
    for row in &stale {
        doom(conn, rows::parsed(row, "attachment_id")?).await?;
    }
    Ok(stale.len() as u64)
}

/// Deletes what is known of a file and notes its bytes as doomed. False if there is no such file.
pub async fn delete_attachment(conn: &mut Conn, id: AttachmentId) -> Result<bool, QueryError> {
    doom(conn, id).await
}

async fn doom(conn: &mut Conn, id: AttachmentId) -> Result<bool, QueryError> {
    super::annotations::remove_references_to(conn, id).await?;
    // A history without one of its files is another.
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

/// Bytes whose rows are gone.
pub async fn doomed_objects(conn: &mut Conn, limit: i64) -> Result<Vec<Doomed>, QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT attachment_id, object_key, sha256 FROM doomed_objects ORDER BY attachment_id LIMIT $1",
    )
    .bind(limit)
    .fetch_all(conn)
    .await?;
    let doomed = |row| -> Result<Doomed, sqlx::Error> {
        Ok(Doomed {
            attachment_id: rows::parsed(row, "attachment_id")?,
            object_key: row.try_get("object_key")?,
            sha256: row.try_get("sha256")?,
        })
    };
    Ok(found.iter().map(doomed).collect::<Result<_, _>>()?)
}

/// Does any file have these bytes?
pub async fn object_in_use(conn: &mut Conn, object_key: &str) -> Result<bool, QueryError> {
    let row = sqlx::query::<Db>("SELECT COUNT(*) AS n FROM attachment_metadata WHERE object_key = $1")
        .bind(object_key)
        .fetch_one(conn)
        .await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}

/// These bytes are gone, or are wanted after all.
pub async fn forget_doomed(conn: &mut Conn, ids: &[AttachmentId]) -> Result<(), QueryError> {
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
