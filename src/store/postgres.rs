//! The queries of `queries/`, compiled for PostgreSQL.

pub type Conn = sqlx::postgres::PgConnection;
pub type Row = sqlx::postgres::PgRow;
pub type Db = sqlx::postgres::Postgres;
/// Keeps two instances from claiming the same row.
pub const SKIP_LOCKED: &str = "FOR UPDATE SKIP LOCKED";
/// Locks a turn, so that it is not claimed while a message joins it, and the other way round.
pub const LOCK_TURN: &str = "FOR UPDATE OF t";

/// Whether a session `s` belongs to the chat of a member `b`, or to a topic of it. The index `session_by_chat`.
pub const SESSION_OF_MEMBER: &str = "split_part(s.conversation_id, '/', 1) = b.conversation_id";

/// Start of a query for the sessions whose messages match a full-text query; the query and `)` follow.
pub const SESSIONS_BY_TEXT: &str = "SELECT m.session_id FROM message_history m WHERE m.role <> 'tool' \
     AND to_tsvector('simple', left(m.content, 100000)) @@ to_tsquery('simple', ";

/// A full-text query for messages that contain every word, or a longer word that starts with it.
pub fn full_text_query(words: &[String]) -> String {
    words.iter().map(|word| format!("'{word}':*")).collect::<Vec<_>>().join(" & ")
}

/// Waits for other transactions that hold a lock of this name and holds it until the end of the transaction.
pub async fn lock_name(conn: &mut Conn, name: &str) -> Result<(), super::QueryError> {
    sqlx::query::<Db>("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))")
        .bind(name)
        .execute(conn)
        .await?;
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
