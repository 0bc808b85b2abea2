//! The outbox: sends, stored before they leave. One send of a chat is in flight at a time, in order; the topics of a
//! Telegram chat share that order.
//!
//! | from → to | verb | when |
//! | --- | --- | --- |
//! | (none) → `queued` | `finish_turn`, `answer_update`, `file` | with the turn's end, a command's answer, or a message of another interface |
//! | (none) → `sending` | `start_draft` | a draft is sent at once (`drafts.rs`) |
//! | `queued` → `sending` | `claim_send` | the request may leave from here on |
//! | `sending` → `sent` | `mark_sent`, `mark_draft_sent` | it arrived; the ids of the messages are stored with it |
//! | `sending` → `queued` | `requeue_send` | it certainly did not arrive (a 429, a refused connection) |
//! | `sending` → `queued` | `replace_send` | it was refused as it was and is planned in another form |
//! | `sending` → `unknown` | `mark_send_unknown` | the connection died after the request left |
//! | `sending` → `failed` | `mark_send_failed` | it was refused for good |
//! | `sending` → `queued`, `unknown` | `mark_interrupted_sends` | at start-up, after a crash |
//! | `sending` → (deleted) | `delete_draft` | a draft that certainly did not arrive |
//!
//! `unknown` sends are never repeated: they may have arrived. `doctor` lists them with the `failed` ones.

use super::{Conn, Db, Row, drafts, history, inbox, rows};
use crate::{
    domain::{AttachmentId, Conversation, InterfaceType, MessageId, PlannedSend},
    store::{OutboxRow, QueryError, SendOrigin},
};
use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Row as _, types::Json};

const COLUMNS: &str = "outbox_id, interface_type, conversation_id, turn_id, internal_id, kind, payload, items, \
     attachments, reply_to, state, attempts, not_before, error, created_at";

fn read_row(row: &Row) -> Result<OutboxRow, sqlx::Error> {
    let Json(attachments): Json<Vec<AttachmentId>> = row.try_get("attachments")?;
    let Json(payload) = row.try_get("payload")?;
    Ok(OutboxRow {
        outbox_id: row.try_get("outbox_id")?,
        conversation: rows::read_conversation(row)?,
        turn_id: row.try_get::<Option<String>, _>("turn_id")?.and_then(|id| id.parse().ok()),
        internal_id: row.try_get::<Option<i64>, _>("internal_id")?.map(MessageId),
        kind: rows::parse_column(row, "kind")?,
        payload,
        items: row.try_get("items")?,
        attachments,
        reply_to: row.try_get("reply_to")?,
        state: rows::parse_column(row, "state")?,
        attempts: row.try_get("attempts")?,
        not_before: row.try_get("not_before")?,
        error: row.try_get("error")?,
        created_at: row.try_get("created_at")?,
    })
}

/// Queues sends in order. Only the first one is a reply.
pub async fn queue(
    conn: &mut Conn,
    conversation: &Conversation,
    origin: SendOrigin,
    reply_to: Option<&str>,
    sends: &[PlannedSend],
) -> Result<(), QueryError> {
    for (index, send) in sends.iter().enumerate() {
        sqlx::query::<Db>(
            "INSERT INTO outbox (interface_type, conversation_id, turn_id, internal_id, kind, payload, items, \
             attachments, reply_to, state, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'queued', $10, $10)",
        )
        .bind(conversation.interface.as_str())
        .bind(&conversation.id)
        .bind(origin.turn.map(|turn| turn.to_string()))
        .bind(origin.message.map(|message| message.0))
        .bind(send.kind.as_str())
        .bind(rows::json_without_nul(&send.payload)?)
        .bind(send.items)
        .bind(Json(&send.attachments))
        .bind(reply_to.filter(|_| index == 0))
        .bind(Utc::now())
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Closes updates and queues their answer in one transaction, so that a restart neither repeats nor loses it.
pub async fn answer_update(
    conn: &mut Conn,
    inbox_ids: &[i64],
    conversation: &Conversation,
    reply_to: Option<&str>,
    sends: &[PlannedSend],
) -> Result<(), QueryError> {
    inbox::close_updates(conn, inbox_ids).await?;
    queue(conn, conversation, SendOrigin::default(), reply_to, sends).await
}

/// Chats with queued sends. Topics are not listed apart from their chat.
pub async fn conversations_to_send(
    conn: &mut Conn,
    interface: InterfaceType,
) -> Result<Vec<Conversation>, QueryError> {
    let rows = sqlx::query::<Db>(
        "SELECT DISTINCT interface_type, conversation_id FROM outbox \
         WHERE interface_type = $1 AND state IN ('queued', 'sending') AND state = 'queued'",
    )
    .bind(interface.as_str())
    .fetch_all(conn)
    .await?;
    let conversations: Vec<Conversation> =
        rows.iter().map(rows::read_conversation).collect::<Result<_, _>>()?;
    let mut chats: Vec<Conversation> = conversations.iter().map(Conversation::chat).collect();
    chats.sort();
    chats.dedup();
    Ok(chats)
}

/// The next queued send of a chat and its topics; none while one is in flight.
pub async fn next_send(
    conn: &mut Conn,
    conversation: &Conversation,
) -> Result<Option<OutboxRow>, QueryError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox WHERE interface_type = $1 AND conversation_id || '/' LIKE $2 || '/%' \
         AND state IN ('queued', 'sending') ORDER BY outbox_id LIMIT 1"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(conversation.interface.as_str())
        .bind(conversation.chat_id())
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(read_row).transpose()?.filter(|send| send.state == crate::store::SendState::Queued))
}

