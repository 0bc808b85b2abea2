//! Drafts: the message in which a turn is shown while it runs. Its send is a row of the outbox like any other, but
//! never queued, so that the ordinary sender does not take it up.

use super::{Conn, Db, JOIN, Row, rows};
use crate::{
    domain::{Conversation, PlannedSend, TurnId},
    store::{Draft, QueryError},
};
use chrono::Utc;
use sqlx::{AssertSqlSafe, Row as _, types::Json};

const DRAFT: &str = "d.turn_id, d.outbox_id, d.interface_type, d.conversation_id, \
     d.interface_message_id AS shown_id";

fn draft(row: &Row) -> Result<Draft, sqlx::Error> {
    Ok(Draft {
        turn_id: rows::parsed(row, "turn_id")?,
        outbox_id: row.try_get("outbox_id")?,
        conversation: rows::conversation(row)?,
        shown_id: row.try_get("shown_id")?,
    })
}

/// From here on the draft may leave. Refused (none) if the turn does not run, has a draft, or if something else of its
/// conversation is to be sent: that goes first.
pub async fn start_draft(
    conn: &mut Conn,
    turn: TurnId,
    send: &PlannedSend,
    reply_to: Option<&str>,
) -> Result<Option<i64>, QueryError> {
    // The turn cannot end in between: its answer is queued after this row or not before it is seen.
    let sql = format!(
        "SELECT t.interface_type, t.conversation_id FROM turns t WHERE t.turn_id = $1 AND t.state = 'running' \
         AND NOT EXISTS (SELECT 1 FROM drafts d WHERE d.turn_id = t.turn_id) \
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.state IN ('queued', 'sending') \
           AND o.interface_type = t.interface_type AND o.conversation_id = t.conversation_id) {JOIN}"
    );
    let running =
        sqlx::query::<Db>(AssertSqlSafe(sql)).bind(turn.to_string()).fetch_optional(&mut *conn).await?;
    let Some(place) = running.as_ref().map(rows::conversation).transpose()? else { return Ok(None) };
    let row = sqlx::query::<Db>(
        "INSERT INTO outbox (interface_type, conversation_id, turn_id, kind, payload, items, attachments, reply_to, \
         state, attempts, created_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'sending', 1, $9, $9) RETURNING outbox_id",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(turn.to_string())
    .bind(send.kind.as_str())
    .bind(rows::clean_json(&send.payload)?)
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
    .bind(place.interface.as_str())
    .bind(&place.id)
    .execute(conn)
    .await?;
    Ok(Some(outbox_id))
}

/// The draft arrived: this is the id people see it under.
pub async fn draft_sent(conn: &mut Conn, turn: TurnId, shown_id: &str) -> Result<(), QueryError> {
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

/// The turn has no draft any more: its message is gone, or it certainly never left, which then leaves no trace.
pub async fn drop_draft(conn: &mut Conn, turn: TurnId) -> Result<(), QueryError> {
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

/// These messages are the turn's answer now.
pub async fn become_answer(conn: &mut Conn, turn: TurnId, shown_ids: &[String]) -> Result<(), QueryError> {
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
    Ok(row.as_ref().map(draft).transpose()?)
}

/// The draft that people see under this id, while it is one. There are never more drafts than running turns.
pub async fn draft_shown_as(
    conn: &mut Conn,
    place: &Conversation,
    shown_id: &str,
) -> Result<Option<Draft>, QueryError> {
    let sql = format!(
        "SELECT {DRAFT} FROM drafts d \
         WHERE d.interface_type = $1 AND d.conversation_id = $2 AND d.interface_message_id = $3"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(place.interface.as_str())
        .bind(&place.id)
        .bind(shown_id)
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(draft).transpose()?)
}

/// Drafts that will not become an answer: their turn is over and nothing of it is to be sent any more.
pub async fn spare_drafts(conn: &mut Conn) -> Result<Vec<Draft>, QueryError> {
    // The cross join makes SQLite begin with the few drafts.
    let sql = format!(
        "SELECT {DRAFT} FROM drafts d CROSS JOIN turns t WHERE t.turn_id = d.turn_id \
         AND t.state NOT IN ('pending', 'running') \
         AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.state IN ('queued', 'sending') \
           AND o.interface_type = d.interface_type AND o.conversation_id = d.conversation_id \
           AND o.turn_id = d.turn_id)"
    );
    let found = sqlx::query::<Db>(AssertSqlSafe(sql)).fetch_all(conn).await?;
    Ok(found.iter().map(draft).collect::<Result<_, _>>()?)
}
