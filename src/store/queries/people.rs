//! The owner of the bot, and the strangers who were told that it is private.

use super::{Conn, Db};
use crate::{
    domain::{InterfaceType, UserId},
    store::QueryError,
};
use chrono::{DateTime, Utc};
use sqlx::Row as _;

pub async fn owners(conn: &mut Conn, interface: InterfaceType) -> Result<Vec<UserId>, QueryError> {
    let rows =
        sqlx::query::<Db>("SELECT user_id FROM people WHERE interface_type = $1 AND standing = 'owner'")
            .bind(interface.as_str())
            .fetch_all(conn)
            .await?;
    Ok(rows.iter().map(|row| row.try_get("user_id").map(UserId)).collect::<Result<_, _>>()?)
}

/// Makes this person the owner if there is none yet. False if there is one.
pub async fn become_owner(
    conn: &mut Conn,
    interface: InterfaceType,
    user: &UserId,
) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>(
        "INSERT INTO people (interface_type, user_id, standing, since) \
         SELECT $1, $2, 'owner', $3 WHERE NOT EXISTS \
           (SELECT 1 FROM people WHERE interface_type = $1 AND standing = 'owner') \
         ON CONFLICT (interface_type, user_id) DO UPDATE SET standing = 'owner', since = $3",
    )
    .bind(interface.as_str())
    .bind(&user.0)
    .bind(Utc::now())
    .execute(conn)
    .await;
    match done {
        // Another person became the owner at the same moment.
        Err(sqlx::Error::Database(e)) if e.is_unique_violation() => Ok(false),
        done => Ok(done?.rows_affected() > 0),
    }
}

/// Claims the right to tell a stranger that the bot is private. False if they were told after `since`.
pub async fn claim_stranger_notice(
    conn: &mut Conn,
    interface: InterfaceType,
    user: &UserId,
    since: DateTime<Utc>,
) -> Result<bool, QueryError> {
    let done = sqlx::query::<Db>(
        "INSERT INTO people (interface_type, user_id, standing, since) VALUES ($1, $2, 'stranger', $3) \
         ON CONFLICT (interface_type, user_id) DO UPDATE SET since = $3 \
         WHERE people.standing = 'stranger' AND people.since < $4",
    )
    .bind(interface.as_str())
    .bind(&user.0)
    .bind(Utc::now())
    .bind(since)
    .execute(conn)
    .await?;
    Ok(done.rows_affected() > 0)
}
