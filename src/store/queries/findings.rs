//! `findings`: what the on-device models found in files. Rows go with the file they are about.

use super::{Conn, Db, Row, rows};
use crate::{
    domain::{AttachmentId, Findings},
    store::QueryError,
};
use chrono::Utc;
use sqlx::{QueryBuilder, Row as _, types::Json};

/// Ids in one query.
const MAX_VALUES: usize = 500;
const COLUMNS: &str = "attachment_id, kind, model, version, found, words";

/// Everything that was found in this file.
pub async fn findings_of(conn: &mut Conn, id: AttachmentId) -> Result<Vec<Findings>, QueryError> {
    let sql = format!("SELECT {COLUMNS} FROM findings WHERE attachment_id = $1 ORDER BY kind");
    let found = sqlx::query::<Db>(sqlx::AssertSqlSafe(sql)).bind(id.to_string()).fetch_all(conn).await?;
    Ok(found.iter().map(read_findings).collect::<Result<_, _>>()?)
}

/// Everything that was found in these files.
pub async fn findings_of_files(conn: &mut Conn, ids: &[AttachmentId]) -> Result<Vec<Findings>, QueryError> {
    let mut found = Vec::new();
    for chunk in ids.chunks(MAX_VALUES) {
        let mut query =
            QueryBuilder::<Db>::new(format!("SELECT {COLUMNS} FROM findings WHERE attachment_id IN ("));
        let mut list = query.separated(", ");
        for id in chunk {
            list.push_bind(id.to_string());
        }
        query.push(") ORDER BY attachment_id, kind");
        for row in query.build().fetch_all(&mut *conn).await? {
            found.push(read_findings(&row)?);
        }
    }
    Ok(found)
}

/// Replaces what was found of this kind. Does nothing if the file is not stored (yet, or any more).
pub async fn save_findings(conn: &mut Conn, findings: &Findings) -> Result<(), QueryError> {
    sqlx::query::<Db>(
        "INSERT INTO findings (attachment_id, kind, model, version, found, words, created_at) \
         SELECT attachment_id, $2, $3, $4, $5, $6, $7 FROM attachment_metadata WHERE attachment_id = $1 \
         ON CONFLICT (attachment_id, kind) DO UPDATE SET model = excluded.model, version = excluded.version, \
         found = excluded.found, words = excluded.words, created_at = excluded.created_at",
    )
    .bind(findings.attachment_id.to_string())
    .bind(&findings.kind)
    .bind(&findings.model)
    .bind(findings.version)
    .bind(rows::json_without_nul(&findings.found)?)
    .bind(rows::strip_nul(&findings.words))
    .bind(Utc::now())
    .execute(conn)
    .await?;
    Ok(())
}

fn read_findings(row: &Row) -> Result<Findings, sqlx::Error> {
    let Json(found) = row.try_get("found")?;
    Ok(Findings {
        attachment_id: rows::parse_column(row, "attachment_id")?,
        kind: row.try_get("kind")?,
        model: row.try_get("model")?,
        version: row.try_get("version")?,
        found,
        words: row.try_get("words")?,
    })
}
