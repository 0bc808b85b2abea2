//! The same edits with other libraries, in a Python process that runs one edit per request. A library that is not
//! installed is reported as missing.

use anyhow::Context as _;
use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/bench/peers.py");
/// The Python interpreter with the other libraries, if it is not `python3`.
const PYTHON: &str = "PEERS_PYTHON";

pub const PEERS: [&str; 4] = ["pillow", "libvips", "opencv", "imagemagick"];
/// The C library, which measures the floor.
pub const TURBO: &str = "libjpeg-turbo";

pub struct Peers {
    process: Child,
    ask: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Peers {
    /// None without a Python to run them.
    pub fn open(folder: &Path) -> Option<Self> {
        let python = std::env::var(PYTHON).unwrap_or_else(|_| "python3".to_owned());
        let mut process = Command::new(python)
            .arg(SCRIPT)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (ask, answers) = (process.stdin.take()?, process.stdout.take()?);
        Some(Self { process, ask, answers: BufReader::new(answers) })
    }

    pub fn versions(&mut self) -> anyhow::Result<String> {
        self.answer("versions")
    }

    /// Processor time of one edit in milliseconds; None if that peer is missing.
    pub fn edit(&mut self, peer: &str, row: &str, size: &str) -> anyhow::Result<Option<f64>> {
        Ok(self.answer(&format!("{peer} {row} {size}"))?.parse().ok())
    }

    /// Megabytes.
    pub fn peak(&mut self, peer: &str, row: &str, size: &str) -> anyhow::Result<Option<f64>> {
        Ok(self.answer(&format!("peak {peer} {row} {size}"))?.parse().ok())
    }

    fn answer(&mut self, question: &str) -> anyhow::Result<String> {
        writeln!(self.ask, "{question}").context("the peers ended")?;
        let mut answer = String::new();
        self.answers.read_line(&mut answer)?;
        Ok(answer.trim().to_owned())
    }
}

impl Drop for Peers {
    fn drop(&mut self) {
        // It may have ended already; then the measurements failed before.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
