//! Time of a clean release build. Runs only if named on the command line: it takes minutes.

use super::report::{Section, Unit};
use anyhow::ensure;
use std::{process::Command, time::Instant};

pub fn measure() -> anyhow::Result<Section> {
    let folder = tempfile::tempdir()?;
    let since = Instant::now();
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "--quiet"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("CARGO_TARGET_DIR", folder.path())
        .status()?;
    ensure!(built.success(), "the build failed");
    let minutes = since.elapsed().as_secs_f64() / 60.0;
    let about = "`cargo build --release --locked` into an empty folder, with the crates already downloaded.";
    let mut section = Section::new("Build", about);
    section.at_most("clean release build", Unit::Minutes, 8.0, minutes);
    let size = folder.path().join("release/photothread").metadata()?.len();
    section.note("size of the program", Unit::Megabytes, size as f64 / 1e6);
    Ok(section)
}
