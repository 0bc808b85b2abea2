//! The command line: `run` (the default), `doctor`, `export` and `import`.

mod doctor;
mod export;
mod import;
mod run;

use crate::{
    config::{self, Config},
    domain::{SessionId, UserId},
    prompts::Prompts,
    telemetry,
    transfer::export::ExportFormat,
};
use clap::{Parser, Subcommand};
use std::{path::PathBuf, process::ExitCode};

/// Send a photo. Reply to edit it.
#[derive(Parser)]
#[command(name = "photothread", version)]
pub struct Arguments {
    /// Settings that differ from the built-in ones
    #[arg(long, global = true, value_name = "FILE")]
    config: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<CliCommand>,
}

#[derive(Subcommand)]
enum CliCommand {
    /// Run the bot and the page (the default)
    Run,
    /// Check configuration, database, files and token, and list sends whose fate is unknown
    Doctor {
        /// Delete stored files that no message and no edit uses. Stop the bot first
        #[arg(long)]
        repair: bool,
    },
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
        format: ExportFormat,
        /// A file or a folder; here, if not given. - is the terminal
        #[arg(long, value_name = "FILE-OR-FOLDER")]
        out: Option<PathBuf>,
    },
    /// Make new conversations from exported ones: a zip with its photos, or JSON whose photos are still here
    Import {
        /// What `export` wrote
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Whose conversations they become: a Telegram user id. Without it, those of the person at this machine
        #[arg(long, value_name = "ID")]
        user: Option<i64>,
    },
}

/// Loads the configuration and runs the subcommand.
pub async fn execute(arguments: Arguments) -> anyhow::Result<ExitCode> {
    rustls::crypto::ring::default_provider().install_default().ok();
    let config = Config::load(arguments.config.as_deref(), config::process_environment())?;
    let prompts = Prompts::load(None)?;
    config.check_prompts(&prompts)?;
    telemetry::start(config.secrets.all())?;
    match arguments.command {
        None | Some(CliCommand::Run) => run::run(config, prompts).await,
        Some(CliCommand::Doctor { repair }) => {
            let orphans = if repair { doctor::Orphans::Delete } else { doctor::Orphans::Report };
            Ok(doctor::examine(&config, orphans).await)
        }
        Some(CliCommand::Export { session, format, out, .. }) => {
            eprintln!("{}", export::export(&config, session, format, out.as_deref()).await?);
            Ok(ExitCode::SUCCESS)
        }
        Some(CliCommand::Import { files, user }) => {
            let user = user.map(|id| UserId(id.to_string()));
            import::import(&config, user, &files).await?;
            Ok(ExitCode::SUCCESS)
        }
    }
}
