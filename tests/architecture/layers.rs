//! Which top-level module may use which, and which crates belong to which modules.

use crate::source::{self, Source, read};
use std::collections::BTreeSet;

/// Every top-level module and the modules it may use.
const MODULES: &[(&str, &[&str])] = &[
    ("domain", &[]),
    ("telemetry", &[]),
    ("store", &["domain"]),
    ("retry", &["store", "domain"]),
    ("access", &["retry", "store", "domain"]),
    ("attachments", &["access", "retry", "store", "domain"]),
    ("providers", &["retry", "domain"]),
    ("prompts", &["domain"]),
    ("config", &["prompts", "providers", "domain"]),
    ("rendering", &["attachments", "access", "retry", "store", "domain"]),
    ("tools", TOOLS),
    ("context", &["rendering", "providers", "prompts", "attachments", "access", "retry", "store", "domain"]),
    ("agent", AGENT),
    ("transfer", &["rendering", "attachments", "access", "retry", "store", "domain"]),
    ("telegram", INTERFACE),
    ("web", INTERFACE),
    ("private_files", &["config"]),
    ("app", EVERYTHING),
    ("cli", EVERYTHING),
];

const TOOLS: &[&str] = &["rendering", "providers", "attachments", "access", "retry", "store", "domain"];

const AGENT: &[&str] = &[
    "context",
    "tools",
    "rendering",
    "providers",
    "prompts",
    "attachments",
    "access",
    "retry",
    "store",
    "domain",
];

/// An interface uses the agent and the modules behind it, but no other interface.
const INTERFACE: &[&str] = &[
    "agent",
    "transfer",
    "context",
    "tools",
    "rendering",
    "config",
    "providers",
    "prompts",
    "attachments",
    "access",
    "retry",
    "store",
    "domain",
];

/// For the modules that wire the others together.
const EVERYTHING: &[&str] = &["*"];

/// Crates that only some modules may use, so that replacing one changes those modules alone. The image codecs need no
/// row: only crates/imaging depends on them.
const CRATES: &[(&str, &[&str])] = &[
    ("imaging", &["agent", "app", "attachments", "providers", "rendering", "tools"]),
    ("vision", &["app", "providers", "rendering", "tools"]),
    ("teloxide", &["telegram"]),
    ("pulldown_cmark", &["telegram", "web"]),
    ("sqlx", &["store"]),
    ("axum", &["web"]),
    ("askama", &["web"]),
    ("zip", &["transfer"]),
    ("utoipa", &["transfer", "web"]),
    ("object_store", &["attachments"]),
    ("reqwest", &["providers", "telegram"]),
    ("minijinja", &["prompts"]),
    ("backon", &["retry", "telegram", "agent"]),
    ("clap", &["cli", "main"]),
    ("anyhow", &["app", "cli", "main"]),
];

fn allowed_for(module: &str) -> Option<&'static [&'static str]> {
    MODULES.iter().find(|(name, _)| *name == module).map(|(_, allowed)| *allowed)
}

/// The modules and crates that a file uses but may not, one line each.
fn violations(file: &Source) -> Vec<String> {
    let module = file.top();
    let mut found = BTreeSet::new();
    if let Some(allowed) = allowed_for(module) {
        for path in file.own_paths() {
            let Some(other) = path.first().filter(|other| allowed_for(other).is_some()) else { continue };
            let fine = other == module || allowed == EVERYTHING || allowed.contains(&other.as_str());
            if !fine {
                found.insert(format!("{}: {module} may not use {other}", file.file));
            }
        }
    }
    for (name, homes) in CRATES {
        if file.names_crate(name) && !homes.contains(&module) {
            found.insert(format!("{}: only {} may use the crate {name}", file.file, homes.join(", ")));
        }
    }
    found.into_iter().collect()
}

