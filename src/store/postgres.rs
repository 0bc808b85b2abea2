//! The queries, compiled for PostgreSQL.

pub type Conn = sqlx::postgres::PgConnection;
pub type Row = sqlx::postgres::PgRow;
pub type Db = sqlx::postgres::Postgres;
/// Two instances never claim the same row.
pub const CLAIM: &str = "FOR UPDATE SKIP LOCKED";
/// A turn is not started while something joins it, nor joined while it is being started.
pub const JOIN: &str = "FOR UPDATE OF t";

/// From here to the end of the transaction nobody else does the thing of this name.
pub async fn alone(conn: &mut Conn, name: &str) -> Result<(), super::StoreError> {
    sqlx::query::<Db>("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(name)
        .execute(conn)
        .await?;
    Ok(())
}

#[path = "queries/attachments.rs"]
pub mod attachments;
#[path = "queries/drafts.rs"]
pub mod drafts;
#[path = "queries/history.rs"]
pub mod history;
#[path = "queries/inbox.rs"]
pub mod inbox;
#[path = "queries/outbox.rs"]
pub mod outbox;
#[path = "queries/people.rs"]
pub mod people;
#[path = "queries/rows.rs"]
pub mod rows;
#[path = "queries/sessions.rs"]
pub mod sessions;
#[path = "queries/turns.rs"]
pub mod turns;
#[path = "queries/usage.rs"]
pub mod usage;
