//! The queries, compiled for PostgreSQL.

pub type Conn = sqlx::postgres::PgConnection;
pub type Row = sqlx::postgres::PgRow;
pub type Db = sqlx::postgres::Postgres;
/// Two instances never claim the same row.
pub const CLAIM: &str = "FOR UPDATE SKIP LOCKED";

#[path = "queries/attachments.rs"]
pub mod attachments;
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
