//! Drafts: the message that shows a running turn and becomes its answer. Its send is a row of the outbox that starts as
//! `sending`, so that the ordinary sender does not take it.

use super::{Conn, Db, LOCK_TURN, Row, rows};
use crate::{
    domain::{Conversation, PlannedSend, TurnId},
    store::{Draft, QueryError},
};
use chrono::Utc;
use sqlx::{AssertSqlSafe, Row as _, types::Json};

const DRAFT: &str = "d.turn_id, d.outbox_id, d.interface_type, d.conversation_id, \
     d.interface_message_id AS shown_id";

fn read_draft(row: &Row) -> Result<Draft, sqlx::Error> {
    Ok(Draft {
        turn_id: rows::parse_column(row, "turn_id")?,
        outbox_id: row.try_get("outbox_id")?,
        conversation: rows::read_conversation(row)?,
        shown_id: row.try_get("shown_id")?,
    })
}

/// Claims the send of a draft. None if the turn is not running, has a draft, or if other sends of its chat are queued
/// or in flight: those go first.
pub async fn start_draft(
    conn: &mut Conn,
    turn: TurnId,
    send: &PlannedSend,
    reply_to: Option<&str>,
) -> Result<Option<i64>, QueryError> {
    // The lock keeps the turn from ending meanwhile, so the answer is queued after this row.
    let sql = format!(
        "SELECT t.interface_type, t.conversation_id FROM turns t WHERE t.turn_id = $1 AND t.state = 'running' \
         AND NOT EXISTS (SELECT 1 FROM drafts d WHERE d.turn_id = t.turn_id) {LOCK_TURN}"
    );
    let running =
        sqlx::query::<Db>(AssertSqlSafe(sql)).bind(turn.to_string()).fetch_optional(&mut *conn).await?;
    let Some(conversation) = running.as_ref().map(rows::read_conversation).transpose()? else {
        return Ok(None);
    };
    let open = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM outbox o WHERE o.state IN ('queued', 'sending') \
         AND o.interface_type = $1 AND o.conversation_id || '/' LIKE $2 || '/%'",
    )
    .bind(conversation.interface.as_str())
    .bind(conversation.chat_id())
    .fetch_one(&mut *conn)
    .await?;
    if open.try_get::<i64, _>("n")? > 0 {
        return Ok(None);
    }
    let row = sqlx::query::<Db>(
        "INSERT INTO outbox (interface_type, conversation_id, turn_id, kind, payload, items, attachments, reply_to, \
         state, attempts, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'sending', 1, $9, $9) RETURNING outbox_id",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .bind(turn.to_string())
    .bind(send.kind.as_str())
    .bind(rows::json_without_nul(&send.payload)?)
    .bind(send.items)
    .bind(Json(&send.attachments))
    .bind(reply_to)
    .bind(Utc::now())
    .fetch_one(&mut *conn)
    .await?;
    let outbox_id: i64 = row.try_get("outbox_id")?;
    sqlx::query::<Db>(
        "INSERT INTO drafts (turn_id, outbox_id, interface_type, conversation_id) VALUES ($1, $2, $3, $4)",
    )
    .bind(turn.to_string())
    .bind(outbox_id)
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .execute(conn)
    .await?;
    Ok(Some(outbox_id))
}

/// Marks a draft as sent and stores the id of its message.
pub async fn mark_draft_sent(conn: &mut Conn, turn: TurnId, shown_id: &str) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "UPDATE outbox SET state = 'sent', updated_at = $2 \
         WHERE outbox_id = (SELECT d.outbox_id FROM drafts d WHERE d.turn_id = $1)",
    )
    .bind(turn.to_string())
    .bind(Utc::now())
    .execute(&mut *conn)
    .await?;
    sqlx::query::<Db>("UPDATE drafts SET interface_message_id = $2 WHERE turn_id = $1")
        .bind(turn.to_string())
        .bind(shown_id)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes a draft whose message was deleted. If it certainly did not arrive, its send is deleted, too.
pub async fn delete_draft(conn: &mut Conn, turn: TurnId) -> Result<(), QueryError> {
    let row = sqlx::query::<Db>("DELETE FROM drafts WHERE turn_id = $1 RETURNING outbox_id")
        .bind(turn.to_string())
        .fetch_optional(&mut *conn)
        .await?;
    let Some(row) = row else { return Ok(()) };
    sqlx::query::<Db>("DELETE FROM outbox WHERE outbox_id = $1 AND state = 'sending'")
        .bind(row.try_get::<i64, _>("outbox_id")?)
        .execute(conn)
        .await?;
    Ok(())
}

/// Deletes the draft if its message is among these: it is the turn's answer now.
pub async fn delete_answered(conn: &mut Conn, turn: TurnId, shown_ids: &[String]) -> Result<(), QueryError> {
    for id in shown_ids {
        sqlx::query::<Db>("DELETE FROM drafts WHERE turn_id = $1 AND interface_message_id = $2")
            .bind(turn.to_string())
            .bind(id)
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

pub async fn draft_of_turn(conn: &mut Conn, turn: TurnId) -> Result<Option<Draft>, QueryError> {
    let sql = format!("SELECT {DRAFT} FROM drafts d WHERE d.turn_id = $1");
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(turn.to_string()).fetch_optional(conn).await?;
    Ok(row.as_ref().map(read_draft).transpose()?)
}

/// The draft with this message id. The table is small: there are never more drafts than unfinished turns.
pub async fn find_draft(
    conn: &mut Conn,
    conversation: &Conversation,
    shown_id: &str,
) -> Result<Option<Draft>, QueryError> {
    let sql = format!(
        "SELECT {DRAFT} FROM drafts d \
         WHERE d.interface_type = $1 AND d.conversation_id = $2 AND d.interface_message_id = $3"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(conversation.interface.as_str())
        .bind(&conversation.id)
        .bind(shown_id)
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(read_draft).transpose()?)
}

/// Drafts that will not become an answer: their turn has ended and no send of it is left.
pub async fn abandoned_drafts(conn: &mut Conn) -> Result<Vec<Draft>, QueryError> {
    // The cross join makes SQLite start with the few drafts.
    let sql = format!(
        "SELECT {DRAFT} FROM drafts d CROSS JOIN turns t WHERE t.turn_id = d.turn_id \
         AND t.state NOT IN ('pending', 'running') \
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.state IN ('queued', 'sending') \
           AND o.interface_type = d.interface_type AND o.conversation_id = d.conversation_id \
           AND o.turn_id = d.turn_id)"
    );
    let found = sqlx::query::<Db>(AssertSqlSafe(sql)).fetch_all(conn).await?;
    Ok(found.iter().map(read_draft).collect::<Result<_, _>>()?)
}
