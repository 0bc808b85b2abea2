//! The queries, compiled for SQLite.

pub type Conn = sqlx::sqlite::SqliteConnection;
pub type Row = sqlx::sqlite::SqliteRow;
pub type Db = sqlx::sqlite::Sqlite;
// SQLite's write transactions already exclude each other: nothing more is to be held.
pub const CLAIM: &str = "";
pub const JOIN: &str = "";

/// Sessions in which somebody said these words, the end of which follows.
pub const SAID: &str = "SELECT m.session_id FROM message_text t JOIN message_history m ON m.internal_id = t.rowid \
     WHERE message_text MATCH (";

/// Words as the full text index asks for them: all of them, each perhaps only the beginning of one.
pub fn all_of(words: &[String]) -> String {
    words.iter().map(|word| format!("\"{word}\"*")).collect::<Vec<_>>().join(" ")
}

pub async fn alone(_: &mut Conn, _: &str) -> Result<(), super::QueryError> {
    Ok(())
}

#[path = "queries/annotations.rs"]
pub mod annotations;
#[path = "queries/attachments.rs"]
pub mod attachments;
#[path = "queries/deletion.rs"]
pub mod deletion;
#[path = "queries/drafts.rs"]
pub mod drafts;
#[path = "queries/filing.rs"]
pub mod filing;
#[path = "queries/history.rs"]
pub mod history;
#[path = "queries/inbox.rs"]
pub mod inbox;
#[path = "queries/labels.rs"]
pub mod labels;
#[path = "queries/logins.rs"]
pub mod logins;
#[path = "queries/members.rs"]
pub mod members;
#[path = "queries/outbox.rs"]
pub mod outbox;
#[path = "queries/people.rs"]
pub mod people;
#[path = "queries/replacing.rs"]
pub mod replacing;
#[path = "queries/rows.rs"]
pub mod rows;
#[path = "queries/session_list.rs"]
pub mod session_list;
#[path = "queries/sessions.rs"]
pub mod sessions;
#[path = "queries/turns.rs"]
pub mod turns;
#[path = "queries/usage.rs"]
pub mod usage;