#[test]
fn dependencies_point_inwards_and_crates_stay_in_their_modules() {
    let files = source::shipped("src");
    assert!(files.len() > 80, "the sources were found");
    let found: Vec<String> = files.iter().flat_map(violations).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_table_has_a_row_for_every_module_of_the_crate() {
    let lib = read("src/lib.rs");
    let declared = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    let declared: BTreeSet<&str> = declared.collect();
    let rows: BTreeSet<&str> = MODULES.iter().map(|(module, _)| *module).collect();
    assert_eq!(declared, rows, "MODULES in tests/architecture/layers.rs lists what each module may use");
}

#[test]
fn the_table_allows_no_cycle_between_two_modules() {
    let inner = MODULES.iter().filter(|(_, allowed)| *allowed != EVERYTHING);
    for (module, allowed) in inner.clone() {
        for (other, back) in inner.clone().filter(|(other, _)| allowed.contains(other)) {
            assert!(!back.contains(module), "{module} and {other} may use each other");
        }
    }
}

#[test]
fn a_forbidden_import_is_found_however_it_is_written() {
    let count = |path: &str, code: &str| violations(&Source::parse(path, code)).len();
    let inward = "use crate::{domain::{Answer, Turn}, store::Store}; fn f() { crate::tools::go() }";
    assert_eq!(count("src/agent/made_up.rs", inward), 0);

    assert_eq!(count("src/domain/made_up.rs", "use crate::store::Store;"), 1);
    let grouped = "use crate::{\n    domain::Turn,\n    agent::{Engine, Turns},\n};";
    assert_eq!(count("src/store/made_up.rs", grouped), 1);
    assert_eq!(count("src/tools/made_up.rs", "fn f() { let x = crate::telegram::messages::help(); }"), 1);
    assert_eq!(count("src/tools/made_up.rs", "fn f(x: &dyn Fn(crate::web::Site)) {}"), 1);
    assert_eq!(count("src/domain/mod.rs", "use super::store::Store;"), 1);
    assert_eq!(count("src/domain/ids/made_up.rs", "use super::super::super::store;"), 1);
    let its_own = "use super::super::store;";
    assert_eq!(count("src/domain/ids/made_up.rs", its_own), 0, "a module inside domain");
    assert_eq!(count("src/domain/ids/mod.rs", "use super::super::store::Store;"), 1);
    assert_eq!(count("src/domain/made_up.rs", "mod inner { use super::super::super::store::Store; }"), 1);
    assert_eq!(count("src/web/made_up.rs", "use crate::telegram;"), 1, "interfaces do not use each other");
    assert_eq!(count("src/telegram/made_up.rs", "use sqlx::Row as _;"), 1);
    assert_eq!(count("src/telegram/made_up.rs", "use sqlx;"), 1);
    assert_eq!(count("src/telegram/made_up.rs", "#[derive(sqlx::FromRow)] struct Row;"), 1);
    assert_eq!(count("src/agent/made_up.rs", "use {teloxide::Bot, std::fmt};"), 1);
    assert_eq!(count("src/store/made_up.rs", "fn f() { imaging::probe(b\"\") }"), 1);
    assert_eq!(count("src/domain/made_up.rs", "fn f() { vec![crate::web::Site::new()] }"), 1);
    let in_a_macro = "macro_rules! m { () => { use crate::{domain::Turn, store::{Store, Detail}}; } }";
    assert_eq!(count("src/domain/made_up.rs", in_a_macro), 1);
}

#[test]
fn comments_strings_and_tests_are_not_imports() {
    let code = r##"
        //! See crate::agent, and sqlx::query.
        /* use crate::web; /* nested */ x.unwrap() */
        const TEXT: &str = "crate::telegram::x \" .unwrap()";
        const RAW: &str = r#"use crate::agent; "quoted" "#;
        fn first<'a>(of: &'a str) -> char { if of.is_empty() { '"' } else { '\'' } }
        #[cfg(test)]
        mod tests { use crate::agent::Engine; fn f() { { g().unwrap() } } }
        #[cfg(test)]
        use crate::web::Site;
    "##;
    let file = Source::parse("src/domain/made_up.rs", code);
    assert_eq!(violations(&file), Vec::<String>::new());
    assert_eq!(file.panicking_calls, Vec::<String>::new());
    let code = format!("{code}\nuse crate::agent::Engine;");
    let file = Source::parse("src/domain/made_up.rs", &code);
    assert_eq!(violations(&file).len(), 1, "code after a test module is still read");
}
