//! The inbox: raw updates, stored before Telegram is told that we have them.
//!
//! | from → to | verb | when |
//! | --- | --- | --- |
//! | (none) → `received` | `receive_updates` | Telegram delivered it for the first time |
//! | `received` → `waiting` | `add_to_batches` | it is a message, or an edit of one, and waits for its batch to be complete |
//! | `received`, `waiting` → `done` | `close_update`, `close_updates` | there is nothing to store or to answer |
//! | `received`, `waiting` → `done` | `file`, `answer_update` | in the transaction that stores its messages or its answer |
//! | `received`, `waiting` → `skipped` | `skip_update` | it cannot be parsed, or its handler failed |
//! | `done`, `skipped` → (deleted) | `prune_inbox` | it is old |
//!
//! A row that is done keeps its key, which recognises a repeated delivery, and loses its content. `skipped` rows keep it
//! for the operator until they are pruned. A row is closed once: closing it again fails with `AlreadyDone`.

use super::{Conn, Db, Row, rows};
use crate::{
    domain::{Conversation, InterfaceType},
    store::{BatchedUpdate, InboxRow, NewUpdate, QueryError, WaitingGroup},
};
use chrono::{DateTime, Utc};
use sqlx::{QueryBuilder, Row as _};

/// Stores the updates that are new and returns them. A key that is known already is a repeated delivery.
pub async fn receive_updates(conn: &mut Conn, updates: &[NewUpdate]) -> Result<Vec<InboxRow>, QueryError> {
    if updates.is_empty() {
        return Ok(Vec::new());
    }
    let now = Utc::now();
    let mut query =
        QueryBuilder::<Db>::new("INSERT INTO inbox (update_key, raw, arrived_at, conversation_id, state) ");
    query.push_values(updates, |mut row, update| {
        row.push_bind(&update.key).push_bind(rows::strip_nul(&update.raw)).push_bind(now);
        row.push_bind(&update.conversation_id).push("'received'");
    });
    query.push(" ON CONFLICT (update_key) DO NOTHING RETURNING inbox_id, raw");
    let mut new = read_rows(query.build().fetch_all(conn).await?)?;
    new.sort_by_key(|row| row.inbox_id);
    Ok(new)
}

fn read_rows(rows: Vec<Row>) -> Result<Vec<InboxRow>, QueryError> {
    rows.iter()
        .map(|row| Ok(InboxRow { inbox_id: row.try_get("inbox_id")?, raw: row.try_get("raw")? }))
        .collect()
}

/// Updates that were received and not handled yet, in order. A crash leaves some behind.
pub async fn unhandled_updates(conn: &mut Conn) -> Result<Vec<InboxRow>, QueryError> {
    let found =
        sqlx::query::<Db>("SELECT inbox_id, raw FROM inbox WHERE state = 'received' ORDER BY inbox_id")
            .fetch_all(conn)
            .await?;
    read_rows(found)
}

/// Makes updates wait for their batch: the messages of one sender in one conversation. A row that waits already moves to
/// the batch of another conversation.
pub async fn add_to_batches(conn: &mut Conn, updates: &[BatchedUpdate]) -> Result<(), QueryError> {
    for update in updates {
        sqlx::query::<Db>(
            "UPDATE inbox SET state = 'waiting', conversation_id = $2, sender_id = $3, album_id = $4 \
             WHERE inbox_id = $1 AND state IN ('received', 'waiting')",
        )
        .bind(update.inbox_id)
        .bind(&update.conversation_id)
        .bind(&update.sender_id)
        .bind(&update.album_id)
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Marks an update as done.
pub async fn close_update(conn: &mut Conn, inbox_id: i64) -> Result<(), QueryError> {
    close_updates(conn, &[inbox_id]).await
}

/// Marks updates as done and empties them. Fails with `AlreadyDone` and changes nothing if one of them is closed already.
pub async fn close_updates(conn: &mut Conn, inbox_ids: &[i64]) -> Result<(), QueryError> {
    for id in inbox_ids {
        let done = sqlx::query::<Db>(
            "UPDATE inbox SET state = 'done', raw = '' WHERE inbox_id = $1 AND state IN ('received', 'waiting')",
        )
        .bind(id)
        .execute(&mut *conn)
        .await?;
        if done.rows_affected() == 0 {
            return Err(QueryError::AlreadyDone);
        }
    }
    Ok(())
}

/// Marks an update as skipped, with the reason. An update that is done stays so.
pub async fn skip_update(conn: &mut Conn, inbox_id: i64, note: &str) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "UPDATE inbox SET state = 'skipped', note = $2 WHERE inbox_id = $1 AND state IN ('received', 'waiting')",
    )
        .bind(inbox_id)
        .bind(rows::strip_nul(note))
        .execute(conn)
        .await?;
    Ok(())
}

