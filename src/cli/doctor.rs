//! `photothread doctor`: checks configuration, database, files and Telegram, and lists sends with an unknown outcome.

use crate::{
    app,
    attachments::Objects,
    config::Config,
    domain::InterfaceType,
    store::{OutboxRow, Store},
    telegram,
};
use std::process::ExitCode;

/// Checks each part and prints the result. The exit code is a failure if any check fails.
pub async fn examine(config: &Config) -> ExitCode {
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
