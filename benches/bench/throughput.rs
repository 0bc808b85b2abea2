//! Updates per second that are committed and confirmed from a backlog, and messages per second that are answered.

use super::{
    postgres::PrivateServer,
    program::Settings,
    report::{Section, Unit, median},
    telegram::{Sent, Telegram},
};
use anyhow::ensure;
use sqlx::{Connection as _, Row as _};
use std::{collections::HashSet, time::Instant};
use tokio::sync::mpsc;

const CHATS: i64 = 1000;
const EACH: i64 = 5;
const RUNS: usize = 3;

pub async fn measure() -> anyhow::Result<Section> {
    let about = format!(
        "Telegram holds {} text messages of {CHATS} chats and gives them out in batches of 100. Committed: until the \
         last is confirmed, which happens only after its commit. Answered: until every chat has its answer, with the \
         quiet time. Every commit reaches the disk. Median of {RUNS} runs.",
        CHATS * EACH
    );
    let mut section = Section::new("Updates per second", about);
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let folder = tempfile::tempdir()?;
        let url = format!("sqlite://{}", folder.path().join("photothread.db").display());
        runs.push(backlog(&url, true).await?);
    }
    rows(&mut section, "SQLite", &runs);
    // Its start panics where PostgreSQL is not installed.
    match tokio::task::spawn_blocking(PrivateServer::start_durable).await {
        Ok(server) => {
            let mut runs = Vec::new();
            for run in 0..RUNS {
                runs.push(backlog(&fresh_database(&server.url(), run).await?, false).await?);
            }
            rows(&mut section, "PostgreSQL", &runs);
        }
        Err(_) => section.remark("PostgreSQL", "not installed here"),
    }
    Ok(section)
}

struct Rates {
    committed: f64,
    answered: f64,
}

fn rows(section: &mut Section, database: &str, runs: &[Rates]) {
    let of = |pick: fn(&Rates) -> f64| median(&mut runs.iter().map(pick).collect::<Vec<_>>());
    let what = format!("{database}: committed and confirmed");
    section.at_least(what, Unit::PerSecond, 2000.0, of(|run| run.committed));
    section.note(format!("{database}: answered"), Unit::PerSecond, of(|run| run.answered));
}

async fn fresh_database(server: &str, run: usize) -> anyhow::Result<String> {
    let mut conn = sqlx::PgConnection::connect(server).await?;
    let name = format!("run{run}");
    sqlx::raw_sql(sqlx::AssertSqlSafe(format!("CREATE DATABASE {name}"))).execute(&mut conn).await?;
    conn.close().await?;
    Ok(server.replace("/postgres?", &format!("/{name}?")))
}

async fn backlog(database: &str, sqlite: bool) -> anyhow::Result<Rates> {
    let (telegram, mut sent) = Telegram::start().await?;
    let folder = tempfile::tempdir()?;
    let settings = Settings::new(&telegram, folder.path()).with("DATABASE__URL", database);
    let _program = settings.start(&telegram).await?;
    let total = CHATS * EACH;
    let since = Instant::now();
    telegram.people_write((0..total).map(|n| (1000 + n % CHATS, format!("hello, this is message {n}"))));
    telegram.all_confirmed().await?;
    let committed = since.elapsed();
    let kept = if sqlite {
        let mut conn = sqlx::SqliteConnection::connect(database).await?;
        sqlx::query(COUNT).fetch_one(&mut conn).await?.try_get::<i64, _>("n")?
    } else {
        let mut conn = sqlx::PgConnection::connect(database).await?;
        sqlx::query(COUNT).fetch_one(&mut conn).await?.try_get::<i64, _>("n")?
    };
    ensure!(kept == total, "{total} updates are confirmed, but {kept} are in the inbox");
    every_chat(&mut sent).await;
    let answered = since.elapsed();
    let rate = |time: std::time::Duration| total as f64 / time.as_secs_f64();
    Ok(Rates { committed: rate(committed), answered: rate(answered) })
}

const COUNT: &str = "SELECT COUNT(*) AS n FROM inbox";

async fn every_chat(sent: &mut mpsc::UnboundedReceiver<Sent>) {
    let mut chats = HashSet::new();
    while chats.len() < CHATS as usize
        && let Some(one) = sent.recv().await
    {
        chats.insert(one.chat);
    }
}
