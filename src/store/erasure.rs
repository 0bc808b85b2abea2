//! Erases deleted content from SQLite's files. `secure_delete` overwrites it in the database; the write-ahead log still
//! holds it until a checkpoint truncates the log. Databases of versions without `secure_delete` are vacuumed once.

use sqlx::{
    Row as _,
    sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions},
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tracing::{info, warn};

/// A checkpoint holds off writers while it waits for readers, so it waits this long at most.
const CHECKPOINT_BUSY_TIMEOUT: Duration = Duration::from_millis(100);
/// While readers are busy, the checkpoint is tried again in this interval, this many times. Then upkeep tries again.
const RETRY_INTERVAL: Duration = Duration::from_secs(1);
const MAX_RETRIES: u32 = 120;
/// `PRAGMA user_version` of a database whose free pages are known to be empty.
const VACUUMED: i64 = 1;

/// Truncates the write-ahead log after deletions. A deletion never fails or waits for readers because of it.
pub struct WalEraser {
    /// One connection of its own, with a short busy timeout.
    pool: SqlitePool,
    is_retrying: Arc<AtomicBool>,
}

impl WalEraser {
    pub fn new(options: &SqliteConnectOptions) -> Self {
        let options = options.clone().busy_timeout(CHECKPOINT_BUSY_TIMEOUT);
        let pool = SqlitePoolOptions::new().max_connections(1).test_before_acquire(false);
        Self { pool: pool.connect_lazy_with(options), is_retrying: Arc::default() }
    }

    /// Moves the log into the database and empties it. While readers need the log, this is repeated in the background.
    pub async fn truncate(&self) {
        if truncate_wal(&self.pool).await || self.is_retrying.swap(true, Ordering::AcqRel) {
            return;
        }
        let (pool, is_retrying) = (self.pool.clone(), self.is_retrying.clone());
        tokio::spawn(async move {
            for _ in 0..MAX_RETRIES {
                tokio::time::sleep(RETRY_INTERVAL).await;
                if pool.is_closed() || truncate_wal(&pool).await {
                    break;
                }
            }
            is_retrying.store(false, Ordering::Release);
        });
    }

    pub async fn close(&self) {
        self.pool.close().await;
    }
}

/// True if the log is empty now.
async fn truncate_wal(pool: &SqlitePool) -> bool {
    let checkpoint = async {
        let row = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(pool).await?;
        Ok::<_, sqlx::Error>(row.try_get::<i64, _>(0)? == 0)
    };
    match checkpoint.await {
        Ok(is_empty) => is_empty,
        Err(error) => {
            warn!(%error, op = "truncate_wal", "deleted content stays in the write-ahead log for now");
            false
        }
    }
}

/// Vacuums a database that was written without `secure_delete`: its free pages hold deleted content. A failure, such as
/// a full disk, is logged, and the next start tries again.
pub async fn vacuum_once(conn: &mut SqliteConnection) {
    let vacuum = async {
        let version: i64 = sqlx::query("PRAGMA user_version").fetch_one(&mut *conn).await?.try_get(0)?;
        if version >= VACUUMED {
            return Ok(false);
        }
        // The copy that VACUUM makes may not fit into memory.
        sqlx::query("PRAGMA temp_store = FILE").execute(&mut *conn).await?;
        sqlx::query("VACUUM").execute(&mut *conn).await?;
        let row = sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut *conn).await?;
        if row.try_get::<i64, _>(0)? != 0 {
            return Ok(false);
        }
        sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA user_version = {VACUUMED}")))
            .execute(&mut *conn)
            .await?;
        Ok::<_, sqlx::Error>(true)
    };
    match vacuum.await {
        Ok(true) => info!(op = "vacuum", "the database was rewritten once without its deleted content"),
        Ok(false) => {}
        Err(error) => warn!(
            %error,
            op = "vacuum",
            "the database still holds content that was deleted before this version; trying again at the next start"
        ),
    }
}
