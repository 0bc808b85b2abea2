//! Time to build the opening of a turn from a small and from a large history.

use super::{
    fill::{Filled, filled},
    report::{Section, Unit, micros, quantile},
};
use anyhow::Context as _;
use chrono::{TimeDelta, Utc};
use photothread::{
    context::{self, HistoryBounds},
    domain::Turn,
    prompts::Prompts,
    store::Store,
};
use rand::RngExt as _;
use std::time::Instant;

const TURNS: usize = 4000;
const WARM_UP: usize = 400;
const PROMPT: &str = "photothread";

pub async fn measure() -> anyhow::Result<Section> {
    let about = format!(
        "`context::open` on SQLite for the newest turns of random conversations, one after the other, {TURNS} of each \
         kind: a new photo, which is shown the last ten messages, and a reply to an edited photo, which is shown its \
         thread and the recent attachments. 504 messages in each conversation."
    );
    let mut section = Section::new("Building the context", about);
    let small = times(&filled(20).await?).await?;
    let large = times(&filled(2000).await?).await?;
    for (kind, small, large) in [("new photo", small.new, large.new), ("reply", small.reply, large.reply)] {
        for (size, times) in [("10 thousand", &small), ("1 million", &large)] {
            section.at_most(format!("{kind}, {size} messages, p50"), Unit::Microseconds, 150.0, times.p50);
            section.at_most(format!("{kind}, {size} messages, p99"), Unit::Microseconds, 400.0, times.p99);
        }
        section.at_most(format!("{kind}, large ÷ small, p50"), Unit::Times, 2.0, large.p50 / small.p50);
        section.at_most(format!("{kind}, large ÷ small, p99"), Unit::Times, 2.0, large.p99 / small.p99);
    }
    Ok(section)
}

struct Times {
    p50: f64,
    p99: f64,
}

struct Kinds {
    new: Times,
    reply: Times,
}

async fn times(filled: &Filled) -> anyhow::Result<Kinds> {
    let store = Store::open(&filled.url).await?;
    // The first turn of a thread begins it; the last is a reply in it.
    let kinds = Kinds { new: turns(filled, &store, 0).await?, reply: turns(filled, &store, 2).await? };
    eprintln!("{} messages done", filled.messages());
    store.close().await;
    Ok(kinds)
}

async fn turns(filled: &Filled, store: &Store, which: i64) -> anyhow::Result<Times> {
    let mut turns: Vec<Turn> = Vec::new();
    for _ in 0..WARM_UP + TURNS {
        let conversation = rand::rng().random_range(0..filled.conversations);
        let id = filled.last_turn(conversation, which).parse()?;
        turns.push(store.turn(id).await?.context("a turn that was filled in is missing")?);
    }
    let store = store.clone();
    // The database file may be days old, so the age limit is relative to its newest message. A new photo is shown the
    // messages before its thread, and the thread itself spans two hours.
    let max_age = Utc::now() - filled.newest + TimeDelta::hours(4);
    // On the runtime's own threads, as in the program.
    let work = tokio::spawn(async move {
        let prompts = Prompts::load(None)?;
        let bounds = HistoryBounds { max_messages: 10, max_age, max_thread_tokens: 24_000 };
        let mut times = Vec::new();
        for turn in &turns {
            let since = Instant::now();
            let opening = context::open(&store, &prompts, PROMPT, &bounds, turn).await?;
            times.push(micros(since.elapsed()));
            anyhow::ensure!(opening.messages.len() > 5, "the opening shows too little");
        }
        anyhow::Ok(times.split_off(WARM_UP))
    });
    let mut times = work.await??;
    Ok(Times { p50: quantile(&mut times, 0.5), p99: quantile(&mut times, 0.99) })
}
