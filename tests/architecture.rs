//! The arrows between the rooms point inwards: who may know of whom, which crate is seen where, and how long a file
//! may get. docs/architecture.md tells the same in words.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "architecture/source.rs"]
mod source;

use source::{Source, files_under, read, root, uses_crate};
use std::collections::BTreeSet;

/// Every room and what it may know of. A room that is not here is a mistake.
const ROOMS: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("telemetry", &[]),
    ("imaging", &["domain"]),
    ("store", &["domain"]),
    ("providers", &["domain"]),
    ("prompts", &["domain"]),
    ("config", &["prompts", "providers"]),
    ("access", &["store", "domain"]),
    ("money", &["store", "providers", "domain"]),
    ("attachments", &["access", "store", "imaging", "domain"]),
    ("tools", &["money", "attachments", "access", "store", "imaging", "providers", "domain"]),
    ("context", &["attachments", "store", "prompts", "providers", "domain"]),
    ("agent", AGENT),
    ("transfer", &["tools", "attachments", "access", "store", "domain"]),
    ("telegram", INTERFACE),
    ("web", INTERFACE),
    ("app", EVERYTHING),
    ("cli", EVERYTHING),
];

const AGENT: &[&str] = &[
    "context",
    "tools",
    "money",
    "providers",
    "attachments",
    "access",
    "store",
    "imaging",
    "prompts",
    "domain",
];

/// An interface knows the agent and what is behind it, but no other interface.
const INTERFACE: &[&str] = &[
    "agent",
    "transfer",
    "config",
    "context",
    "money",
    "tools",
    "providers",
    "attachments",
    "access",
    "store",
    "imaging",
    "prompts",
    "domain",
];

const EVERYTHING: &[&str] = &[
    "access",
    "agent",
    "app",
    "attachments",
    "config",
    "context",
    "cli",
    "domain",
    "imaging",
    "money",
    "prompts",
    "providers",
    "store",
    "telegram",
    "telemetry",
    "tools",
    "transfer",
    "web",
];

/// Crates that only some rooms may see, so that each could be replaced by changing those rooms.
const CRATES: &[(&str, &[&str])] = &[
    ("teloxide", &["telegram"]),
    ("pulldown_cmark", &["telegram", "web"]),
    ("sqlx", &["store"]),
    ("axum", &["web"]),
    ("askama", &["web"]),
    ("zip", &["transfer"]),
    ("utoipa", &["transfer", "web"]),
    ("image", &["imaging"]),
    ("fast_image_resize", &["imaging"]),
    ("libjpeg_turbo_rs", &["imaging"]),
    ("cosmic_text", &["imaging"]),
    ("exif", &["imaging"]),
    ("gif", &["imaging"]),
    ("heic_decoder", &["imaging"]),
    ("img_parts", &["imaging"]),
    ("moxcms", &["imaging"]),
    ("webp", &["imaging"]),
    ("zune_jpeg", &["imaging"]),
    ("object_store", &["attachments"]),
    ("reqwest", &["telegram", "providers"]),
    ("minijinja", &["prompts"]),
    ("clap", &["cli", "main"]),
    ("anyhow", &["app", "cli", "main"]),
];

const MOST_LINES: usize = 500;

fn shipped() -> Vec<Source> {
    files_under("src", "rs").into_iter().filter(|path| !source::is_test(path)).map(Source::open).collect()
}

/// What a file says that its room may not, one line each.
fn forbidden(file: &Source) -> Vec<String> {
    let name = file.room.as_str();
    let mut wrong = Vec::new();
    if let Some((_, allowed)) = ROOMS.iter().find(|(room, _)| *room == name) {
        let rooms: BTreeSet<&str> = ROOMS.iter().map(|(room, _)| *room).collect();
        for other in file.rooms_named(&rooms) {
            if other != name && !allowed.contains(&other.as_str()) {
                wrong.push(format!("{}: {name} may not know of {other}", file.path));
            }
        }
    }
    for (package, homes) in CRATES {
        if uses_crate(&file.code, package) && !homes.contains(&name) {
            wrong.push(format!("{}: {package} belongs to {}", file.path, homes.join(" and ")));
        }
    }
    for call in [".unwrap()", ".expect("] {
        if file.code.contains(call) {
            wrong.push(format!("{}: {call} outside tests", file.path));
        }
    }
    wrong
}

