//! `StoreError`: why a store verb failed, sorted by what the caller does next. It always names the verb.

use super::OverQuota;
use crate::domain::AttachmentId;
use sqlx::sqlite::SqliteError;
use std::fmt::Display;

/// SQLite's primary result code for "another connection holds the lock".
const SQLITE_BUSY: i32 = 5;
const SQLITE_FULL: i32 = 13;
const POSTGRES_DISK_FULL: &str = "53100";

/// Why a verb failed, by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached at the moment. Keep the data and retry.
    #[error("{}: {}: {}", .0.op, .0.outage(), .0.error)]
    Unavailable(DatabaseError),
    /// Another task or instance did it first. Drop this attempt.
    #[error("already done elsewhere")]
    AlreadyDone,
    /// A file that the write needs was deleted or moved. Tell the person who named it.
    #[error("attachment {0} is not there any more")]
    AttachmentGone(AttachmentId),
    /// The files would exceed a limit; nothing was written. Tell the person who sent them.
    #[error(transparent)]
    OverQuota(#[from] OverQuota),
    /// The URL or the file is wrong. Report it to the operator.
    #[error("{0}")]
    Unusable(String),
    /// A bug in this program. Log it and give up on this one operation.
    #[error("{}: the database refused a query: {}", .0.op, .0.error)]
    Broken(DatabaseError),
}

/// A database error and the verb that it stopped.
#[derive(Debug, thiserror::Error)]
#[error("{op}: {error}")]
pub struct DatabaseError {
    op: &'static str,
    error: sqlx::Error,
}

impl DatabaseError {
    fn outage(&self) -> &'static str {
        if is_disk_full(&self.error) { "the disk is full" } else { "the database is not reachable" }
    }
}

/// Why a function of `queries/` failed. The verb that runs it turns this into a `StoreError`.
#[derive(Debug)]
pub enum QueryError {
    Database(sqlx::Error),
    AlreadyDone,
    AttachmentGone(AttachmentId),
    OverQuota(OverQuota),
}

impl From<OverQuota> for QueryError {
    fn from(over: OverQuota) -> Self {
        Self::OverQuota(over)
    }
}

impl From<sqlx::Error> for QueryError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}

impl QueryError {
    /// Adds the name of the verb and decides whether a retry can help.
    pub(super) fn in_verb(self, op: &'static str) -> StoreError {
        match self {
            Self::Database(error) if is_transient(&error) => {
                StoreError::Unavailable(DatabaseError { op, error })
            }
            Self::Database(error) => StoreError::Broken(DatabaseError { op, error }),
            Self::AlreadyDone => StoreError::AlreadyDone,
            Self::AttachmentGone(id) => StoreError::AttachmentGone(id),
            Self::OverQuota(over) => StoreError::OverQuota(over),
        }
    }
}

/// True if the same query may succeed later.
fn is_transient(error: &sqlx::Error) -> bool {
    use sqlx::Error as E;
    match error {
        E::Io(_) | E::Tls(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed => true,
        // Caused by the file system or another process: BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN.
        E::Database(e) if e.try_downcast_ref::<SqliteError>().is_some() => {
            matches!(sqlite_code(error), Some(5..=8 | 10 | 13 | 14))
        }
        E::Database(e) => match e.code().as_deref() {
            // Server shutdown, serialization failure, deadlock.
            Some("57P01" | "57P02" | "57P03" | "40001" | "40P01") => true,
            // Connection errors and exhausted resources.
            Some(code) => code.starts_with("08") || code.starts_with("53"),
            None => false,
        },
        _ => false,
    }
}

impl StoreError {
    /// The operator must act: `context` names the setting or file, `error` the cause.
    pub(super) fn unusable(context: &str, error: impl Display) -> Self {
        Self::Unusable(format!("{context}: {error}"))
    }

    /// What a verb returns while the database is unreachable, for tests of retries.
    #[cfg(test)]
    pub(crate) fn pool_closed() -> Self {
        QueryError::from(sqlx::Error::PoolClosed).in_verb("test")
    }
}

/// True if another connection held SQLite's lock.
pub(super) fn is_sqlite_busy(error: &sqlx::Error) -> bool {
    sqlite_code(error) == Some(SQLITE_BUSY)
}

/// True if the disk of the database is full.
fn is_disk_full(error: &sqlx::Error) -> bool {
    let postgres =
        || matches!(error, sqlx::Error::Database(e) if e.code().as_deref() == Some(POSTGRES_DISK_FULL));
    sqlite_code(error) == Some(SQLITE_FULL) || postgres()
}

/// SQLite's primary result code. The upper bits of an extended code only refine it.
fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(error) = error else { return None };
    error.try_downcast_ref::<SqliteError>()?;
    let code: i32 = error.code()?.parse().ok()?;
    Some(code & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sqlx::{Connection as _, SqliteConnection};

    #[tokio::test]
    async fn a_full_disk_is_named_and_may_pass() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        sqlx::raw_sql("CREATE TABLE t (x BLOB); PRAGMA max_page_count = 3").execute(&mut conn).await.unwrap();
        let error =
            sqlx::query("INSERT INTO t VALUES (zeroblob(1000000))").execute(&mut conn).await.unwrap_err();
        let error = QueryError::from(error).in_verb("file");
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        assert!(error.to_string().starts_with("file: the disk is full: "), "{error}");
    }
}
