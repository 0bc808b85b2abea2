//! The migrations of both databases, compiled into the binary.

use super::error::StoreError;
use sqlx::{
    Connection as _, SqlSafeStr as _,
    migrate::{Migration, MigrationType, Migrator},
    postgres::PgConnection,
    sqlite::{SqliteConnectOptions, SqliteConnection},
};
use std::str::FromStr as _;

/// Version, name and text of each migration, oldest first.
type Migrations = &'static [(i64, &'static str, &'static str)];

const SQLITE: Migrations = &[
    (1, "core", include_str!("../../migrations/sqlite/0001_core.sql")),
    (2, "usage", include_str!("../../migrations/sqlite/0002_usage.sql")),
    (3, "drafts", include_str!("../../migrations/sqlite/0003_drafts.sql")),
    (4, "web", include_str!("../../migrations/sqlite/0004_web.sql")),
    (5, "user_name", include_str!("../../migrations/sqlite/0005_user_name.sql")),
    (6, "token_expiry", include_str!("../../migrations/sqlite/0006_token_expiry.sql")),
    (7, "budget_reservations", include_str!("../../migrations/sqlite/0007_budget_reservations.sql")),
    (8, "attachment_owner", include_str!("../../migrations/sqlite/0008_attachment_owner.sql")),
    (9, "empty_handled_updates", include_str!("../../migrations/sqlite/0009_empty_handled_updates.sql")),
    (10, "telegram", include_str!("../../migrations/sqlite/0010_telegram.sql")),
    (11, "findings", include_str!("../../migrations/sqlite/0011_findings.sql")),
];
const POSTGRES: Migrations = &[
    (1, "core", include_str!("../../migrations/postgres/0001_core.sql")),
    (2, "usage", include_str!("../../migrations/postgres/0002_usage.sql")),
    (3, "drafts", include_str!("../../migrations/postgres/0003_drafts.sql")),
    (4, "web", include_str!("../../migrations/postgres/0004_web.sql")),
    (5, "user_name", include_str!("../../migrations/postgres/0005_user_name.sql")),
    (6, "token_expiry", include_str!("../../migrations/postgres/0006_token_expiry.sql")),
    (7, "budget_reservations", include_str!("../../migrations/postgres/0007_budget_reservations.sql")),
    (8, "attachment_owner", include_str!("../../migrations/postgres/0008_attachment_owner.sql")),
    (9, "empty_handled_updates", include_str!("../../migrations/postgres/0009_empty_handled_updates.sql")),
    (10, "telegram", include_str!("../../migrations/postgres/0010_telegram.sql")),
    (11, "findings", include_str!("../../migrations/postgres/0011_findings.sql")),
];

pub(super) fn sqlite() -> Migrator {
    migrator(SQLITE)
}

pub(super) fn postgres() -> Migrator {
    migrator(POSTGRES)
}

fn migrator(migrations: Migrations) -> Migrator {
    let migrations = migrations.iter().map(|&(version, name, sql)| {
        Migration::new(version, name.into(), MigrationType::Simple, sql.into_sql_str(), false)
    });
    Migrator::with_migrations(migrations.collect())
}

/// All schema versions of this kind of database, oldest first.
pub fn versions(url: &str) -> Vec<i64> {
    let migrations = if url.starts_with("sqlite:") { SQLITE } else { POSTGRES };
    migrations.iter().map(|(version, ..)| *version).collect()
}

/// Migrates a database up to `version` only. Tests insert rows of that version and replay the later migrations.
pub async fn migrate_to(url: &str, version: i64) -> Result<(), StoreError> {
    let migrated = async {
        if url.starts_with("sqlite:") {
            let options = SqliteConnectOptions::from_str(url)?.create_if_missing(true);
            sqlite().run_to(version, &mut SqliteConnection::connect_with(&options).await?).await
        } else {
            postgres().run_to(version, &mut PgConnection::connect(url).await?).await
        }
    };
    let failed = |e| StoreError::unusable(&format!("the schema cannot be migrated to version {version}"), e);
    migrated.await.map_err(failed)
}
