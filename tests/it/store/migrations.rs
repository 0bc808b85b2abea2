//! Every migration runs on sample rows of the version before it, on both databases.

use super::*;
use crate::harness::postgres;
use photothread::store::schema;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};
use std::{fs, path::Path};

/// Sample rows of a version, in SQL that both databases read: `samples/NNNN.sql`.
fn sample(version: i64) -> String {
    let path = format!("tests/it/store/samples/{version:04}.sql");
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path))
        .unwrap_or_else(|e| panic!("migration {version} needs sample rows in {path}: {e}"))
}

/// Runs all migrations on one database and checks that every table has rows after each version.
macro_rules! replay {
    ($connection:ty, $url:expr, $tables:expr) => {{
        let url = $url;
        for version in schema::versions(&url) {
            schema::migrate_to(&url, version).await.unwrap();
            let mut conn = <$connection>::connect(&url).await.unwrap();
            sqlx::raw_sql(AssertSqlSafe(sample(version))).execute(&mut conn).await.unwrap();
            for table in sqlx::query($tables).fetch_all(&mut conn).await.unwrap() {
                let table: String = table.get("name");
                let count = sqlx::query(AssertSqlSafe(format!("SELECT COUNT(*) AS n FROM {table}")));
                let count: i64 = count.fetch_one(&mut conn).await.unwrap().get("n");
                assert!(count > 0, "the sample of version {version} has no row of {table}");
            }
            conn.close().await.unwrap();
        }
        the_store_reads_the_samples(Store::open(&url).await.unwrap()).await;
    }};
}

async fn the_store_reads_the_samples(store: Store) {
    let conversation = chat(1);
    let found = store.find_message(&conversation, "11").await.unwrap().unwrap();
    let attachment = found.attachment.unwrap();
    assert!(store.find_message(&conversation, "12").await.unwrap().is_some(), "a later chunk");
    let thread = store.thread(found.message.root()).await.unwrap();
    assert_eq!(thread.len(), 2);
    assert_eq!(thread[0].user_name.as_deref(), Some("Ann"));
    assert_eq!(
        store.attachment(&conversation, attachment).await.unwrap().unwrap().recipe().unwrap().tool,
        "crop_image"
    );
    assert_eq!(store.sessions(&started_by(&ann()), 10, 0).await.unwrap().sessions[0].message_count, 2);
    assert_eq!(store.owners(InterfaceType::Telegram).await.unwrap(), [ann()]);
    assert_eq!(store.unhandled_updates().await.unwrap().len(), 1);
    let used = store.usage_of_user(&ann(), long_ago().date_naive()).await.unwrap();
    assert_eq!((used[0].requests, used[0].cost_micros, used[0].unpriced), (2, 65, 1));
    assert!(store.next_send(&conversation).await.unwrap().is_some());
    let turn = store.claim_turn(MANY).await.unwrap().unwrap();
    let draft = store.find_draft(&conversation, "13").await.unwrap().unwrap();
    assert_eq!(draft.turn_id, turn.turn_id);
    assert_eq!(turn.inputs, [thread[0].internal_id]);
    assert_eq!(store.api_token("cc").await.unwrap().unwrap().expires_at, None, "it was made without an end");
    store.file(&filing(&conversation, vec![note("99", "and on it goes")])).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn sqlite_migrations_keep_existing_rows() {
    let home = tempfile::tempdir().unwrap();
    let url = sqlite_url(home.path());
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    replay!(sqlx::SqliteConnection, url, tables);
}

#[tokio::test]
async fn postgres_migrations_keep_existing_rows() {
    let tables = "SELECT tablename::text AS name FROM pg_tables WHERE schemaname = 'public'";
    replay!(sqlx::PgConnection, postgres::database().await, tables);
}

#[test]
fn every_migration_file_is_built_in_for_both_databases() {
    for (folder, url) in [("sqlite", "sqlite://x"), ("postgres", "postgres://x")] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
        let mut files: Vec<i64> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| name.split_once('_').unwrap().0.parse().unwrap())
            .collect();
        files.sort();
        assert_eq!(files, schema::versions(url));
    }
    assert_eq!(schema::versions("sqlite://x"), schema::versions("postgres://x"));
}

#[tokio::test]
async fn instances_that_start_together_share_one_fresh_database() {
    let home = tempfile::tempdir().unwrap();
    for url in [sqlite_url(home.path()), postgres::database().await] {
        let all = futures::future::join_all((0..4).map(|_| Store::open(&url))).await;
        for store in all {
            store.unwrap_or_else(|e| panic!("{url}: {e}")).close().await;
        }
    }
}
