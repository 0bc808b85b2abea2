//! Turns: filed with the messages they answer, claimed one per conversation, finished with their sends.

use super::{
    CLAIM, Conn, Db, history, outbox,
    rows::{self, TURN},
};
use crate::{
    domain::{Conversation, MessageId, Turn, TurnId, TurnState},
    store::{Finish, Origin, QueryError},
};
use chrono::Utc;
use sqlx::{AssertSqlSafe, QueryBuilder, Row as _};

/// The oldest waiting turn whose conversation is free; it is running from now on.
pub async fn claim_turn(conn: &mut Conn) -> Result<Option<Turn>, QueryError> {
    let sql = format!(
        "UPDATE turns SET state = 'running', attempts = attempts + 1, started_at = $1 WHERE turn_id = ( \
           SELECT p.turn_id FROM turns p WHERE p.state IN ('pending', 'running') AND p.state = 'pending' \
           AND NOT EXISTS ( \
             SELECT 1 FROM turns o WHERE o.state IN ('pending', 'running') \
             AND o.interface_type = p.interface_type AND o.conversation_id = p.conversation_id \
             AND (o.state = 'running' OR (o.created_at, o.turn_id) < (p.created_at, p.turn_id))) \
           ORDER BY p.created_at, p.turn_id LIMIT 1 {CLAIM}) RETURNING turn_id"
    );
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(Utc::now()).fetch_optional(&mut *conn).await;
    let row = match row {
        // Another instance just took a turn of this conversation.
        Err(sqlx::Error::Database(e)) if e.is_unique_violation() => None,
        other => other?,
    };
    match row {
        Some(row) => turn(conn, rows::parsed(&row, "turn_id")?).await,
        None => Ok(None),
    }
}

pub async fn turn(conn: &mut Conn, id: TurnId) -> Result<Option<Turn>, QueryError> {
    let sql = format!("SELECT {TURN} FROM turns t WHERE t.turn_id = $1");
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(id.to_string()).fetch_optional(conn).await?;
    Ok(row.as_ref().map(rows::turn).transpose()?)
}

/// The turn's last message and its planned sends. Refused if the turn was cancelled meanwhile.
pub async fn finish_turn(conn: &mut Conn, finish: &Finish<'_>) -> Result<MessageId, QueryError> {
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
        Origin { turn: Some(finish.turn.turn_id), message: Some(id) },
        finish.reply_to,
        finish.sends,
    )
    .await?;
    Ok(id)
}

/// Ends everything that runs or waits in a conversation; returns what was ended.
pub async fn cancel_turns(conn: &mut Conn, place: &Conversation) -> Result<Vec<TurnId>, QueryError> {
    let rows = sqlx::query::<Db>(
        "UPDATE turns SET state = $3, finished_at = $4 WHERE interface_type = $1 AND conversation_id = $2 \
         AND state IN ('pending', 'running') RETURNING turn_id",
    )
    .bind(place.interface.as_str())
    .bind(&place.id)
    .bind(TurnState::Cancelled.as_str())
    .bind(Utc::now())
    .fetch_all(conn)
    .await?;
    Ok(rows.iter().map(|row| rows::parsed(row, "turn_id")).collect::<Result<_, _>>()?)
}

/// After a crash: what was running goes back to the queue and will go on from its stored steps.
pub async fn recover_turns(conn: &mut Conn) -> Result<u64, QueryError> {
    let done =
        sqlx::query::<Db>("UPDATE turns SET state = 'pending' WHERE state = 'running'").execute(conn).await?;
    Ok(done.rows_affected())
}

/// After the database was away: a turn that was claimed without our hearing of it goes back to the queue.
pub async fn give_back_turns(conn: &mut Conn, running: &[TurnId]) -> Result<u64, QueryError> {
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

/// How many turns wait or run, for `doctor`.
pub async fn open_turns(conn: &mut Conn) -> Result<i64, QueryError> {
    let row = sqlx::query::<Db>("SELECT COUNT(*) AS n FROM turns WHERE state IN ('pending', 'running')")
        .fetch_one(conn)
        .await?;
    Ok(row.try_get("n")?)
}
