//! Turns: one request and all work on it. At most one turn of a conversation runs at a time, oldest first.
//!
//! | from → to | verb | when |
//! | --- | --- | --- |
//! | (none) → `pending` | `file` | the messages of a request are stored (`filing.rs`) |
//! | `pending` → `running` | `claim_turn` | a worker takes it; `attempts` counts up |
//! | `running` → `done`, `failed` | `finish_turn` | the last message and the planned sends are stored with it |
//! | `pending`, `running` → `cancelled` | `cancel_turns` | a person cancels |
//! | `running` → `pending` | `requeue_running_turns` | at start-up: a crash interrupted it, and it continues after its last stored step |
//! | `running` → `pending` | `requeue_turns_except` | after an outage: it was claimed, but the answer to the claim was lost |
//!
//! `done`, `failed` and `cancelled` are final. A turn that is no longer `running` cannot be finished. Deleting a session
//! deletes its turns.

use super::{
    Conn, Db, SKIP_LOCKED, history, lock_name, outbox,
    rows::{self, TURN},
};
use crate::{
    domain::{Conversation, MessageId, Turn, TurnId, TurnState},
    store::{FinishedTurn, QueryError, SendOrigin},
};
use chrono::Utc;
use sqlx::{AssertSqlSafe, QueryBuilder, Row as _};

/// Claims the oldest pending turn whose conversation has no running turn and whose person has fewer than
/// `max_per_person`. So the turns of one person wait for each other, and no other person waits for them.
pub async fn claim_turn(conn: &mut Conn, max_per_person: i64) -> Result<Option<Turn>, QueryError> {
    // Two instances must not count the running turns of a person at the same moment.
    lock_name(conn, "claim_turn").await?;
    let sql = format!(
        "UPDATE turns SET state = 'running', attempts = attempts + 1, started_at = $1 WHERE turn_id = ( \
           SELECT p.turn_id FROM turns p WHERE p.state IN ('pending', 'running') AND p.state = 'pending' \
           AND NOT EXISTS ( \
             SELECT 1 FROM turns o WHERE o.state IN ('pending', 'running') \
             AND o.interface_type = p.interface_type AND o.conversation_id = p.conversation_id \
             AND (o.state = 'running' OR (o.created_at, o.turn_id) < (p.created_at, p.turn_id))) \
           AND (SELECT COUNT(*) FROM turns r WHERE r.state = 'running' AND r.user_id = p.user_id) < $2 \
           ORDER BY p.created_at, p.turn_id LIMIT 1 {SKIP_LOCKED}) RETURNING turn_id"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(Utc::now())
        .bind(max_per_person)
        .fetch_optional(&mut *conn)
        .await;
    let row = match row {
        // Another instance claimed a turn of this conversation at the same moment.
        Err(sqlx::Error::Database(e)) if e.is_unique_violation() => None,
        other => other?,
    };
    match row {
        Some(row) => turn(conn, rows::parse_column(&row, "turn_id")?).await,
        None => Ok(None),
    }
}

pub async fn turn(conn: &mut Conn, id: TurnId) -> Result<Option<Turn>, QueryError> {
    let sql = format!("SELECT {TURN} FROM turns t WHERE t.turn_id = $1");
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(id.to_string()).fetch_optional(conn).await?;
    Ok(row.as_ref().map(rows::read_turn).transpose()?)
}

/// Ends a turn and stores its last message and planned sends. Fails with `AlreadyDone` if it was cancelled meanwhile.
pub async fn finish_turn(conn: &mut Conn, finish: &FinishedTurn<'_>) -> Result<MessageId, QueryError> {
    let done = sqlx::query::<Db>(
        "UPDATE turns SET state = $2, finished_at = $3 WHERE turn_id = $1 AND state = 'running'",
    )
    .bind(finish.turn.turn_id.to_string())
    .bind(finish.state.as_str())
    .bind(Utc::now())
    .execute(&mut *conn)
    .await?;
    if done.rows_affected() == 0 {
        return Err(QueryError::AlreadyDone);
    }
    let id = history::insert_message(conn, finish.message).await?;
    outbox::queue(
        conn,
        &finish.turn.conversation,
        SendOrigin { turn: Some(finish.turn.turn_id), message: Some(id) },
        finish.reply_to,
        finish.sends,
    )
    .await?;
    Ok(id)
}

/// Cancels all pending and running turns of a conversation and returns them.
pub async fn cancel_turns(conn: &mut Conn, conversation: &Conversation) -> Result<Vec<TurnId>, QueryError> {
    let rows = sqlx::query::<Db>(
        "UPDATE turns SET state = $3, finished_at = $4 WHERE interface_type = $1 AND conversation_id = $2 \
         AND state IN ('pending', 'running') RETURNING turn_id",
    )
    .bind(conversation.interface.as_str())
    .bind(&conversation.id)
    .bind(TurnState::Cancelled.as_str())
    .bind(Utc::now())
    .fetch_all(conn)
    .await?;
    Ok(rows.iter().map(|row| rows::parse_column(row, "turn_id")).collect::<Result<_, _>>()?)
}

/// At start-up, after a crash: makes running turns pending again. They continue after their last stored step.
pub async fn requeue_running_turns(conn: &mut Conn) -> Result<u64, QueryError> {
    let done =
        sqlx::query::<Db>("UPDATE turns SET state = 'pending' WHERE state = 'running'").execute(conn).await?;
    Ok(done.rows_affected())
}

/// After an outage of the database: makes running turns pending again, except those that this process runs.
pub async fn requeue_turns_except(conn: &mut Conn, running: &[TurnId]) -> Result<u64, QueryError> {
    let mut query = QueryBuilder::<Db>::new("UPDATE turns SET state = 'pending' WHERE state = 'running'");
    if !running.is_empty() {
        query.push(" AND turn_id NOT IN (");
        let mut ids = query.separated(", ");
        for id in running {
            ids.push_bind(id.to_string());
        }
        query.push(")");
    }
    Ok(query.build().execute(conn).await?.rows_affected())
}

/// Counts the pending and running turns.
pub async fn count_open_turns(conn: &mut Conn) -> Result<i64, QueryError> {
    let row = sqlx::query::<Db>("SELECT COUNT(*) AS n FROM turns WHERE state IN ('pending', 'running')")
        .fetch_one(conn)
        .await?;
    Ok(row.try_get("n")?)
}
