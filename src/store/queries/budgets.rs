//! Reservations of daily budgets. A request to a model starts with `reserve_budget`, which checks the caps and holds what
//! the request may cost at most, in one transaction: requests that start together cannot exceed a cap together.
//!
//! | how the request ends | verb | what is charged |
//! |---|---|---|
//! | answered or refused by the server | `release_reservation`, after `add_usage` | what the server reported |
//! | given up in the middle | `charge_reservation` | the estimate: the server may charge for it |
//! | its process died | `charge_open_reservations` at the next start, else `charge_expired_reservations` | the estimate |

use super::{Conn, Db, Row, lock_name, rows, usage};
use crate::{
    domain::{Conversation, ReservationId, UserId},
    store::{BudgetReservation, DayCaps, DayCosts, QueryError, RequestUsage, ReserveOutcome, Spender},
};
use chrono::{DateTime, Utc};
use sqlx::{AssertSqlSafe, Row as _};

/// The columns of `budget_reservations` that make up a charge.
const CHARGE: &str = "day, interface_type, conversation_id, user_id, agent_id, provider, model, cost_micros";

/// Holds the cost of a request, unless a cap is reached by what was spent and what is held already.
pub async fn reserve_budget(
    conn: &mut Conn,
    reservation: &BudgetReservation,
    caps: &DayCaps,
) -> Result<ReserveOutcome, QueryError> {
    lock_name(conn, "budgets").await?;
    charge_expired_reservations(conn, Utc::now()).await?;
    let spent = usage::costs_of_day(conn, reservation.day, &reservation.spender).await?;
    let held = held_costs(conn, reservation).await?;
    if caps.reached_by(spent.plus(held)) {
        return Ok(ReserveOutcome::Full { spent });
    }
    sqlx::query::<Db>(
        "INSERT INTO budget_reservations (reservation_id, day, interface_type, conversation_id, user_id, agent_id, \
         provider, model, cost_micros, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    )
    .bind(reservation.reservation_id.to_string())
    .bind(reservation.day)
    .bind(reservation.spender.conversation.interface.as_str())
    .bind(&reservation.spender.conversation.id)
    .bind(&reservation.spender.user_id.0)
    .bind(&reservation.spender.agent_id)
    .bind(&reservation.provider)
    .bind(rows::strip_nul(&reservation.model))
    .bind(reservation.cost_micros)
    .bind(reservation.expires_at)
    .execute(conn)
    .await?;
    Ok(ReserveOutcome::Reserved)
}

/// What the running requests of this person, chat (with its topics) and agent hold. A scan: there is a row for each running request.
async fn held_costs(conn: &mut Conn, reservation: &BudgetReservation) -> Result<DayCosts, QueryError> {
    let Spender { conversation, user_id, agent_id } = &reservation.spender;
    let row = sqlx::query::<Db>(
        "SELECT \
         CAST(COALESCE(SUM(CASE WHEN user_id = $4 THEN cost_micros END), 0) AS BIGINT) AS by_user, \
         CAST(COALESCE(SUM(CASE WHEN interface_type = $2 AND conversation_id || '/' LIKE $3 || '/%' THEN cost_micros END), 0) AS BIGINT) AS by_chat, \
         CAST(COALESCE(SUM(CASE WHEN agent_id = $5 THEN cost_micros END), 0) AS BIGINT) AS by_agent \
         FROM budget_reservations WHERE day = $1",
    )
    .bind(reservation.day)
    .bind(conversation.interface.as_str())
    .bind(conversation.chat_id())
    .bind(&user_id.0)
    .bind(agent_id)
    .fetch_one(conn)
    .await?;
    Ok(usage::read_costs(&row)?)
}

/// Gives back what a request held. Its real cost is in `usage` already, if it had one.
pub async fn release_reservation(conn: &mut Conn, id: ReservationId) -> Result<(), QueryError> {
    sqlx::query::<Db>("DELETE FROM budget_reservations WHERE reservation_id = $1")
        .bind(id.to_string())
        .execute(conn)
        .await?;
    Ok(())
}

/// Charges what a request held, because its real cost will never be known.
pub async fn charge_reservation(conn: &mut Conn, id: ReservationId) -> Result<(), QueryError> {
    let sql = format!("DELETE FROM budget_reservations WHERE reservation_id = $1 RETURNING {CHARGE}");
    let row = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(id.to_string()).fetch_optional(&mut *conn).await?;
    match row {
        Some(row) => usage::add_usage(conn, &read_charge(&row)?).await,
        None => Ok(()),
    }
}

/// The same for requests that have been open longer than any request takes. Returns their number.
pub async fn charge_expired_reservations(conn: &mut Conn, now: DateTime<Utc>) -> Result<u64, QueryError> {
    let sql = format!("DELETE FROM budget_reservations WHERE expires_at < $1 RETURNING {CHARGE}");
    let expired = sqlx::query::<Db>(AssertSqlSafe(sql)).bind(now).fetch_all(&mut *conn).await?;
    charge_all(conn, &expired).await
}

/// The same for every open request. For the start of the program, before it makes requests.
pub async fn charge_open_reservations(conn: &mut Conn) -> Result<u64, QueryError> {
    let sql = format!("DELETE FROM budget_reservations RETURNING {CHARGE}");
    let open = sqlx::query::<Db>(AssertSqlSafe(sql)).fetch_all(&mut *conn).await?;
    charge_all(conn, &open).await
}

async fn charge_all(conn: &mut Conn, reservations: &[Row]) -> Result<u64, QueryError> {
    for row in reservations {
        usage::add_usage(conn, &read_charge(row)?).await?;
    }
    Ok(reservations.len() as u64)
}

fn read_charge(row: &Row) -> Result<RequestUsage, sqlx::Error> {
    let interface = rows::parse_column(row, "interface_type")?;
    Ok(RequestUsage {
        day: row.try_get("day")?,
        spender: Spender {
            conversation: Conversation::new(interface, row.try_get::<String, _>("conversation_id")?),
            user_id: UserId(row.try_get("user_id")?),
            agent_id: row.try_get("agent_id")?,
        },
        provider: row.try_get("provider")?,
        model: row.try_get("model")?,
        input_tokens: 0,
        output_tokens: 0,
        cost_micros: Some(row.try_get("cost_micros")?),
    })
}
