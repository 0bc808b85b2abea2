//! The ledger: what models took and cost, by day, place, person, agent and model.

use super::{Conn, Db, Row, rows};
use crate::{
    domain::{Conversation, InterfaceType, UserId},
    store::{QueryError, Spender, Spent, UsageNote, Used},
};
use chrono::NaiveDate;
use sqlx::{AssertSqlSafe, Row as _};

/// What one model took on one day. Sums of PostgreSQL are of another type than what they add up.
const USED: &str = "day, model, CAST(SUM(requests) AS BIGINT) AS requests, \
     CAST(SUM(input_tokens) AS BIGINT) AS input_tokens, CAST(SUM(output_tokens) AS BIGINT) AS output_tokens, \
     CAST(SUM(cost_micros) AS BIGINT) AS cost_micros, CAST(SUM(unpriced) AS BIGINT) AS unpriced";

/// Adds one request to its day.
pub async fn note_usage(conn: &mut Conn, note: &UsageNote) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO usage (day, interface_type, conversation_id, user_id, agent_id, provider, model, requests, \
         input_tokens, output_tokens, cost_micros, unpriced) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $10, $11) \
         ON CONFLICT (day, interface_type, conversation_id, user_id, agent_id, provider, model) DO UPDATE SET \
         requests = usage.requests + 1, input_tokens = usage.input_tokens + excluded.input_tokens, \
         output_tokens = usage.output_tokens + excluded.output_tokens, \
         cost_micros = usage.cost_micros + excluded.cost_micros, unpriced = usage.unpriced + excluded.unpriced",
    )
    .bind(note.day)
    .bind(note.spender.conversation.interface.as_str())
    .bind(&note.spender.conversation.id)
    .bind(&note.spender.user_id.0)
    .bind(&note.spender.agent_id)
    .bind(&note.provider)
    .bind(rows::clean(&note.model))
    .bind(note.input_tokens)
    .bind(note.output_tokens)
    .bind(note.cost_micros.unwrap_or_default())
    .bind(i64::from(note.cost_micros.is_none()))
    .execute(conn)
    .await?;
    Ok(())
}

/// What this person, this chat and this agent have cost on a day.
pub async fn spent(conn: &mut Conn, on: NaiveDate, spender: &Spender) -> Result<Spent, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT \
         CAST(COALESCE(SUM(CASE WHEN interface_type = $2 AND user_id = $4 THEN cost_micros END), 0) AS BIGINT) AS by_user, \
         CAST(COALESCE(SUM(CASE WHEN interface_type = $2 AND conversation_id = $3 THEN cost_micros END), 0) AS BIGINT) AS by_chat, \
         CAST(COALESCE(SUM(CASE WHEN agent_id = $5 THEN cost_micros END), 0) AS BIGINT) AS by_agent \
         FROM usage WHERE day = $1",
    )
    .bind(on)
    .bind(spender.conversation.interface.as_str())
    .bind(&spender.conversation.id)
    .bind(&spender.user_id.0)
    .bind(&spender.agent_id)
    .fetch_one(conn)
    .await?;
    Ok(Spent {
        by_user: row.try_get("by_user")?,
        by_chat: row.try_get("by_chat")?,
        by_agent: row.try_get("by_agent")?,
    })
}

/// What a person used, wherever they were, since a day.
pub async fn usage_of(
    conn: &mut Conn,
    interface: InterfaceType,
    user: &UserId,
    since: NaiveDate,
) -> Result<Vec<Used>, QueryError> {
    let sql = format!(
        "SELECT {USED} FROM usage WHERE interface_type = $1 AND user_id = $2 AND day >= $3 \
         GROUP BY day, model ORDER BY day, model"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(interface.as_str())
        .bind(&user.0)
        .bind(since)
        .fetch_all(conn)
        .await?;
    Ok(rows.iter().map(used).collect::<Result<_, _>>()?)
}

/// What all people of a chat used in it since a day.
pub async fn usage_in(
    conn: &mut Conn,
    place: &Conversation,
    since: NaiveDate,
) -> Result<Vec<Used>, QueryError> {
    let sql = format!(
        "SELECT {USED} FROM usage WHERE interface_type = $1 AND conversation_id = $2 AND day >= $3 \
         GROUP BY day, model ORDER BY day, model"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(place.interface.as_str())
        .bind(&place.id)
        .bind(since)
        .fetch_all(conn)
        .await?;
    Ok(rows.iter().map(used).collect::<Result<_, _>>()?)
}

fn used(row: &Row) -> Result<Used, sqlx::Error> {
    Ok(Used {
        day: row.try_get("day")?,
        model: row.try_get("model")?,
        requests: row.try_get("requests")?,
        input_tokens: row.try_get("input_tokens")?,
        output_tokens: row.try_get("output_tokens")?,
        cost_micros: row.try_get("cost_micros")?,
        unpriced: row.try_get("unpriced")?,
    })
}
