//! The queries, compiled for SQLite.

pub type Conn = sqlx::sqlite::SqliteConnection;
pub type Row = sqlx::sqlite::SqliteRow;
pub type Db = sqlx::sqlite::Sqlite;
// SQLite's write transactions already exclude each other: nothing more is to be held.
pub const CLAIM: &str = "";
pub const JOIN: &str = "";

pub async fn alone(_: &mut Conn, _: &str) -> Result<(), super::StoreError> {
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