/// The waiting updates, grouped by conversation and sender.
pub async fn waiting_groups(conn: &mut Conn) -> Result<Vec<WaitingGroup>, QueryError> {
    let rows = sqlx::query::<Db>(
        "SELECT w.conversation_id, w.sender_id, MIN(w.arrived_at) AS first_arrival, \
         MAX(w.arrived_at) AS last_arrival, COUNT(w.album_id) AS album_items, \
         (SELECT COUNT(*) FROM turns t WHERE t.interface_type = $1 AND t.conversation_id = w.conversation_id \
          AND t.state IN ('pending', 'running')) AS open_turns, \
         (SELECT COUNT(*) FROM message_history m JOIN turn_inputs i ON i.internal_id = m.internal_id \
          JOIN turns t ON t.turn_id = i.turn_id AND t.state = 'pending' \
          WHERE m.interface_type = $1 AND m.conversation_id = w.conversation_id AND m.album_id IN (SELECT x.album_id FROM inbox x WHERE x.state = 'waiting' \
            AND x.conversation_id = w.conversation_id AND x.sender_id = w.sender_id)) AS joinable, \
         (SELECT COUNT(*) FROM inbox r WHERE r.state = 'received' \
          AND r.conversation_id = w.conversation_id) AS unhandled \
         FROM inbox w WHERE w.state = 'waiting' GROUP BY w.conversation_id, w.sender_id ORDER BY MIN(w.inbox_id)",
    )
    .bind(InterfaceType::Telegram.as_str())
    .fetch_all(conn)
    .await?;
    rows.iter()
        .map(|row| {
            Ok(WaitingGroup {
                conversation_id: row.try_get("conversation_id")?,
                sender_id: row.try_get("sender_id")?,
                first_arrival: row.try_get("first_arrival")?,
                last_arrival: row.try_get("last_arrival")?,
                has_album: row.try_get::<i64, _>("album_items")? > 0,
                busy: row.try_get::<i64, _>("open_turns")? > 0,
                joins_pending: row.try_get::<i64, _>("joinable")? > 0,
                more_may_come: row.try_get::<i64, _>("unhandled")? > 0,
            })
        })
        .collect()
}

/// The waiting updates of one sender in one conversation, in order.
pub async fn waiting_updates(
    conn: &mut Conn,
    conversation_id: &str,
    sender_id: &str,
) -> Result<Vec<InboxRow>, QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT inbox_id, raw FROM inbox WHERE state = 'waiting' AND conversation_id = $1 AND sender_id = $2 \
         ORDER BY inbox_id",
    )
    .bind(conversation_id)
    .bind(sender_id)
    .fetch_all(conn)
    .await?;
    read_rows(found)
}

/// The conversations of a Telegram chat, with its topics, in which this sender has updates waiting.
pub async fn waiting_conversations(
    conn: &mut Conn,
    chat: &Conversation,
    sender_id: &str,
) -> Result<Vec<Conversation>, QueryError> {
    let found = sqlx::query::<Db>(
        "SELECT DISTINCT conversation_id FROM inbox WHERE state = 'waiting' AND sender_id = $2 \
         AND conversation_id || '/' LIKE $1 || '/%' ORDER BY conversation_id",
    )
    .bind(chat.chat_id())
    .bind(sender_id)
    .fetch_all(conn)
    .await?;
    let conversation =
        |row: &Row| Ok(Conversation::new(chat.interface, row.try_get::<String, _>("conversation_id")?));
    found.iter().map(conversation).collect()
}

/// Deletes updates that are done or skipped and arrived before this time.
pub async fn prune_inbox(conn: &mut Conn, before: DateTime<Utc>) -> Result<u64, QueryError> {
    let done = sqlx::query::<Db>("DELETE FROM inbox WHERE state IN ('done', 'skipped') AND arrived_at < $1")
        .bind(before)
        .execute(conn)
        .await?;
    Ok(done.rows_affected())
}
