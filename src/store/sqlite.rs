//! The queries of `queries/`, compiled for SQLite.

pub type Conn = sqlx::sqlite::SqliteConnection;
pub type Row = sqlx::sqlite::SqliteRow;
pub type Db = sqlx::sqlite::Sqlite;
// SQLite's write transactions already exclude each other: no row locks are needed.
pub const SKIP_LOCKED: &str = "";
pub const LOCK_TURN: &str = "";

/// Whether a session `s` belongs to the chat of a member `b`, or to a topic of it. Two ranges of an index.
pub const SESSION_OF_MEMBER: &str = "(s.conversation_id = b.conversation_id \
     OR (s.conversation_id > b.conversation_id || '/' AND s.conversation_id < b.conversation_id || '0'))";

/// Start of a query for the sessions whose messages match a full-text query; the query and `)` follow.
pub const SESSIONS_BY_TEXT: &str = "SELECT m.session_id FROM message_text t JOIN message_history m ON m.internal_id = t.rowid \
     WHERE message_text MATCH (";

/// A full-text query for messages that contain every word, or a longer word that starts with it.
pub fn full_text_query(words: &[String]) -> String {
    words.iter().map(|word| format!("\"{word}\"*")).collect::<Vec<_>>().join(" ")
}

/// Nothing to do: only one write transaction runs at a time.
pub async fn lock_name(_: &mut Conn, _: &str) -> Result<(), super::QueryError> {
    Ok(())
}

#[path = "queries/annotations.rs"]
pub mod annotations;
#[path = "queries/attachments.rs"]
pub mod attachments;
#[path = "queries/budgets.rs"]
pub mod budgets;
#[path = "queries/chats.rs"]
pub mod chats;
#[path = "queries/deletion.rs"]
pub mod deletion;
#[path = "queries/drafts.rs"]
pub mod drafts;
#[path = "queries/filing.rs"]
pub mod filing;
#[path = "queries/findings.rs"]
pub mod findings;
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
#[path = "queries/reactions.rs"]
pub mod reactions;
#[path = "queries/replacement.rs"]
pub mod replacement;
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
