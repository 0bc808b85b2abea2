//! Every verb of the store has a test on both databases and a caller in the program.

use std::{
    fs,
    path::{Path, PathBuf},
};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The names in the table of `src/store/mod.rs`.
fn verbs() -> Vec<String> {
    let table = fs::read_to_string(root().join("src/store/mod.rs")).unwrap();
    let (_, table) = table.split_once("\nverbs! {").expect("the table of verbs");
    let lines = table.lines().map(str::trim);
    let verbs: Vec<String> = lines
        .filter_map(|line| {
            let kinds = ["read ", "write ", "add_files ", "erase ", "rewrite "];
            kinds.iter().find_map(|kind| line.strip_prefix(kind))
        })
        .map(|line| line.split_once('(').expect("a verb has arguments").0.to_owned())
        .collect();
    assert!(verbs.len() > 40, "the table was not parsed: {verbs:?}");
    verbs
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let (folders, files): (Vec<_>, Vec<_>) = entries.partition(|path| path.is_dir());
    let files = files.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    files.chain(folders.iter().flat_map(|folder| rust_files(folder))).collect()
}

/// The code of the program without the store and without unit tests, and without white space.
fn program() -> String {
    let is_test = |path: &Path| {
        path.file_name().is_some_and(|name| name == "tests.rs")
            || path.components().any(|part| part.as_os_str() == "tests")
    };
    let source = root().join("src");
    let files = rust_files(&source);
    let shipped = files.iter().map(|path| path.strip_prefix(&source).unwrap());
    let shipped = shipped.filter(|path| !path.starts_with("store") && !is_test(path));
    let code = shipped.map(|path| {
        let text = fs::read_to_string(source.join(path)).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default().to_owned();
        code.split_whitespace().collect::<String>()
    });
    code.collect()
}

#[test]
fn every_verb_is_called_in_the_tests_of_both_databases() {
    let suite: String = rust_files(&root().join("tests/it/store"))
        .iter()
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let untested: Vec<_> = verbs().into_iter().filter(|verb| !suite.contains(&format!(".{verb}("))).collect();
    assert!(untested.is_empty(), "these verbs have no test: {untested:?}");
}

#[test]
fn every_verb_is_called_by_the_program() {
    let program = program();
    let is_called = |verb: &String| program.contains(&format!("store.{verb}("));
    let unused: Vec<_> = verbs().into_iter().filter(|verb| !is_called(verb)).collect();
    assert!(unused.is_empty(), "only tests call these verbs: {unused:?}");
}
