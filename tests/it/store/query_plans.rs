//! Query plans of SQLite: no statement of the store may scan a growing table. The statements come from the source files,
//! so a new one is checked without being listed here.

use super::*;
use regex::Regex;
use sqlx::{AssertSqlSafe, Connection as _, Row as _, SqliteConnection};
use std::{fs, path::Path};

/// Partial indexes over open rows: scanning one reads few rows.
const SMALL_INDEXES: [&str; 5] =
    ["turn_open", "turn_running", "turn_running_of_person", "outbox_open", "outbox_unsure"];

/// Statements that may scan a table, by a unique part of them, and why.
const EXCUSED: [(&str, &str); 3] = [
    (
        "DELETE FROM inbox WHERE state IN ('done', 'skipped')",
        "the daily pruning, which keeps that table small",
    ),
    ("UPDATE inbox SET raw = '', note = NULL", "a deletion, in a table that the pruning keeps small"),
    ("FROM people WHERE", "one row for each person who ever wrote"),
];

/// The string literals of a source file, as the compiler reads them.
fn literals(source: &str) -> Vec<String> {
    let literal = Regex::new(r#""((?:[^"\\]|\\[\s\S])*)""#).unwrap();
    let continued = Regex::new(r"\\\n\s*").unwrap();
    literal.captures_iter(source).map(|found| continued.replace_all(&found[1], "").into_owned()).collect()
}

/// The text of `const NAME: &str = "…"`.
fn constant(source: &str, name: &str) -> Option<String> {
    let (_, rest) = source.split_once(&format!("const {name}: &str = "))?;
    literals(rest).into_iter().next()
}

/// Every complete statement in `src/store/queries/`, with the constants of SQLite.
fn statements() -> Vec<String> {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store");
    let shared =
        ["sqlite.rs", "queries/rows.rs"].map(|file| fs::read_to_string(store.join(file)).unwrap()).concat();
    let placeholder = Regex::new(r"\{([A-Z_]+)\}").unwrap();
    let verb = Regex::new("^(SELECT|UPDATE|INSERT|DELETE) ").unwrap();
    let mut all = Vec::new();
    for file in fs::read_dir(store.join("queries")).unwrap() {
        let source = fs::read_to_string(file.unwrap().path()).unwrap();
        let known = format!("{source}{shared}");
        for text in literals(&source).into_iter().filter(|text| verb.is_match(text)) {
            let fill = |name: &regex::Captures<'_>| {
                constant(&known, &name[1]).unwrap_or_else(|| panic!("{}", &name[0]))
            };
            all.push(placeholder.replace_all(&text, fill).into_owned());
        }
    }
    // Starts of statements that a `QueryBuilder` completes.
    all.retain(|sql| !sql.ends_with([' ', '(']));
    all
}

fn scans_growing_table(step: &str) -> bool {
    let growing = Regex::new(
        r"^SCAN (m|h|a|f|i|t|p|o|r|w|x|message_history|message_chunks|message_attachments|attachment_metadata|session_metadata|turns|turn_inputs|inbox|outbox|people|usage)( |$)",
    );
    growing.unwrap().is_match(step) && !SMALL_INDEXES.iter().any(|index| step.ends_with(&format!(" {index}")))
}

#[tokio::test]
async fn no_statement_scans_a_growing_table() {
    let home = tempfile::tempdir().unwrap();
    let store = sqlite_in(home.path()).await;
    let mut conn = SqliteConnection::connect(&sqlite_url(home.path())).await.unwrap();
    let statements = statements();
    for known in [
        "m.thread_root_id = $1",
        "session_id = $1 AND internal_id < $2",
        "UNION ALL SELECT internal_id, NULL",
        "f.created_at >= $3",
        "m.session_id = $1 AND m.internal_id > $2",
    ] {
        assert!(
            statements.iter().any(|sql| sql.replace("  ", " ").contains(known)),
            "{known} was not found: {statements:#?}"
        );
    }
    let mut slow = Vec::new();
    for sql in statements.iter().filter(|sql| !EXCUSED.iter().any(|(part, _)| sql.contains(part))) {
        let plan = sqlx::query(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"))).fetch_all(&mut conn).await;
        let plan = plan.unwrap_or_else(|e| panic!("{e}: {sql}"));
        let steps: Vec<String> = plan.iter().map(|step| step.get("detail")).collect();
        if steps.iter().any(|step| scans_growing_table(step)) {
            slow.push(format!("{sql}\n  {}", steps.join("\n  ")));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
    store.close().await;
}
