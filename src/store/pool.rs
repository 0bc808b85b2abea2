//! Opening a database by its URL, and what can go wrong with it.

use super::schema;
use sqlx::{
    AssertSqlSafe, Connection as _, Row as _,
    postgres::{PgConnectOptions, PgPool, PgPoolOptions},
    sqlite::{
        SqliteConnectOptions, SqliteError, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
        SqliteSynchronous,
    },
};
use std::{str::FromStr as _, time::Duration};

/// Why a verb failed, by what the caller does next.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The database cannot be reached just now: keep what you have and try again.
    #[error("the database is not reachable: {0}")]
    Unavailable(sqlx::Error),
    /// Somebody else did it first: drop your copy.
    #[error("already done elsewhere")]
    AlreadyDone,
    /// The URL or the file is wrong: tell the person who runs the bot.
    #[error("{0}")]
    Unusable(String),
    /// A bug of ours: log it and give up on this one thing.
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
                let code = e.code().and_then(|code| code.parse::<i32>().ok()).unwrap_or_default();
                // What the file system or another program is to blame for: BUSY, LOCKED, NOMEM, READONLY, IOERR,
                // FULL, CANTOPEN. The lower eight bits say which, whatever the details.
                match code & 0xff {
                    5..=8 | 10 | 13 | 14 => Self::Unavailable(error),
                    _ => Self::Broken(error),
                }
            }
            E::Database(e) => match e.code().as_deref() {
                // Shutting down, serialization.
                Some("57P01" | "57P02" | "57P03" | "40001" | "40P01") => Self::Unavailable(error),
                // Connection trouble, too little of something.
                Some(code) if code.starts_with("08") || code.starts_with("53") => Self::Unavailable(error),
                _ => Self::Broken(error),
            },
            _ => Self::Broken(error),
        }
    }
}

pub(super) enum Pool {
    /// One writer, so that writers queue here instead of spinning on SQLite's lock.
    Sqlite {
        write: SqlitePool,
        read: SqlitePool,
    },
    Postgres(PgPool),
}

/// The one way to the database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(super) pool: std::sync::Arc<Pool>,
}

impl Store {
    /// Opens the database, creating the SQLite file if there is none, and brings its schema up to date.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let pool = match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => open_sqlite(url).await?,
            Some("postgres" | "postgresql") => open_postgres(url).await?,
            _ => {
                return Err(StoreError::Unusable(format!(
                    "database.url is {url:?}; it must start with sqlite:// or postgres://"
                )));
            }
        };
        Ok(Self { pool: pool.into() })
    }

    pub fn kind(&self) -> &'static str {
        match &*self.pool {
            Pool::Sqlite { .. } => "SQLite",
            Pool::Postgres(_) => "PostgreSQL",
        }
    }

    /// What SQLite says of a setting, on the connection that writes and on one that reads.
    #[doc(hidden)]
    pub async fn sqlite_pragma(&self, name: &str) -> Result<Option<[String; 2]>, StoreError> {
        let Pool::Sqlite { write, read } = &*self.pool else {
            return Ok(None);
        };
        let sql = format!("SELECT CAST({name} AS TEXT) AS value FROM pragma_{name}");
        let ask = async |pool: &SqlitePool| -> Result<String, sqlx::Error> {
            sqlx::query(AssertSqlSafe(sql.clone())).fetch_one(pool).await?.try_get("value")
        };
        Ok(Some([ask(write).await?, ask(read).await?]))
    }

    pub async fn close(&self) {
        match &*self.pool {
            Pool::Sqlite { write, read } => {
                read.close().await;
                write.close().await;
            }
            Pool::Postgres(pool) => pool.close().await,
        }
    }
}

fn schema_trouble(error: sqlx::migrate::MigrateError) -> StoreError {
    unusable("the database schema cannot be brought up to date", error)
}

pub(super) fn unusable(what: &str, error: impl std::fmt::Display) -> StoreError {
    StoreError::Unusable(format!("{what}: {error}"))
}

async fn open_sqlite(url: &str) -> Result<Pool, StoreError> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|e| unusable("database.url cannot be read", e))?
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(10))
        .pragma("cache_size", "-4096");
    if let Some(folder) = options.get_filename().parent() {
        std::fs::create_dir_all(folder)
            .map_err(|e| unusable(&format!("the database folder {} cannot be made", folder.display()), e))?;
    }
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(options.clone())
        .await
        .map_err(|e| unusable(&format!("the database {url} cannot be opened"), e))?;
    // All in one transaction, so that of two programs that start together one waits for the other.
    let mut alone = write.begin_with("BEGIN IMMEDIATE").await?;
    schema::sqlite().run(&mut *alone).await.map_err(schema_trouble)?;
    alone.commit().await?;
    let read = SqlitePoolOptions::new()
        .max_connections(4)
        .test_before_acquire(false)
        .connect_lazy_with(options.optimize_on_close(true, 400));
    Ok(Pool::Sqlite { write, read })
}

async fn open_postgres(url: &str) -> Result<Pool, StoreError> {
    let options = PgConnectOptions::from_str(url).map_err(|e| unusable("database.url cannot be read", e))?;
    // One plain connection first: the pool would retry a wrong password for its whole time-out.
    let mut first = sqlx::postgres::PgConnection::connect_with(&options)
        .await
        .map_err(|e| unusable("PostgreSQL does not let us in", e))?;
    schema::postgres().run(&mut first).await.map_err(schema_trouble)?;
    first.close().await?;
    let pool = PgPoolOptions::new()
        .max_connections(10)
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy_with(options);
    Ok(Pool::Postgres(pool))
}
