//! Replaces the whole history of a session in one transaction. Rows that stay keep their ids, so that people can still
//! reply to them on their interface.

use super::{
    Conn, Db,
    attachments::{self, AddedBytes},
    deletion, history, labels, rows, sessions,
};
use crate::{
    domain::{AttachmentId, MessageId, NewMessage, ReplyTo, SessionId, TurnId},
    store::{ChangeOutcome, QueryError, Quota, Replacement, RowContent},
};
use sqlx::{QueryBuilder, Row as _};

/// Replaces a history. `Stale` if the session is not at the revision that the caller has read, `Busy` if it has a pending
/// or running turn.
pub async fn replace_history(
    conn: &mut Conn,
    quota: &Quota,
    new: &Replacement,
) -> Result<ChangeOutcome, QueryError> {
    let added: Vec<AddedBytes> = new.files.iter().map(AddedBytes::of).collect();
    attachments::check_quota(conn, quota, &added).await?;
    let Some(session) = sessions::session(conn, new.session).await? else {
        return Ok(ChangeOutcome::Missing);
    };
    let text = new.session.to_string();
    let open = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM turns WHERE session_id = $1 AND state IN ('pending', 'running')",
    )
    .bind(&text)
    .fetch_one(&mut *conn)
    .await?;
    if open.try_get::<i64, _>("n")? > 0 {
        return Ok(ChangeOutcome::Busy);
    }
    // Filing a message changes the revision, too, so it happens entirely before or after this transaction.
    if !sessions::increase_revision_from(conn, new.session, new.revision).await? {
        return Ok(ChangeOutcome::Stale);
    }
    let conversation = &session.conversation;
    let before = deletion::own_files(conn, conversation, new.session).await?;
    for file in &new.files {
        attachments::insert_attachment(conn, file).await?;
    }
    let kept: Vec<MessageId> = new.rows.iter().filter_map(|row| row.content.stored_id()).collect();
    update_roots(conn, new).await?;
    delete_all_but(conn, new.session, &kept).await?;
    write_rows(conn, new).await?;
    sessions::refresh_session(conn, new.session, new.revision + 1, new.title.as_deref()).await?;
    let after = deletion::files_in_use(conn, new.session).await?;
    let unused = before.difference(&after).copied().collect();
    for file in deletion::without_needed_parents(conn, conversation, unused).await? {
        deletion::delete_attachment(conn, file).await?;
    }
    Ok(ChangeOutcome::Changed)
}

