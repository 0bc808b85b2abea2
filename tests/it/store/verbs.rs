//! A verb without a test fails here: every line of the store's table must be called somewhere in this suite.

use std::{fs, path::Path};

#[test]
fn every_verb_of_the_store_is_in_this_suite() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = fs::read_to_string(root.join("src/store/mod.rs")).unwrap();
    let (_, table) = table.split_once("\nverbs! {").expect("the table of verbs");
    let verbs: Vec<&str> = table
        .lines()
        .filter_map(|line| line.trim().strip_prefix("read ").or_else(|| line.trim().strip_prefix("write ")))
        .map(|line| line.split_once('(').expect("a verb has arguments").0)
        .collect();
    assert!(verbs.len() > 40, "the table was not understood: {verbs:?}");

    let suite: String = fs::read_dir(root.join("tests/it/store"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let untested: Vec<_> = verbs.into_iter().filter(|verb| !suite.contains(&format!(".{verb}("))).collect();
    assert!(untested.is_empty(), "these verbs are never called on both databases: {untested:?}");
}
