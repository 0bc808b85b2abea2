//! Sends: planned with the end of a turn, claimed before they leave, and never repeated when their fate is unknown.

use super::{Conn, Db, Row, drafts, history, inbox, rows};
use crate::{
    domain::{AttachmentId, Conversation, InterfaceType, MessageId, PlannedSend},
    store::{Origin, OutboxRow, QueryError},
};
use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Row as _, types::Json};

const COLUMNS: &str = "outbox_id, interface_type, conversation_id, turn_id, internal_id, kind, payload, items, \
     attachments, reply_to, state, attempts, not_before, error, created_at";

fn outbox_row(row: &Row) -> Result<OutboxRow, sqlx::Error> {
    let Json(attachments): Json<Vec<AttachmentId>> = row.try_get("attachments")?;
    let Json(payload) = row.try_get("payload")?;
    Ok(OutboxRow {
        outbox_id: row.try_get("outbox_id")?,
        conversation: rows::conversation(row)?,
        turn_id: row.try_get::<Option<String>, _>("turn_id")?.and_then(|id| id.parse().ok()),
        internal_id: row.try_get::<Option<i64>, _>("internal_id")?.map(MessageId),
        kind: rows::parsed(row, "kind")?,
        payload,
        items: row.try_get("items")?,
        attachments,
        reply_to: row.try_get("reply_to")?,
        state: rows::parsed(row, "state")?,
        attempts: row.try_get("attempts")?,
        not_before: row.try_get("not_before")?,
        error: row.try_get("error")?,
        created_at: row.try_get("created_at")?,
    })
}

/// Plans sends in order. Only the first of them replies to something.
pub async fn queue(
    conn: &mut Conn,
    place: &Conversation,
    origin: Origin,
    reply_to: Option<&str>,
    sends: &[PlannedSend],
) -> Result<(), QueryError> {
    for (index, send) in sends.iter().enumerate() {
        sqlx::query::<Db>(
            "INSERT INTO outbox (interface_type, conversation_id, turn_id, internal_id, kind, payload, items, \
             attachments, reply_to, state, created_at, updated_at) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'queued', $10, $10)",
        )
        .bind(place.interface.as_str())
        .bind(&place.id)
        .bind(origin.turn.map(|turn| turn.to_string()))
        .bind(origin.message.map(|message| message.0))
        .bind(send.kind.as_str())
        .bind(rows::clean_json(&send.payload)?)
        .bind(send.items)
        .bind(Json(&send.attachments))
        .bind(reply_to.filter(|_| index == 0))
        .bind(Utc::now())
        .execute(&mut *conn)
        .await?;
    }
    Ok(())
}

/// Closes an update with its answer, so that a restart neither repeats nor forgets it.
pub async fn answer_update(
    conn: &mut Conn,
    inbox_ids: &[i64],
    place: &Conversation,
    reply_to: Option<&str>,
    sends: &[PlannedSend],
) -> Result<(), QueryError> {
    inbox::close_updates(conn, inbox_ids).await?;
    queue(conn, place, Origin::default(), reply_to, sends).await
}

/// Conversations with something to send.
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
    Ok(rows.iter().map(rows::conversation).collect::<Result<_, _>>()?)
}

/// The next send of a conversation, if none is in flight.
pub async fn next_send(conn: &mut Conn, place: &Conversation) -> Result<Option<OutboxRow>, QueryError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox WHERE interface_type = $1 AND conversation_id = $2 \
         AND state IN ('queued', 'sending') ORDER BY outbox_id LIMIT 1"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(place.interface.as_str())
        .bind(&place.id)
        .fetch_optional(conn)
        .await?;
    Ok(row.as_ref().map(outbox_row).transpose()?.filter(|send| send.state == crate::store::SendState::Queued))
}

/// Is a send of this conversation on the wire? Then its message may be seen before we know its id.
pub async fn is_sending(conn: &mut Conn, place: &Conversation) -> Result<bool, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT COUNT(*) AS n FROM outbox WHERE interface_type = $1 AND conversation_id = $2 \
         AND state IN ('queued', 'sending') AND state = 'sending'",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .fetch_one(conn)
    .await?;
    Ok(row.try_get::<i64, _>("n")? > 0)
}

/// From here on the request may leave. False if someone else has it.
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

/// It was sent: these are the ids people see, one for each message, written back to the history.
pub async fn send_done(conn: &mut Conn, send: &OutboxRow, shown_ids: &[String]) -> Result<(), QueryError> {
    settle(conn, send.outbox_id, "sent", None).await?;
    if let Some(turn) = send.turn_id {
        drafts::become_answer(conn, turn, shown_ids).await?;
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

async fn settle(conn: &mut Conn, outbox_id: i64, state: &str, error: Option<&str>) -> Result<(), QueryError> {
    sqlx::query::<Db>("UPDATE outbox SET state = $2, error = $3, updated_at = $4 WHERE outbox_id = $1")
        .bind(outbox_id)
        .bind(state)
        .bind(error.map(rows::clean))
        .bind(Utc::now())
        .execute(conn)
        .await?;
    Ok(())
}

/// It certainly did not arrive: try again, not before then.
pub async fn send_again(
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
    .bind(rows::clean(error))
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(())
}

/// It certainly did not arrive and never would like this: try it in another shape, in its place in the order.
pub async fn reshape_send(
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
    .bind(rows::clean_json(&send.payload)?)
    .bind(send.items)
    .bind(Json(&send.attachments))
    .bind(reply_to)
    .bind(rows::clean(error))
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(())
}

/// Nobody knows whether it arrived.
pub async fn send_unknown(conn: &mut Conn, outbox_id: i64, error: &str) -> Result<(), QueryError> {
    settle(conn, outbox_id, "unknown", Some(error)).await
}

/// It did not arrive and never will.
pub async fn send_failed(conn: &mut Conn, outbox_id: i64, error: &str) -> Result<(), QueryError> {
    settle(conn, outbox_id, "failed", Some(error)).await
}

/// After a crash: what was on the wire has an unknown fate. Only the text that a draft was just becoming goes back to
/// the queue: it is an edit, and a second one changes nothing.
pub async fn recover_sends(conn: &mut Conn) -> Result<u64, QueryError> {
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

/// Sends that need a person's eye, newest first.
pub async fn troubled_sends(conn: &mut Conn, limit: i64) -> Result<Vec<OutboxRow>, QueryError> {
    let sql = format!(
        "SELECT {COLUMNS} FROM outbox WHERE state IN ('unknown', 'failed') ORDER BY outbox_id DESC LIMIT $1"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(limit).fetch_all(conn).await?;
    Ok(rows.iter().map(outbox_row).collect::<Result<_, _>>()?)
}
