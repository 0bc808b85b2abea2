//! Opens a database by its URL, migrates it and holds its connection pools.

use super::{
    Quota,
    erasure::{WalEraser, vacuum_once},
    error::{QueryError, StoreError, is_sqlite_busy},
    schema,
};
use sqlx::{
    AssertSqlSafe, Connection as _, Row as _,
    postgres::{PgConnectOptions, PgPool, PgPoolOptions},
    sqlite::{
        SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqlitePool, SqlitePoolOptions,
        SqliteSynchronous,
    },
};
use std::{
    str::FromStr as _,
    time::{Duration, Instant},
};

/// How long a SQLite connection waits for another one's lock.
const SQLITE_BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// How often the switch to WAL is retried within that time.
const SQLITE_WAL_RETRY_INTERVAL: Duration = Duration::from_millis(20);

pub(super) enum Pool {
    /// One writer connection: writers queue in the pool instead of polling SQLite's lock.
    Sqlite {
        write: SqlitePool,
        read: SqlitePool,
        eraser: WalEraser,
    },
    Postgres(PgPool),
}

/// Access to the database. Cheap to clone.
#[derive(Clone)]
pub struct Store {
    pub(super) pool: std::sync::Arc<Pool>,
    pub(super) quota: Quota,
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
        Ok(Self { pool: pool.into(), quota: Quota::default() })
    }

    /// The same database with limits on the files that are added from now on.
    pub fn with_quota(self, quota: Quota) -> Self {
        Self { quota, ..self }
    }

    pub fn kind(&self) -> &'static str {
        match &*self.pool {
            Pool::Sqlite { .. } => "SQLite",
            Pool::Postgres(_) => "PostgreSQL",
        }
    }

    /// The value of a SQLite pragma on the write connection and on a read connection.
    #[doc(hidden)]
    pub async fn sqlite_pragma(&self, name: &str) -> Result<Option<[String; 2]>, StoreError> {
        let Pool::Sqlite { write, read, .. } = &*self.pool else {
            return Ok(None);
        };
        let sql = format!("SELECT CAST({name} AS TEXT) AS value FROM pragma_{name}");
        let ask = async |pool: &SqlitePool| -> Result<String, sqlx::Error> {
            sqlx::query(AssertSqlSafe(sql.clone())).fetch_one(pool).await?.try_get("value")
        };
        let values = async { Ok([ask(write).await?, ask(read).await?]) }.await;
        values.map(Some).map_err(|error: QueryError| error.in_verb("sqlite_pragma"))
    }

    /// Empties SQLite's write-ahead log, which holds what was deleted. `erase` verbs do this; upkeep repeats it.
    pub async fn truncate_wal(&self) {
        if let Pool::Sqlite { eraser, .. } = &*self.pool {
            eraser.truncate().await;
        }
    }

    pub async fn close(&self) {
        match &*self.pool {
            Pool::Sqlite { write, read, eraser } => {
                eraser.close().await;
                read.close().await;
                write.close().await;
            }
            Pool::Postgres(pool) => pool.close().await,
        }
    }
}

/// A database error that the messages of `open_sqlite` and `open_postgres` do not explain better.
fn open_error(error: sqlx::Error) -> StoreError {
    QueryError::from(error).in_verb("open")
}

fn schema_error(error: sqlx::migrate::MigrateError) -> StoreError {
    StoreError::unusable("the database schema cannot be brought up to date", error)
}

async fn open_sqlite(url: &str) -> Result<Pool, StoreError> {
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|e| StoreError::unusable("database.url cannot be read", e))?
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(SQLITE_BUSY_TIMEOUT)
        // Deleted content is overwritten with zeros, and temporary tables never reach the disk.
        .pragma("secure_delete", "ON")
        .pragma("temp_store", "MEMORY")
        .pragma("cache_size", "-4096");
    if let Some(folder) = options.get_filename().parent() {
        std::fs::create_dir_all(folder).map_err(|e| {
            StoreError::unusable(&format!("the database folder {} cannot be created", folder.display()), e)
        })?;
    }
    let mut first = connect_and_switch_to_wal(&options)
        .await
        .map_err(|e| StoreError::unusable(&format!("the database {url} cannot be opened"), e))?;
    // One transaction around all migrations: of two processes that start together, one waits for the other.
    let mut transaction = first.begin_with("BEGIN IMMEDIATE").await.map_err(open_error)?;
    schema::sqlite().run(&mut *transaction).await.map_err(schema_error)?;
    transaction.commit().await.map_err(open_error)?;
    vacuum_once(&mut first).await;
    let eraser = WalEraser::new(&options);
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .idle_timeout(None)
        .max_lifetime(None)
        .test_before_acquire(false)
        .connect_with(options.clone())
        .await
        .map_err(open_error)?;
    first.close().await.map_err(open_error)?;
    let read = SqlitePoolOptions::new()
        .max_connections(4)
        .test_before_acquire(false)
        .connect_lazy_with(options.optimize_on_close(true, 400));
    Ok(Pool::Sqlite { write, read, eraser })
}

/// Opens a connection, which switches a new file to WAL. SQLite does not apply the busy timeout to that switch: it upgrades
/// a read lock, and a connection that waited while holding one could wait forever. So it is retried from the start here.
/// The mode is stored in the file: later connections find it set and change nothing.
async fn connect_and_switch_to_wal(options: &SqliteConnectOptions) -> Result<SqliteConnection, sqlx::Error> {
    let deadline = Instant::now() + SQLITE_BUSY_TIMEOUT;
    loop {
        match SqliteConnection::connect_with(options).await {
            Err(error) if is_sqlite_busy(&error) && Instant::now() < deadline => {
                tokio::time::sleep(SQLITE_WAL_RETRY_INTERVAL).await;
            }
            result => return result,
        }
    }
}

async fn open_postgres(url: &str) -> Result<Pool, StoreError> {
    let options = PgConnectOptions::from_str(url)
        .map_err(|e| StoreError::unusable("database.url cannot be read", e))?;
    // One plain connection first: a pool would retry a wrong password until its timeout.
    let mut first = sqlx::postgres::PgConnection::connect_with(&options)
        .await
        .map_err(|e| StoreError::unusable("PostgreSQL refused the connection", e))?;
    schema::postgres().run(&mut first).await.map_err(schema_error)?;
    first.close().await.map_err(open_error)?;
    let pool = PgPoolOptions::new()
        .max_connections(10)
        .acquire_timeout(Duration::from_secs(10))
        .connect_lazy_with(options);
    Ok(Pool::Postgres(pool))
}
