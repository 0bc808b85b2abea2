//! What the person at the terminal is told: what is on and off at start-up, and what `photothread doctor` finds.

use crate::{
    app,
    attachments::Objects,
    config::{Auth, Config},
    domain::InterfaceType,
    store::{OutboxRow, Store},
    telegram,
};
use std::{net::SocketAddr, process::ExitCode};

/// Everything on and off, in plain words, and how to change it.
pub fn welcome(config: &Config, page: Option<SocketAddr>, provider: &str, model: &str) -> String {
    let page = match page {
        Some(address) => match (config.web.auth, &config.web.public_url) {
            (Auth::Local, _) => format!("http://{address} (open it, add a photo, say what you'd like)"),
            (Auth::Required, Some(url)) => format!("{url} (to log in, send /web to the bot)"),
            (Auth::Required, None) => format!("http://{address} (to log in, send /web to the bot)"),
        },
        None => "off. Set web.listen to turn it on.".into(),
    };
    let telegram = match config.secrets.telegram_bot_token {
        Some(_) => "on, connecting…".into(),
        None => "off. Set TELEGRAM_BOT_TOKEN (from @BotFather) and start again.".to_owned(),
    };
    let agent = match provider {
        "offline" => {
            "offline. It understands plain edits: “crop to a square, then make it black and white”.".into()
        }
        name => format!("{name}, model {model}"),
    };
    let models = match provider {
        "offline" => "off. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY (or a base_url for a server of your \
                      own) and start again."
            .into(),
        _ => "on".to_owned(),
    };
    format!(
        "Photothread {}: send a photo, reply to edit it.\n\n  \
         Page      {page}\n  Agent     {agent}\n  Telegram  {telegram}\n  Models    {models}\n  \
         Data      {} and {}\n",
        env!("CARGO_PKG_VERSION"),
        config.database.url.shown(),
        config.attachments.url.to_url(),
    )
}

pub fn connected(name: &str, code: Option<&str>) -> String {
    match code {
        None => format!("  Telegram  on as @{name}: https://t.me/{name}"),
        Some(code) => format!(
            "  Telegram  on as @{name}. Nobody owns this bot yet. To make it yours, send it:\n\n      /start {code}\n\n            \
             or open https://t.me/{name}?start={code}"
        ),
    }
}

/// Checks each part on its own and says what it found. Fails if any part does.
pub async fn examine(config: &Config) -> ExitCode {
    let mut sound = true;
    let mut report = |part: &str, result: Result<String, String>| {
        let (mark, text) = match result {
            Ok(text) => ("ok", text),
            Err(text) => {
                sound = false;
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
        report("database", database(store).await);
    }
    report("attachments", files(config).await);
    report("telegram", token(config).await);
    if let Some(store) = &store {
        report("owner", owner(config, store).await);
        match store.troubled_sends(50).await {
            Ok(sends) => print_troubled(&sends),
            Err(error) => report("outbox", Err(error.to_string())),
        }
    }
    if sound { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

async fn database(store: &Store) -> Result<String, String> {
    let open = store.open_turns().await.map_err(|e| e.to_string())?;
    Ok(format!("{}, {open} turn(s) waiting or running", store.kind()))
}

async fn files(config: &Config) -> Result<String, String> {
    let url = config.attachments.url.to_url();
    let objects = Objects::open(&url).map_err(|e| e.to_string())?;
    objects.check().await.map_err(|e| format!("{url}: {e}"))?;
    Ok(format!("{url} can be written and read"))
}

async fn token(config: &Config) -> Result<String, String> {
    let Some(token) = &config.secrets.telegram_bot_token else {
        return Ok("off; set TELEGRAM_BOT_TOKEN to turn it on".into());
    };
    let me = telegram::check_token(token, &config.telegram.api_url).await.map_err(|e| e.to_string())?;
    Ok(format!("@{}", me.username))
}

async fn owner(config: &Config, store: &Store) -> Result<String, String> {
    let owners = store.owners(InterfaceType::Telegram).await.map_err(|e| e.to_string())?;
    let access = app::open_access(config, store).await.map_err(|e| e.to_string())?;
    Ok(match (owners.first(), access.pairing_code()) {
        (Some(owner), _) => format!("user {owner}"),
        (None, None) => "none needed: telegram.allowed_user_ids or allow_everyone is set".into(),
        (None, Some(_)) => "nobody yet; the next start prints a pairing code".into(),
    })
}

fn print_troubled(sends: &[OutboxRow]) {
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
