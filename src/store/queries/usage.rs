//! Usage of models: requests, tokens and cost by day, conversation, person, agent and model. A person has the same id on
//! Telegram and on the page.

use super::{Conn, Db, Row, rows};
use crate::{
    domain::{Conversation, UserId},
    store::{DayCosts, ModelUsage, QueryError, RequestUsage, Spender},
};
use chrono::NaiveDate;
use sqlx::{AssertSqlSafe, Row as _};

/// The columns of `ModelUsage`. The casts are for PostgreSQL, whose sums have another type than their terms.
const USAGE: &str = "day, model, CAST(SUM(requests) AS BIGINT) AS requests, \
     CAST(SUM(input_tokens) AS BIGINT) AS input_tokens, CAST(SUM(output_tokens) AS BIGINT) AS output_tokens, \
     CAST(SUM(cost_micros) AS BIGINT) AS cost_micros, CAST(SUM(unpriced) AS BIGINT) AS unpriced";

/// Adds one request to the usage of its day.
pub async fn add_usage(conn: &mut Conn, request: &RequestUsage) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO usage (day, interface_type, conversation_id, user_id, agent_id, provider, model, requests, \
         input_tokens, output_tokens, cost_micros, unpriced) VALUES ($1, $2, $3, $4, $5, $6, $7, 1, $8, $9, $10, $11) \
         ON CONFLICT (day, interface_type, conversation_id, user_id, agent_id, provider, model) DO UPDATE SET \
         requests = usage.requests + 1, input_tokens = usage.input_tokens + excluded.input_tokens, \
         output_tokens = usage.output_tokens + excluded.output_tokens, \
         cost_micros = usage.cost_micros + excluded.cost_micros, unpriced = usage.unpriced + excluded.unpriced",
    )
    .bind(request.day)
    .bind(request.spender.conversation.interface.as_str())
    .bind(&request.spender.conversation.id)
    .bind(&request.spender.user_id.0)
    .bind(&request.spender.agent_id)
    .bind(&request.provider)
    .bind(rows::strip_nul(&request.model))
    .bind(request.input_tokens)
    .bind(request.output_tokens)
    .bind(request.cost_micros.unwrap_or_default())
    .bind(i64::from(request.cost_micros.is_none()))
    .execute(conn)
    .await?;
    Ok(())
}

/// What this person, this chat (with its topics) and this agent cost on a day.
pub async fn costs_of_day(conn: &mut Conn, on: NaiveDate, spender: &Spender) -> Result<DayCosts, QueryError> {
    let row = sqlx::query::<Db>(
        "SELECT \
         CAST(COALESCE(SUM(CASE WHEN user_id = $4 THEN cost_micros END), 0) AS BIGINT) AS by_user, \
         CAST(COALESCE(SUM(CASE WHEN interface_type = $2 AND conversation_id || '/' LIKE $3 || '/%' THEN cost_micros END), 0) AS BIGINT) AS by_chat, \
         CAST(COALESCE(SUM(CASE WHEN agent_id = $5 THEN cost_micros END), 0) AS BIGINT) AS by_agent \
         FROM usage WHERE day = $1",
    )
    .bind(on)
    .bind(spender.conversation.interface.as_str())
    .bind(spender.conversation.chat_id())
    .bind(&spender.user_id.0)
    .bind(&spender.agent_id)
    .fetch_one(conn)
    .await?;
    Ok(read_costs(&row)?)
}

pub fn read_costs(row: &Row) -> Result<DayCosts, sqlx::Error> {
    Ok(DayCosts {
        by_user: row.try_get("by_user")?,
        by_chat: row.try_get("by_chat")?,
        by_agent: row.try_get("by_agent")?,
    })
}

/// The usage of a person in all conversations since a day, by day and model.
pub async fn usage_of_user(
    conn: &mut Conn,
    user: &UserId,
    since: NaiveDate,
) -> Result<Vec<ModelUsage>, QueryError> {
    let sql = format!(
        "SELECT {USAGE} FROM usage WHERE user_id = $1 AND day >= $2 \
         GROUP BY day, model ORDER BY day, model"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(&user.0).bind(since).fetch_all(conn).await?;
    Ok(rows.iter().map(read_usage).collect::<Result<_, _>>()?)
}

/// The usage of all people in a chat, with its topics, since a day, by day and model.
pub async fn usage_of_conversation(
    conn: &mut Conn,
    conversation: &Conversation,
    since: NaiveDate,
) -> Result<Vec<ModelUsage>, QueryError> {
    let sql = format!(
        "SELECT {USAGE} FROM usage WHERE interface_type = $1 AND conversation_id || '/' LIKE $2 || '/%' AND day >= $3 \
         GROUP BY day, model ORDER BY day, model"
    );
    let rows = sqlx::query::<Db>(AssertSqlSafe(sql))
        .bind(conversation.interface.as_str())
        .bind(conversation.chat_id())
        .bind(since)
        .fetch_all(conn)
        .await?;
    Ok(rows.iter().map(read_usage).collect::<Result<_, _>>()?)
}

fn read_usage(row: &Row) -> Result<ModelUsage, sqlx::Error> {
    Ok(ModelUsage {
        day: row.try_get("day")?,
        model: row.try_get("model")?,
        requests: row.try_get("requests")?,
        input_tokens: row.try_get("input_tokens")?,
        output_tokens: row.try_get("output_tokens")?,
        cost_micros: row.try_get("cost_micros")?,
        unpriced: row.try_get("unpriced")?,
    })
}
