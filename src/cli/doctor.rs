//! `photothread doctor`: checks configuration, database, files, their modes and Telegram, and lists sends with an unknown
//! outcome. `--repair` deletes stored files that have no row.

use crate::{
    app,
    attachments::{Objects, format_size},
    config::Config,
    domain::InterfaceType,
    private_files,
    store::{OutboxRow, Store},
    telegram,
};
use std::process::ExitCode;

/// What to do with stored files that have no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Orphans {
    Report,
    Delete,
}

/// Checks each part and prints the result. The exit code is a failure if any check fails.
pub async fn examine(config: &Config, orphans: Orphans) -> ExitCode {
    let mut healthy = true;
    let mut report = |part: &str, result: Result<String, String>| {
        let (mark, text) = match result {
            Ok(text) => ("ok", text),
            Err(text) => {
                healthy = false;
                ("PROBLEM", text)
            }
        };
        println!("{part:<12} {mark:<8} {text}");
    };
    report("config", Ok(format!("{} agent(s)", config.agents.len())));
    let store = match Store::open(&config.database.url.to_url()).await {
        Ok(store) => Some(store),
        Err(error) => {
            report("database", Err(error.to_string()));
            None
        }
    };
    if let Some(store) = &store {
        report("database", check_database(store).await);
    }
    report("attachments", check_files(config).await);
    report("privacy", check_privacy(config));
    report("disk", check_disk(config));
    if store.is_some() {
        report("files", compare_files(config, orphans).await);
    }
    report("telegram", check_token(config).await);
    if let Some(store) = &store {
        report("owner", check_owner(config, store).await);
        match store.undelivered_sends(50).await {
            Ok(sends) => print_failed_sends(&sends),
            Err(error) => report("outbox", Err(error.to_string())),
        }
    }
    if healthy { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn check_database(store: &Store) -> Result<String, String> {
    let open = store.count_open_turns().await.map_err(|e| e.to_string())?;
    Ok(format!("{}, {open} turn(s) waiting or running", store.kind()))
}

async fn check_files(config: &Config) -> Result<String, String> {
    let url = config.attachments.url.to_url();
    let objects = Objects::open(&url).map_err(|e| e.to_string())?;
    objects.check().await.map_err(|e| format!("{url}: {e}"))?;
    Ok(format!("{url} can be written and read"))
}

fn check_privacy(config: &Config) -> Result<String, String> {
    let readable = private_files::find_readable(config);
    let Some(first) = readable.first() else {
        return Ok("other users of this machine cannot read the database and the files".into());
    };
    Err(format!(
        "other users of this machine can read {} and {} more; the next start of the bot makes them private, or run \
         `chmod -R go= {}`",
        first.display(),
        readable.len() - 1,
        first.display()
    ))
}

fn check_disk(config: &Config) -> Result<String, String> {
    let objects = Objects::open(&config.attachments.url.to_url()).map_err(|e| e.to_string())?;
    let limit = config.attachments.min_free_bytes;
    match objects.free_bytes() {
        None => Ok("the files are on another machine".to_owned()),
        Some(free) if free < limit => Err(format!(
            "the disk is full: {} free, and new files are refused below {} (attachments.min_free_bytes)",
            format_size(free),
            format_size(limit)
        )),
        Some(free) => Ok(format!("{} free", format_size(free))),
    }
}

/// Compares the stored files with the database.
async fn compare_files(config: &Config, orphans: Orphans) -> Result<String, String> {
    let renderer = app::open_renderer(config).await.map_err(|e| e.to_string())?;
    let files = &renderer.attachments;
    let audit = files.audit().await.map_err(|e| e.to_string())?;
    for id in &audit.missing {
        println!("  attachment {id} has lost its file");
    }
    let deleted = match orphans {
        Orphans::Delete => files.delete_orphans(&audit).await.map_err(|e| e.to_string())?,
        Orphans::Report => 0,
    };
    let orphaned = audit.count_orphans() - deleted;
    let mut found = Vec::new();
    if deleted > 0 {
        found.push(format!(
            "{deleted} stored file(s) without a row deleted (if the bot ran meanwhile, look again: it must be stopped)"
        ));
    }
    if orphaned > 0 {
        found.push(format!(
            "{orphaned} stored file(s) without a row (`photothread doctor --repair` deletes them; stop the bot first)"
        ));
    }
    if !audit.missing.is_empty() {
        found.push(format!("{} attachment(s) without their file", audit.missing.len()));
    }
    let healthy = orphaned == 0 && audit.missing.is_empty();
    match (found.is_empty(), healthy) {
        (true, _) => Ok("every stored file has a row, and every row its file".to_owned()),
        (false, true) => Ok(found.join("; ")),
        (false, false) => Err(found.join("; ")),
    }
}

async fn check_token(config: &Config) -> Result<String, String> {
    let Some(token) = &config.secrets.telegram_bot_token else {
        return Ok("off; set TELEGRAM_BOT_TOKEN to turn it on".into());
    };
    let me = telegram::check_token(token, &config.telegram.api_url).await.map_err(|e| e.to_string())?;
    Ok(format!("@{}", me.username))
}

async fn check_owner(config: &Config, store: &Store) -> Result<String, String> {
    let owners = store.owners(InterfaceType::Telegram).await.map_err(|e| e.to_string())?;
    let access = app::open_access(config, store).await.map_err(|e| e.to_string())?;
    Ok(match (owners.first(), access.pairing_code()) {
        (Some(owner), _) => format!("user {owner}"),
        (None, None) => "none needed: telegram.allowed_user_ids or allow_everyone is set".into(),
        (None, Some(_)) => "nobody yet; the next start prints a pairing code".into(),
    })
}

fn print_failed_sends(sends: &[OutboxRow]) {
    if sends.is_empty() {
        println!("{:<12} {:<8} every send has a known, good end", "outbox", "ok");
        return;
    }
    println!(
        "\nSends that need your eye (an unknown one may or may not have arrived; it is never repeated):"
    );
    for send in sends {
        let why = send.error.as_deref().unwrap_or("no reason recorded");
        println!(
            "  #{} {} {} to {} planned {}: {why}",
            send.outbox_id,
            send.state.as_str(),
            send.kind.as_str(),
            send.conversation,
            send.created_at.format("%Y-%m-%d %H:%M:%S UTC"),
        );
    }
}
