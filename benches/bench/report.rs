//! Writes results to docs/benchmarks.md: rows with a goal and a ratio. Each section is replaced on its own, so that a
//! partial run keeps the others.

use anyhow::Context as _;
use std::{fmt::Write as _, fs, path::PathBuf, process::Command, time::Duration};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/benchmarks.md");

/// One section of the page: the results of one benchmark.
pub struct Section {
    title: &'static str,
    about: String,
    rows: Vec<Row>,
    below: String,
}

struct Row {
    what: String,
    goal: String,
    measured: String,
    ratio: String,
}

/// A unit, and how its numbers are formatted.
#[derive(Clone, Copy)]
pub enum Unit {
    Milliseconds,
    Microseconds,
    Megabytes,
    PerSecond,
    Minutes,
    Times,
}

impl Unit {
    fn show(self, value: f64) -> String {
        match self {
            Self::Milliseconds => format!("{value:.1} ms"),
            Self::Microseconds => format!("{value:.0} µs"),
            Self::Megabytes => format!("{value:.1} MB"),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Minutes => format!("{value:.1} min"),
            Self::Times => format!("{value:.2}×"),
        }
    }
}

impl Section {
    pub fn new(title: &'static str, about: impl Into<String>) -> Self {
        Self { title, about: about.into(), rows: Vec::new(), below: String::new() }
    }

    /// A number with a goal it should stay under.
    pub fn at_most(&mut self, what: impl Into<String>, unit: Unit, goal: f64, measured: f64) {
        let goal_text = format!("≤ {}", shown_goal(unit, goal));
        self.push(what, goal_text, unit.show(measured), format!("{:.2}", measured / goal));
    }

    /// A number with a goal it should reach.
    pub fn at_least(&mut self, what: impl Into<String>, unit: Unit, goal: f64, measured: f64) {
        let goal_text = format!("≥ {}", shown_goal(unit, goal));
        self.push(what, goal_text, unit.show(measured), format!("{:.2}", measured / goal));
    }

    /// A number without a goal.
    pub fn note(&mut self, what: impl Into<String>, unit: Unit, measured: f64) {
        self.push(what, String::new(), unit.show(measured), String::new());
    }

    pub fn remark(&mut self, what: impl Into<String>, text: impl Into<String>) {
        self.push(what, String::new(), text.into(), String::new());
    }

    /// Markdown below the table, for results with other columns.
    pub fn below(&mut self, text: &str) {
        self.below.push_str(text);
    }

    fn push(&mut self, what: impl Into<String>, goal: String, measured: String, ratio: String) {
        self.rows.push(Row { what: what.into(), goal, measured, ratio });
    }

    pub fn text(&self) -> String {
        let mut text = format!("## {}\n\n{}\n\n", self.title, self.about);
        text.push_str("| what | goal | measured | measured / goal |\n| --- | --- | --- | --- |\n");
        for Row { what, goal, measured, ratio } in &self.rows {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "| {what} | {goal} | {measured} | {ratio} |");
        }
        text.push_str(&self.below);
        text
    }
}

fn shown_goal(unit: Unit, goal: f64) -> String {
    unit.show(goal).replace(".0 ", " ").replace(".00×", "×")
}

pub fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

pub fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

/// The value that `share` of all are at or below; zero if there are none.
pub fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    values.get((last as f64 * share).round() as usize).copied().unwrap_or_default()
}

pub fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}

pub struct Report {
    path: PathBuf,
    text: String,
}

impl Report {
    pub fn open() -> anyhow::Result<Self> {
        let path = PathBuf::from(PAGE);
        let text = fs::read_to_string(&path).unwrap_or_else(|_| blank_page());
        Ok(Self { path, text })
    }

    /// Replaces one section, with the date and the machine of the measurement.
    pub fn put(&mut self, name: &str, section: &Section) -> anyhow::Result<()> {
        let (open, close) = marks(name);
        let from = self.text.find(&open).with_context(|| format!("{open} is not on the page"))? + open.len();
        let to =
            self.text[from..].find(&close).with_context(|| format!("{close} is not on the page"))? + from;
        let body = format!("\n{}\n*Measured {}.*\n", section.text(), circumstances());
        self.text.replace_range(from..to, &body);
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(&self.path, &self.text).context("docs/benchmarks.md cannot be written")
    }
}

fn marks(name: &str) -> (String, String) {
    (format!("<!-- {name} -->"), format!("<!-- end of {name} -->"))
}

fn blank_page() -> String {
    let mut page = String::from(
        "# Benchmarks\n\nWritten by `make bench` (and `make bench-build` for the build), never asserted by a test.\n\
         The program is the release build, run as a process of its own against a small Bot API server in the\n\
         measuring process, which takes its share of the same processors. Ratios are measured ÷ goal.\n",
    );
    for name in super::SECTIONS {
        let (open, close) = marks(name);
        // Writing to a String cannot fail.
        let _ = write!(page, "\n{open}\n{close}\n");
    }
    page
}

/// Date, machine, load and versions, without host names and paths.
fn circumstances() -> String {
    let date = chrono::Utc::now().format("%Y-%m-%d");
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let cpu = field(&cpuinfo, "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let meminfo = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let kilobytes = field(&meminfo, "MemTotal").and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    let memory = kilobytes.map_or_else(String::new, |kb| format!(", {:.0} GB of memory", kb / 1e6));
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?").to_owned();
    let rust = Command::new("rustc").arg("--version").output().ok();
    let rust = rust.and_then(|out| String::from_utf8(out.stdout).ok()).unwrap_or_default();
    let rust = rust.split(' ').nth(1).unwrap_or("of an unknown version").to_owned();
    format!(
        "{date}, photothread {}, Rust {rust}, {cores} × {cpu}{memory}, load average {load} at the end",
        env!("CARGO_PKG_VERSION")
    )
}

fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}
