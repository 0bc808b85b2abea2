//! The program: reads the command line, says in plain words what is on, and hands over to `app`.

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use photothread::{
    app,
    config::{self, Config},
    doctor,
    domain::SessionId,
    export::{self, Format},
    prompts::Prompts,
    telemetry,
};
use std::{path::PathBuf, process::ExitCode};

/// Send a photo. Reply to edit it.
#[derive(Parser)]
#[command(name = "photothread", version)]
struct Arguments {
    /// Settings that differ from the built-in ones
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Run the bot and the page (the default)
    Run,
    /// Check configuration, database, files and token, and list sends whose fate is unknown
    Doctor,
    /// Write conversations to files: JSON for the API, Markdown to read, or both with all photos
    #[command(group = clap::ArgGroup::new("which").required(true))]
    Export {
        /// The conversation with this id, as the address of its page shows it
        #[arg(long, value_name = "ID", group = "which")]
        session: Option<SessionId>,
        /// Every conversation
        #[arg(long, group = "which")]
        all: bool,
        /// json, markdown or zip
        #[arg(long, default_value = "json")]
        format: Format,
        /// A file or a folder; here, if not given. - is the terminal
        #[arg(long, value_name = "FILE-OR-FOLDER")]
        out: Option<PathBuf>,
    },
}

/// teloxide's message parser nests deeply; unoptimised, a message inside a reply overflows the usual 2 MB.
const STACK_BYTES: usize = 16 * 1024 * 1024;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_stack_size(STACK_BYTES).build();
    let done =
        runtime.context("the runtime cannot start").and_then(|runtime| runtime.block_on(act(arguments)));
    done.unwrap_or_else(|error| {
        eprintln!("photothread: {error:#}");
        ExitCode::FAILURE
    })
}

async fn act(arguments: Arguments) -> anyhow::Result<ExitCode> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let config = Config::load(arguments.config.as_deref(), config::process_environment())?;
    let prompts = Prompts::load(None)?;
    config.check_prompts(&prompts)?;
    telemetry::start(config.secrets.all())?;
    match arguments.command {
        None | Some(Command::Run) => run(config, prompts).await,
        Some(Command::Doctor) => Ok(doctor::examine(&config).await),
        Some(Command::Export { session, format, out, .. }) => {
            let told = export::write(&config, session, format, out.as_deref()).await?;
            eprintln!("{told}");
            Ok(ExitCode::SUCCESS)
        }
    }
}

async fn run(config: Config, prompts: Prompts) -> anyhow::Result<ExitCode> {
    let wants_telegram = config.secrets.telegram_bot_token.is_some();
    let facts = config.clone();
    let mut running = app::start(config, prompts).await?;
    println!("{}", doctor::welcome(&facts, running.page, running.provider, &running.model));
    let stop = stop_signal()?;
    tokio::pin!(stop);
    if wants_telegram {
        tokio::select! {
            connected = running.telegram() => {
                if let Some((name, code)) = connected {
                    println!("{}", doctor::connected(&name, code.as_deref()));
                }
            }
            () = &mut stop => return finish(running).await,
        }
    }
    stop.await;
    finish(running).await
}

async fn finish(running: app::Running) -> anyhow::Result<ExitCode> {
    println!("Stopping…");
    running.stop().await;
    Ok(ExitCode::SUCCESS)
}

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