/// Sets the thread of the rows that stay, before the other rows are deleted.
async fn update_roots(conn: &mut Conn, new: &Replacement) -> Result<(), QueryError> {
    for row in &new.rows {
        let Some(id) = row.content.stored_id() else { continue };
        let root = row.thread_root.and_then(|at| new.rows.get(at)).and_then(|root| root.content.stored_id());
        sqlx::query::<Db>(
            "UPDATE message_history SET thread_root_id = $2 WHERE internal_id = $1 \
             AND COALESCE(thread_root_id, 0) <> COALESCE($2, 0)",
        )
        .bind(id.0)
        .bind(root.map(|id| id.0))
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

async fn delete_all_but(conn: &mut Conn, session: SessionId, kept: &[MessageId]) -> Result<(), QueryError> {
    let text = session.to_string();
    for (begin, end) in [
        (
            "DELETE FROM outbox WHERE turn_id IS NOT NULL AND turn_id IN ( \
             SELECT turn_id FROM turns WHERE thread_root_id IN (",
            "))",
        ),
        ("DELETE FROM turns WHERE thread_root_id IN (", ")"),
        ("DELETE FROM message_history WHERE internal_id IN (", ")"),
    ] {
        let mut query = QueryBuilder::<Db>::new(begin);
        query
            .push("SELECT g.internal_id FROM message_history g WHERE g.session_id = ")
            .push_bind(text.clone());
        if !kept.is_empty() {
            query.push(" AND g.internal_id NOT IN (");
            let mut list = query.separated(", ");
            for id in kept {
                list.push_bind(id.0);
            }
            query.push(")");
        }
        query.push(end);
        query.build().execute(&mut *conn).await?;
    }
    // A turn without messages is deleted.
    for sql in [
        "DELETE FROM outbox WHERE turn_id IS NOT NULL AND turn_id IN ( \
           SELECT t.turn_id FROM turns t WHERE t.session_id = $1 \
           AND NOT EXISTS (SELECT 1 FROM message_history m WHERE m.turn_id = t.turn_id))",
        "DELETE FROM turns WHERE session_id = $1 \
         AND NOT EXISTS (SELECT 1 FROM message_history m WHERE m.turn_id = turns.turn_id)",
    ] {
        sqlx::query::<Db>(sql).bind(&text).execute(&mut *conn).await?;
    }
    Ok(())
}

async fn write_rows(conn: &mut Conn, new: &Replacement) -> Result<(), QueryError> {
    let mut ids: Vec<MessageId> = Vec::new();
    for row in &new.rows {
        let at = |index: Option<usize>| index.and_then(|index| ids.get(index)).copied();
        let complete = |message: &NewMessage| {
            let mut message = message.clone();
            message.session_id = new.session;
            message.thread_root_id = at(row.thread_root);
            message.reply = message.reply.map(|reply| ReplyTo { message: at(row.reply_to), ..reply });
            message
        };
        let id = match &row.content {
            RowContent::Kept(id) => *id,
            RowContent::Rewritten(id, message) => {
                rewrite(conn, *id, &complete(message)).await?;
                *id
            }
            RowContent::New(message) => history::insert_message(conn, &complete(message)).await?,
        };
        ids.push(id);
    }
    Ok(())
}

/// Replaces the content of a stored row. Its ids stay; what was sent of it and what a model thought about it go.
async fn rewrite(conn: &mut Conn, id: MessageId, m: &NewMessage) -> Result<(), QueryError> {
    sqlx::query::<Db>("DELETE FROM outbox WHERE internal_id = $1 AND state = 'sent'")
        .bind(id.0)
        .execute(&mut *conn)
        .await?;
    sqlx::query::<Db>(
        "UPDATE message_history SET turn_id = $2, timestamp = $3, content = $4, tool_calls = $5, tool_call_id = $6, \
         tool_name = $7, agent_id = $8, reasoning_info = $9, error = $10, reply = $11, album_id = $12, \
         provider_metadata = CASE WHEN content = $4 THEN provider_metadata ELSE NULL END \
         WHERE internal_id = $1",
    )
    .bind(id.0)
    .bind(m.turn_id.map(|id| id.to_string()))
    .bind(m.timestamp)
    .bind(rows::strip_nul(&m.content))
    .bind((!m.tool_calls.is_empty()).then(|| rows::json_without_nul(&m.tool_calls)).transpose()?)
    .bind(m.tool_call_id.as_deref().map(rows::strip_nul))
    .bind(m.tool_name.as_deref().map(rows::strip_nul))
    .bind(&m.agent_id)
    .bind(m.reasoning_info.as_ref().map(rows::json_without_nul).transpose()?)
    .bind(m.error.as_deref().map(rows::strip_nul))
    .bind(m.reply.as_ref().map(rows::json_without_nul).transpose()?)
    .bind(&m.album_id)
    .execute(&mut *conn)
    .await?;
    labels::replace_labels(conn, id, m).await?;
    relink(conn, id, &m.attachments).await
}

/// Replaces the files of a message. Files that stay keep their ids on the interface.
async fn relink(conn: &mut Conn, id: MessageId, files: &[AttachmentId]) -> Result<(), QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT attachment_id, interface_message_id FROM message_attachments WHERE internal_id = $1 ORDER BY position",
    )
    .bind(id.0)
    .fetch_all(&mut *conn)
    .await?;
    let mut shown: Vec<(AttachmentId, Option<String>)> = Vec::new();
    for row in &found {
        shown.push((rows::parse_column(row, "attachment_id")?, row.try_get("interface_message_id")?));
    }
    if shown.iter().map(|(file, _)| file).eq(files) {
        return Ok(());
    }
    sqlx::query::<Db>("DELETE FROM message_attachments WHERE internal_id = $1")
        .bind(id.0)
        .execute(&mut *conn)
        .await?;
    for (position, file) in files.iter().enumerate() {
        let known = shown.iter().position(|(known, _)| known == file);
        let carried_by = known.and_then(|at| shown.remove(at).1);
        attachments::link(conn, id, position, *file, carried_by.as_ref()).await?;
    }
    Ok(())
}

/// The turns among these that belong to other sessions.
pub async fn turns_of_other_sessions(
    conn: &mut Conn,
    session: SessionId,
    turns: &[TurnId],
) -> Result<Vec<TurnId>, QueryError> {
    let mut found = Vec::new();
    for turn in turns {
        let row = sqlx::query::<Db>(
            "SELECT (SELECT COUNT(*) FROM message_history WHERE turn_id = $1 AND session_id <> $2) \
             + (SELECT COUNT(*) FROM turns WHERE turn_id = $1 AND session_id <> $2) AS n",
        )
        .bind(turn.to_string())
        .bind(session.to_string())
        .fetch_one(&mut *conn)
        .await?;
        if row.try_get::<i64, _>("n")? > 0 {
            found.push(*turn);
        }
    }
    Ok(found)
}

/// The turns that have messages in this session.
pub async fn turns_of_session(conn: &mut Conn, session: SessionId) -> Result<Vec<TurnId>, QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT DISTINCT turn_id FROM message_history WHERE session_id = $1 AND turn_id IS NOT NULL",
    )
    .bind(session.to_string())
    .fetch_all(conn)
    .await?;
    Ok(found.iter().map(|row| rows::parse_column(row, "turn_id")).collect::<Result<_, _>>()?)
}
