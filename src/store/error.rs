//! `StoreError`: why a store verb failed, sorted by what the caller does next.

use sqlx::sqlite::SqliteError;
use std::fmt::Display;

/// SQLite's primary result code for "another connection holds the lock".
const SQLITE_BUSY: i32 = 5;

/// Why a verb failed, by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached at the moment. Keep the data and retry.
    #[error("the database is not reachable: {0}")]
    Unavailable(sqlx::Error),
    /// Another task or instance did it first. Drop this attempt.
    #[error("already done elsewhere")]
    AlreadyDone,
    /// The URL or the file is wrong. Report it to the operator.
    #[error("{0}")]
    Unusable(String),
    /// A bug in this program. Log it and give up on this one operation.
    #[error("the database refused a query: {0}")]
    Broken(sqlx::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        match &error {
            E::Io(_) | E::Tls(_) | E::PoolTimedOut | E::PoolClosed | E::WorkerCrashed => {
                Self::Unavailable(error)
            }
            E::Database(e) if e.try_downcast_ref::<SqliteError>().is_some() => {
                // Caused by the file system or another process: BUSY, LOCKED, NOMEM, READONLY, IOERR, FULL, CANTOPEN.
                match sqlite_code(&error) {
                    Some(5..=8 | 10 | 13 | 14) => Self::Unavailable(error),
                    _ => Self::Broken(error),
                }
            }
            E::Database(e) => match e.code().as_deref() {
                // Server shutdown, serialization failure, deadlock.
                Some("57P01" | "57P02" | "57P03" | "40001" | "40P01") => Self::Unavailable(error),
                // Connection errors and exhausted resources.
                Some(code) if code.starts_with("08") || code.starts_with("53") => Self::Unavailable(error),
                _ => Self::Broken(error),
            },
            _ => Self::Broken(error),
        }
    }
}

impl StoreError {
    /// The operator must act: `context` names the setting or file, `error` the cause.
    pub(super) fn unusable(context: &str, error: impl Display) -> Self {
        Self::Unusable(format!("{context}: {error}"))
    }

    /// What a verb answers while the database is away, for tests of retries.
    #[cfg(test)]
    pub(crate) fn pool_closed() -> Self {
        Self::Unavailable(sqlx::Error::PoolClosed)
    }
}

/// True if another connection held SQLite's lock.
pub(super) fn is_sqlite_busy(error: &sqlx::Error) -> bool {
    sqlite_code(error) == Some(SQLITE_BUSY)
}

/// SQLite's primary result code. The upper bits of an extended code only refine it.
fn sqlite_code(error: &sqlx::Error) -> Option<i32> {
    let sqlx::Error::Database(error) = error else { return None };
    error.try_downcast_ref::<SqliteError>()?;
    let code: i32 = error.code()?.parse().ok()?;
    Some(code & 0xff)
}
