//! Time from the start of the process to the first poll, and memory without load.

use super::{
    program::Settings,
    report::{Section, Unit, median, millis},
    telegram::Telegram,
};
use std::{path::Path, time::Duration, time::Instant};

const STARTS: usize = 15;
const SETTLED: Duration = Duration::from_secs(5);

pub async fn measure() -> anyhow::Result<Section> {
    let (telegram, _sent) = Telegram::start().await?;
    let mut fresh = Vec::new();
    for _ in 0..STARTS {
        let folder = tempfile::tempdir()?;
        fresh.push(to_first_poll(&telegram, folder.path()).await?);
    }
    let folder = tempfile::tempdir()?;
    to_first_poll(&telegram, folder.path()).await?;
    let mut again = Vec::new();
    for _ in 0..STARTS {
        again.push(to_first_poll(&telegram, folder.path()).await?);
    }
    let about = format!(
        "From spawning the process to its first `getUpdates`, median of {STARTS} starts; memory {} s after the first \
         poll, connected, with the page on and no messages.",
        SETTLED.as_secs()
    );
    let mut section = Section::new("Start and idle memory", about);
    section.at_most("start to first poll, existing database", Unit::Milliseconds, 50.0, median(&mut again));
    section.at_most("start to first poll, no database yet", Unit::Milliseconds, 50.0, median(&mut fresh));

    let program = Settings::new(&telegram, folder.path()).start(&telegram).await?;
    tokio::time::sleep(SETTLED).await;
    if let Some(rss) = program.memory("status", "VmRSS") {
        section.at_most("resident memory (VmRSS)", Unit::Megabytes, 20.0, rss);
    }
    for (what, field) in [("proportional (Pss)", "Pss"), ("of that our own pages (anonymous)", "Anonymous")] {
        if let Some(size) = program.memory("smaps_rollup", field) {
            section.note(what, Unit::Megabytes, size);
        }
    }
    Ok(section)
}

async fn to_first_poll(telegram: &Telegram, folder: &Path) -> anyhow::Result<f64> {
    let settings = Settings::new(telegram, folder);
    let since = Instant::now();
    let _program = settings.start(telegram).await?;
    Ok(millis(since.elapsed()))
}