/// True while a send of this conversation is in flight: people may see its message before its id is stored.
pub async fn is_sending(conn: &mut Conn, conversation: &Conversation) -> Result<bool, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM outbox WHERE interface_type = $1 AND conversation_id = $2 \
         AND state IN ('queued', 'sending') AND state = 'sending'",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .fetch_one(conn)
    .await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}

/// Claims a send; the request may leave from here on. False if another task or instance claimed it.
pub async fn claim_send(conn: &mut Conn, outbox_id: i64) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>(
        "UPDATE outbox SET state = 'sending', attempts = attempts + 1, updated_at = $2 \
         WHERE outbox_id = $1 AND state = 'queued'",
    )
    .bind(outbox_id)
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Marks a send as sent and stores the ids of its messages in the history.
pub async fn mark_sent(conn: &mut Conn, send: &OutboxRow, shown_ids: &[String]) -> Result<(), QueryError> {
    set_state(conn, send.outbox_id, "sent", None).await?;
    if let Some(turn) = send.turn_id {
        drafts::delete_answered(conn, turn, shown_ids).await?;
    }
    let Some(message) = send.internal_id else {
        return Ok(());
    };
    for (index, id) in shown_ids.iter().enumerate() {
        match send.attachments.get(index) {
            Some(attachment) => history::set_attachment_interface_id(conn, message, *attachment, id).await?,
            None => history::set_interface_id(conn, message, id).await?,
        }
    }
    Ok(())
}

async fn set_state(
    conn: &mut Conn,
    outbox_id: i64,
    state: &str,
    error: Option<&str>,
) -> Result<(), QueryError> {
    sqlx::query::<Db>("UPDATE outbox SET state = $2, error = $3, updated_at = $4 WHERE outbox_id = $1")
        .bind(outbox_id)
        .bind(state)
        .bind(error.map(rows::strip_nul))
        .bind(Utc::now())
        .execute(conn)
        .await?;
    Ok(())
}

/// Queues a send again that certainly did not arrive. It is not sent before `not_before`.
pub async fn requeue_send(
    conn: &mut Conn,
    outbox_id: i64,
    not_before: DateTime<Utc>,
    error: &str,
) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "UPDATE outbox SET state = 'queued', not_before = $2, error = $3, updated_at = $4 WHERE outbox_id = $1",
    )
    .bind(outbox_id)
    .bind(not_before)
    .bind(rows::strip_nul(error))
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(())
}

/// Queues another form of a send that was refused. It keeps its position in the order.
pub async fn replace_send(
    conn: &mut Conn,
    outbox_id: i64,
    send: &PlannedSend,
    reply_to: Option<&str>,
    error: &str,
) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "UPDATE outbox SET state = 'queued', kind = $2, payload = $3, items = $4, attachments = $5, reply_to = $6, \
         error = $7, updated_at = $8 WHERE outbox_id = $1",
    )
    .bind(outbox_id)
    .bind(send.kind.as_str())
    .bind(rows::json_without_nul(&send.payload)?)
    .bind(send.items)
    .bind(Json(&send.attachments))
    .bind(reply_to)
    .bind(rows::strip_nul(error))
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(())
}

/// Marks a send that may or may not have arrived.
pub async fn mark_send_unknown(conn: &mut Conn, outbox_id: i64, error: &str) -> Result<(), QueryError> {
    set_state(conn, outbox_id, "unknown", Some(error)).await
}

/// Marks a send that was refused for good.
pub async fn mark_send_failed(conn: &mut Conn, outbox_id: i64, error: &str) -> Result<(), QueryError> {
    set_state(conn, outbox_id, "failed", Some(error)).await
}

/// At start-up, after a crash: sends that were in flight become `unknown`. Only a text that replaces a draft is queued
/// again: it is an edit of the draft, and repeating an edit changes nothing.
pub async fn mark_interrupted_sends(conn: &mut Conn) -> Result<u64, QueryError> {
    sqlx::query::<Db>(
        "UPDATE outbox SET state = 'queued', updated_at = $1 \
         WHERE state IN ('queued', 'sending') AND state = 'sending' AND kind = 'text' \
         AND turn_id IN (SELECT d.turn_id FROM drafts d WHERE d.interface_message_id IS NOT NULL)",
    )
    .bind(Utc::now())
    .execute(&mut *conn)
    .await?;
    let done = sqlx::query::<Db>(
        "UPDATE outbox SET state = 'unknown', error = 'the program stopped while this was being sent', \
         updated_at = $1 WHERE state IN ('queued', 'sending') AND state = 'sending'",
    )
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(done.rows_affected())
}

/// Unknown and failed sends, newest first.
pub async fn undelivered_sends(conn: &mut Conn, limit: i64) -> Result<Vec<OutboxRow>, QueryError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox WHERE state IN ('unknown', 'failed') ORDER BY outbox_id DESC LIMIT $1"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(limit).fetch_all(conn).await?;
    Ok(rows.iter().map(read_row).collect::<Result<_, _>>()?)
}
