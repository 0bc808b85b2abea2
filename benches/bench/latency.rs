//! Time from an update to its send under a steady load, without the quiet time of the batch.

use super::{
    model,
    program::Settings,
    report::{Section, Unit, micros, millis, quantile},
    telegram::{Sent, Telegram},
};
use anyhow::Context as _;
use std::{
    io::Write as _,
    path::Path,
    time::{Duration, Instant},
};
use tokio::sync::mpsc;

const PER_SECOND: u32 = 50;
/// The first of them warm up and are not counted.
const WARM_UP: usize = 100;
const MESSAGES: usize = 1000;
const CHATS: i64 = 250;
const STUCK_CHAT: i64 = 7;
const STUCK_UPDATES: usize = 200;
/// The program's default quiet time.
const QUIET: Duration = Duration::from_millis(300);
const GOAL: f64 = 5.0;

pub async fn measure() -> anyhow::Result<Section> {
    let folder = tempfile::tempdir()?;
    let (telegram, mut sent) = Telegram::start().await?;
    let _program = Settings::new(&telegram, folder.path()).start(&telegram).await?;
    let mut late = steady_load(&telegram, &mut sent).await?;
    let about = format!(
        "{MESSAGES} text messages of {CHATS} chats at {PER_SECOND}/s whatever the answers do (open loop), offline agent, \
         SQLite: from handing out the update to receiving the `sendMessage`, less the quiet time of {} ms. Four commits \
         lie in between, each waiting for the disk.",
        QUIET.as_millis()
    );
    let mut section = Section::new("From update to send", about);
    section.note("p50", Unit::Milliseconds, quantile(&mut late, 0.5));
    section.at_most("p99", Unit::Milliseconds, GOAL, quantile(&mut late, 0.99));
    let mut syncs = disk(folder.path())?;
    section.note(
        "the disk alone: write 4 kB and fdatasync, p50",
        Unit::Microseconds,
        quantile(&mut syncs, 0.5),
    );
    section.note("the disk alone, p99", Unit::Microseconds, quantile(&mut syncs, 0.99));
    Ok(section)
}

/// Time of the smallest durable write to the disk of this folder, without other load.
fn disk(folder: &Path) -> anyhow::Result<Vec<f64>> {
    let mut file = std::fs::File::create(folder.join("probe"))?;
    let mut times = Vec::new();
    for _ in 0..500 {
        let since = Instant::now();
        file.write_all(&[1; 4096])?;
        file.sync_data()?;
        times.push(micros(since.elapsed()));
    }
    Ok(times)
}

pub async fn measure_beside_a_stuck_chat() -> anyhow::Result<Section> {
    let (mut alone, mut beside) = (Vec::new(), Vec::new());
    let model = model::start().await?;
    for stuck in [false, true] {
        let folder = tempfile::tempdir()?;
        let (telegram, mut sent) = Telegram::start().await?;
        let settings = Settings::new(&telegram, folder.path()).with_model(&model);
        let _program = settings.start(&telegram).await?;
        if stuck {
            telegram.people_write([(STUCK_CHAT, model::HOLD.to_owned())]);
            // Its turn must run before the other messages, or all would be one batch.
            tokio::time::sleep(QUIET * 3).await;
            telegram.people_write((0..STUCK_UPDATES).map(|n| (STUCK_CHAT, format!("are you there? {n}"))));
            telegram.all_confirmed().await?;
        }
        let late = steady_load(&telegram, &mut sent).await?;
        if stuck { beside = late } else { alone = late }
    }
    let about = format!(
        "The same load, answered by a model on this machine (one HTTP request more): first alone, then while one chat's \
         turn never ends and {STUCK_UPDATES} more of its updates wait."
    );
    let mut section = Section::new("Beside a stuck chat", about);
    let p50 = [&mut alone, &mut beside].map(|late| quantile(late, 0.5));
    let p99 = [&mut alone, &mut beside].map(|late| quantile(late, 0.99));
    for (name, [alone, beside]) in [("p50", p50), ("p99", p99)] {
        section.note(format!("{name} without a stuck chat"), Unit::Milliseconds, alone);
        section.note(format!("{name} beside it"), Unit::Milliseconds, beside);
        section.at_most(format!("{name}: how much slower"), Unit::Times, 2.0, beside / alone);
    }
    Ok(section)
}

/// Milliseconds beyond the quiet time, one for each counted message.
async fn steady_load(
    telegram: &Telegram,
    sent: &mut mpsc::UnboundedReceiver<Sent>,
) -> anyhow::Result<Vec<f64>> {
    let write = async {
        let mut pace = tokio::time::interval(Duration::from_secs(1) / PER_SECOND);
        for n in 0..WARM_UP + MESSAGES {
            pace.tick().await;
            telegram.people_write([(1000 + n as i64 % CHATS, format!("hello, this is message {n}"))]);
        }
    };
    let read = async {
        let mut late = Vec::new();
        while late.len() < WARM_UP + MESSAGES {
            let one = tokio::time::timeout(Duration::from_secs(30), sent.recv());
            let one = one.await.context("no answer comes any more")?.context("the server is gone")?;
            let handed_out = telegram.handed_out(one.chat).context("an answer without a message")?;
            late.push(millis(one.at.duration_since(handed_out)) - millis(QUIET));
        }
        anyhow::Ok(late.split_off(WARM_UP))
    };
    tokio::join!(write, read).1
}
