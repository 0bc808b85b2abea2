//! The program as a process with a log. It can be killed.

use super::Settings;
use std::{
    fs::{File, OpenOptions},
    ops::{Deref, DerefMut},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

/// Lines of the log that fail a test: a panic, or a task that the supervisor had to restart.
const FAILURES: [&str; 3] = ["panicked at", "task panicked", "task ended"];

/// A running process of the program. It is killed when dropped, and the test fails if its log shows a failed task.
pub struct Program {
    child: Child,
    log: PathBuf,
}

impl Program {
    pub fn start(settings: &Settings) -> Self {
        Self::spawn(settings, &mut Self::command(settings))
    }

    /// The command that runs the program with these settings, in their folder.
    pub fn command(settings: &Settings) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_photothread"));
        command.current_dir(settings.folder()).envs(settings.variables());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// Starts a command that a test has changed. Its log goes to a file in the settings' folder.
    pub fn spawn(settings: &Settings, command: &mut Command) -> Self {
        let log = settings.folder().join("program.log");
        let child = command.stderr(append(&log)).spawn().expect("the program starts");
        Self { child, log }
    }

    /// `kill -9`: the program cannot clean up. Returns its whole log.
    pub fn kill(mut self) -> String {
        self.child.kill().expect("a running program");
        self.child.wait().expect("a killed program");
        self.log()
    }

    /// The log of this and of earlier programs with the same settings.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("a readable log")
    }
}

impl Deref for Program {
    type Target = Child;
    fn deref(&self) -> &Child {
        &self.child
    }
}

impl DerefMut for Program {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.child
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail if it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let log = std::fs::read_to_string(&self.log).unwrap_or_default();
        if std::env::var_os("SHOW_LOG").is_some() || std::thread::panicking() {
            eprintln!("{log}");
        }
        if !std::thread::panicking() {
            let failed: Vec<&str> =
                log.lines().filter(|line| FAILURES.iter().any(|failure| line.contains(failure))).collect();
            assert!(failed.is_empty(), "background tasks of the program failed: {failed:#?}");
        }
    }
}

fn append(log: &Path) -> File {
    OpenOptions::new().create(true).append(true).open(log).expect("a log file")
}
