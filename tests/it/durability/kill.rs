//! `kill -9` at random moments under load: no update is lost and no reply repeated, on both databases.

use super::{Program, at_rest, number};
use crate::harness::{Person, Settings, World, jpeg_of, user};
use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use std::{collections::BTreeMap, future::pending, time::Duration};
use tokio::time::timeout;

const KILLS: usize = 22;
const CHATS: i64 = 4;

/// A failed run can be repeated with its seed.
fn seed() -> u64 {
    let given = std::env::var("KILL_SEED").ok().and_then(|seed| seed.parse().ok());
    given.unwrap_or_else(|| rand::rng().random())
}

async fn says_something(person: &Person, chance: &mut StdRng, count: &mut usize) {
    let width = 60 + chance.random_range(0..40);
    let photo = jpeg_of(width, 50, [chance.random(), 90, 160]);
    match chance.random_range(0..10) {
        0..5 => {
            person.says(&format!("hello number {count}")).await;
        }
        5..8 => {
            person.sends_photo(photo, "rotate left").await;
        }
        _ => {
            let second = jpeg_of(width, 60, [90, chance.random(), 160]);
            person.sends_album(&[photo, second], "make them black and white").await;
            *count += 1;
        }
    }
    *count += 1;
}

async fn survives_kills(world: &World, settings: &Settings) {
    let seed = seed();
    println!("KILL_SEED={seed}");
    let mut chance = StdRng::seed_from_u64(seed);
    let people: Vec<Person> =
        (0..CHATS).map(|n| world.private_chat(user(1001 + n, &format!("Person{n}")))).collect();
    let mut messages = 0;
    for round in 0..KILLS {
        let program = Program::start(settings);
        let rested = round % 3 == 2;
        if rested {
            // Sometimes let it finish its work, so that a slow machine also has sends that must not repeat.
            world.wait_until_all_confirmed().await;
            at_rest(settings).await;
        }
        let seen = world.all_calls().len();
        for person in &people {
            if chance.random_bool(0.6) {
                says_something(person, &mut chance, &mut messages).await;
            }
        }
        // Kill at any point from the first call to the last send, by the number of calls so far.
        // If all work is done and no message is sent, there may be no call.
        if !rested {
            world.wait_for_calls_of_any_kind(seen + 2).await;
        }
        let calls = seen + chance.random_range(2..26);
        let _ = timeout(Duration::from_millis(1200), world.wait_for_calls_of_any_kind(calls)).await;
        let moment = Duration::from_micros(chance.random_range(0..15_000));
        let _ = timeout(moment, pending::<()>()).await;
        program.kill();
    }
    let last = Program::start(settings);
    world.wait_until_all_confirmed().await;
    at_rest(settings).await;
    last.kill();
    nothing_is_lost_or_repeated(world, settings, &people, messages).await;
}

async fn nothing_is_lost_or_repeated(world: &World, settings: &Settings, people: &[Person], messages: usize) {
    let count = async |sql: &str| number(settings, sql).await;
    assert_eq!(count("SELECT COUNT(*) FROM inbox").await, messages as i64, "every update came in");
    assert_eq!(count("SELECT COUNT(*) FROM inbox WHERE state <> 'done'").await, 0);
    assert_eq!(count("SELECT COUNT(*) FROM message_history WHERE role = 'user'").await, messages as i64);
    let inputs = "SELECT COUNT(DISTINCT internal_id) FROM turn_inputs";
    assert_eq!(count(inputs).await, messages as i64, "every message belongs to a turn");
    assert_eq!(count("SELECT COUNT(*) FROM turn_inputs").await, messages as i64, "and to one only");
    let split = "SELECT COUNT(*) FROM (SELECT m.conversation_id, m.album_id FROM message_history m \
         JOIN turn_inputs i ON i.internal_id = m.internal_id WHERE m.album_id IS NOT NULL \
         GROUP BY m.conversation_id, m.album_id HAVING COUNT(DISTINCT i.turn_id) > 1) AS s";
    assert_eq!(count(split).await, 0, "no album was split");
    assert_eq!(count("SELECT COUNT(*) FROM turns WHERE state NOT IN ('done', 'failed')").await, 0);
    let silent = "SELECT COUNT(*) FROM turns t WHERE NOT EXISTS ( \
         SELECT 1 FROM outbox o WHERE o.turn_id = t.turn_id AND o.reply_to IS NOT NULL)";
    assert_eq!(count(silent).await, 0, "every turn replies to its person");
    let unknown = count("SELECT COUNT(*) FROM outbox WHERE state = 'unknown'").await;
    assert_eq!(count("SELECT COUNT(*) FROM outbox WHERE state NOT IN ('sent', 'unknown')").await, 0);
    for person in people {
        let mut replies: BTreeMap<i32, usize> = BTreeMap::new();
        for delivery in world.deliveries_to(person.chat_id) {
            if let Some(to) = delivery[0].reply_to {
                *replies.entry(to).or_default() += 1;
            }
        }
        for (message, times) in &replies {
            assert_eq!(*times, 1, "message {message} was answered {times} times\n{}", world.story());
        }
        let planned = async |state: &str| {
            let sql = format!(
                "SELECT COUNT(*) FROM outbox WHERE conversation_id = '{}' AND state = '{state}'",
                person.chat_id
            );
            count(&sql).await as usize
        };
        let (sent, unsure) = (planned("sent").await, planned("unknown").await);
        let arrived = world.deliveries_to(person.chat_id).len();
        assert!(
            (sent..=sent + unsure).contains(&arrived),
            "{arrived} arrived, {sent} are known to have, {unsure} may have"
        );
        let answered = format!(
            "SELECT COUNT(*) FROM outbox WHERE conversation_id = '{}' AND state = 'sent' AND reply_to IN ({})",
            person.chat_id,
            replies.keys().map(|id| format!("'{id}'")).collect::<Vec<_>>().join(", ")
        );
        let known = format!(
            "SELECT COUNT(*) FROM outbox WHERE conversation_id = '{}' AND state = 'sent' AND reply_to IS NOT NULL",
            person.chat_id
        );
        assert_eq!(count(&answered).await, count(&known).await, "what is marked sent was sent");
    }
    let turns = count("SELECT COUNT(*) FROM turns").await;
    let failed = count("SELECT COUNT(*) FROM turns WHERE state = 'failed'").await;
    println!("{messages} messages, {turns} turns ({failed} gave up), {unknown} sends unknown");
    assert!(turns >= KILLS as i64 / 3, "too little happened to prove anything: {turns} turns");
    assert!(unknown < turns, "too much is unknown: {unknown} of {turns}");
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_at_any_moment_loses_no_update_and_repeats_no_reply_on_sqlite() {
    let world = World::start().await;
    let settings = Settings::new(&world);
    survives_kills(&world, &settings).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kill_9_at_any_moment_loses_no_update_and_repeats_no_reply_on_postgres() {
    let world = World::start().await;
    let settings = Settings::new(&world).on_postgres().await;
    survives_kills(&world, &settings).await;
}