#[test]
fn arrows_point_inwards_and_crates_stay_in_their_rooms() {
    let files = shipped();
    assert!(files.len() > 80, "the sources were found");
    let wrong: Vec<String> = files.iter().flat_map(forbidden).collect();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn every_room_of_the_crate_has_its_place() {
    let declared: BTreeSet<String> = read("src/lib.rs")
        .lines()
        .filter_map(|line| Some(line.strip_prefix("pub mod ")?.strip_suffix(';')?.to_owned()))
        .collect();
    let placed: BTreeSet<String> = ROOMS.iter().map(|(room, _)| (*room).to_owned()).collect();
    assert_eq!(declared, placed);
}

#[test]
fn no_two_rooms_but_the_outermost_know_each_other() {
    let inner = ROOMS.iter().filter(|(_, allowed)| *allowed != EVERYTHING);
    for (room, allowed) in inner.clone() {
        for (other, back) in inner.clone().filter(|(other, _)| allowed.contains(other)) {
            assert!(!back.contains(room), "{room} and {other} know each other");
        }
    }
}

#[test]
fn no_file_is_longer_than_a_reader_can_hold() {
    let long: Vec<String> = ["src", "tests"]
        .iter()
        .flat_map(|folder| files_under(folder, "rs"))
        .map(|path| (read(&path).lines().count(), path))
        .filter(|(lines, _)| *lines > MOST_LINES)
        .map(|(lines, path)| format!("{path} has {lines} lines"))
        .collect();
    assert!(long.is_empty(), "split by meaning: {}", long.join(", "));
}

#[test]
fn a_forbidden_arrow_is_seen_however_it_is_written() {
    let wrong = |path: &str, code: &str| forbidden(&Source::of(path, code)).len();
    let inward = "use crate::{domain::{Answer, Turn}, store::Store}; fn f() { crate::tools::go() }";
    assert_eq!(wrong("src/agent/made_up.rs", inward), 0);

    assert_eq!(wrong("src/domain/made_up.rs", "use crate::store::Store;"), 1);
    assert_eq!(
        wrong("src/store/made_up.rs", "use crate::{\n    domain::Turn,\n    agent::{Engine, Turns},\n};"),
        1
    );
    assert_eq!(wrong("src/tools/made_up.rs", "fn f() { let x = crate::telegram::says::help(); }"), 1);
    assert_eq!(wrong("src/imaging/mod.rs", "use super::store::Store;"), 1);
    assert_eq!(wrong("src/imaging/ops/made_up.rs", "use super::super::super::store;"), 1);
    assert_eq!(
        wrong("src/imaging/ops/made_up.rs", "use super::super::store;"),
        0,
        "a module of imaging's own"
    );
    assert_eq!(wrong("src/imaging/ops/mod.rs", "use super::super::store::Store;"), 1);
    assert_eq!(wrong("src/web/made_up.rs", "use crate::telegram;"), 1, "interfaces do not know each other");
    assert_eq!(wrong("src/telegram/made_up.rs", "use sqlx::Row as _;"), 1);
    assert_eq!(wrong("src/agent/made_up.rs", "use {teloxide::Bot, std::fmt};"), 1);
    assert_eq!(wrong("src/tools/made_up.rs", "fn f() { image::load_from_memory(b\"\") }"), 1);
    assert_eq!(wrong("src/agent/made_up.rs", "fn f() { g().unwrap(); h().expect(\"so\"); }"), 2);
}

#[test]
fn words_in_comments_strings_and_tests_are_no_arrows() {
    let code = r##"
        //! See crate::agent, and sqlx::query.
        /* use crate::web; /* nested */ x.unwrap() */
        const TEXT: &str = "crate::telegram::x \" .unwrap()";
        const RAW: &str = r#"use crate::agent; "quoted" "#;
        fn first<'a>(of: &'a str) -> char { if of.is_empty() { '"' } else { '\'' } }
        #[cfg(test)]
        mod tests { use crate::agent::Engine; fn f() { { g().unwrap() } } }
    "##;
    let made_up = Source::of("src/domain/made_up.rs", code);
    assert_eq!(forbidden(&made_up), Vec::<String>::new());
    let after = format!("{code}\nuse crate::agent::Engine;");
    assert_eq!(
        forbidden(&Source::of("src/domain/made_up.rs", &after)).len(),
        1,
        "what follows is still read"
    );
    assert!(root().join("Cargo.toml").exists());
}
