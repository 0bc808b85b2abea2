//! The queries, compiled for PostgreSQL.

pub type Conn = sqlx::postgres::PgConnection;
pub type Row = sqlx::postgres::PgRow;
pub type Db = sqlx::postgres::Postgres;
/// Two instances never claim the same row.
pub const CLAIM: &str = "FOR UPDATE SKIP LOCKED";
/// A turn is not started while something joins it, nor joined while it is being started.
pub const JOIN: &str = "FOR UPDATE OF t";

/// Sessions in which somebody said these words, the end of which follows.
pub const SAID: &str = "SELECT m.session_id FROM message_history m WHERE m.role <> 'tool' \
     AND to_tsvector('simple', left(m.content, 100000)) @@ to_tsquery('simple', ";

/// Words as the full text index asks for them: all of them, each perhaps only the beginning of one.
pub fn all_of(words: &[String]) -> String {
    words.iter().map(|word| format!("'{word}':*")).collect::<Vec<_>>().join(" & ")
}

/// From here to the end of the transaction nobody else does the thing of this name.
pub async fn alone(conn: &mut Conn, name: &str) -> Result<(), super::QueryError> {
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
