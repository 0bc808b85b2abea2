//! The real program as a child process, and its memory as the kernel reports it.

use super::telegram::{TOKEN, Telegram};
use anyhow::{Context as _, bail};
use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

const START_TIMEOUT: Duration = Duration::from_secs(30);

/// The program, running; killed when dropped.
pub struct Program {
    child: Child,
}

pub struct Settings<'a> {
    command: Command,
    folder: &'a Path,
}

impl<'a> Settings<'a> {
    /// Admits everyone, with the default quiet times and send rates above the load. Data goes to `folder`.
    pub fn new(telegram: &Telegram, folder: &'a Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_photothread"));
        command.current_dir(folder).env_clear().env("TELEGRAM_BOT_TOKEN", TOKEN);
        let settings = Self { command, folder };
        settings
            .with("TELEGRAM__API_URL", &telegram.url)
            .with("TELEGRAM__ALLOW_EVERYONE", "true")
            .with("TELEGRAM__PACING__PER_CHAT_BURST", "1000")
            .with("TELEGRAM__PACING__OVERALL_PER_SECOND", "10000")
            .with("WEB__LISTEN", "127.0.0.1:0")
    }

    pub fn with(mut self, key: &str, value: &str) -> Self {
        self.command.env(format!("PHOTOTHREAD_{key}"), value);
        self
    }

    /// A model behind an OpenAI-compatible address instead of the offline agent.
    pub fn with_model(mut self, url: &str) -> Self {
        self.command.env("OPENAI_API_KEY", "none");
        self.with("HISTORY__TITLES", "message").with("PROVIDERS__OPENAI__BASE_URL", url)
    }

    /// Starts it and waits for its first poll.
    pub async fn start(self, telegram: &Telegram) -> anyhow::Result<Program> {
        let (poll, log) = (telegram.next_poll(), self.folder.join("log"));
        let program = self.spawn()?;
        match tokio::time::timeout(START_TIMEOUT, poll).await {
            Ok(polled) => polled.map(|()| program),
            Err(_) => bail!("the program never polled; it said: {}", fs::read_to_string(log)?),
        }
    }

    fn spawn(mut self) -> anyhow::Result<Program> {
        let log = fs::File::create(self.folder.join("log"))?;
        self.command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Ok(Program { child: self.command.spawn().context("the program cannot be started")? })
    }
}

impl Program {
    /// A number of kilobytes from one of its files in /proc, as megabytes.
    pub fn memory(&self, file: &str, field: &str) -> Option<f64> {
        memory_of(&self.child.id().to_string(), file, field)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended already; then the measurements failed before.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn memory_of(process: &str, file: &str, field: &str) -> Option<f64> {
    let text = fs::read_to_string(format!("/proc/{process}/{file}")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))?;
    Some(line.trim().trim_end_matches("kB").trim().parse::<f64>().ok()? * 1024.0 / 1e6)
}
