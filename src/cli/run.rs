//! `photothread run`: starts the program, prints what is on and off, and stops it on a signal.

use crate::{
    app,
    config::{Auth, Config},
    prompts::Prompts,
};
use anyhow::Context as _;
use std::{net::SocketAddr, process::ExitCode};

pub async fn run(config: Config, prompts: Prompts) -> anyhow::Result<ExitCode> {
    let wants_telegram = config.secrets.telegram_bot_token.is_some();
    let settings = config.clone();
    let mut running = app::start(config, prompts).await?;
    println!("{}", welcome_text(&settings, running.page, running.provider, &running.model));
    let stop = stop_signal()?;
    tokio::pin!(stop);
    if wants_telegram {
        tokio::select! {
            connected = running.telegram() => {
                if let Some((name, code)) = connected {
                    println!("{}", connected_text(&name, code.as_deref()));
                }
            }
            () = &mut stop => return shut_down(running).await,
        }
    }
    stop.await;
    shut_down(running).await
}

async fn shut_down(running: app::Running) -> anyhow::Result<ExitCode> {
    println!("Stopping…");
    running.stop().await;
    Ok(ExitCode::SUCCESS)
}

/// Resolves on SIGINT or SIGTERM.
fn stop_signal() -> anyhow::Result<impl Future<Output = ()>> {
    #[cfg(unix)]
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .context("signals cannot be listened to")?;
    Ok(async move {
        #[cfg(unix)]
        tokio::select! {
            _ = tokio::signal::ctrl_c() => {}
            _ = terminate.recv() => {}
        }
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    })
}

/// What is on and off, and how to change it.
fn welcome_text(config: &Config, page: Option<SocketAddr>, provider: &str, model: &str) -> String {
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
        config.database.url.display_name(),
        config.attachments.url.to_url(),
    )
}

fn connected_text(name: &str, code: Option<&str>) -> String {
    match code {
        None => format!("  Telegram  on as @{name}: https://t.me/{name}"),
        Some(code) => format!(
            "  Telegram  on as @{name}. Nobody owns this bot yet. To make it yours, send it:\n\n      /start {code}\n\n            \
             or open https://t.me/{name}?start={code}"
        ),
    }
}
