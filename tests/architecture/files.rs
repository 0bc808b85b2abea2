//! Length, layout and wording of the source files.

use crate::source::{self, Source, files_under, read};
use std::collections::BTreeSet;

const MAX_LINES: usize = 500;

/// Comments name the person, the caller or the task, and the part of the program by its name.
const FORBIDDEN_WORDS: [&str; 8] =
    ["whoever", "whomever", "nobody", "somebody", "anybody", "darkroom", "negatives", "sitting"];

#[test]
fn no_file_is_longer_than_500_lines() {
    let folders = source::crate_roots().into_iter().chain(["tests".into(), "benches".into()]);
    let lines =
        folders.flat_map(|folder| files_under(&folder)).map(|path| (read(&path).lines().count(), path));
    let long: Vec<String> = lines
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, path)| format!("{path}: {lines}"))
        .collect();
    assert!(long.is_empty(), "split by meaning: {}", long.join(", "));
}

#[test]
fn a_module_with_children_is_written_as_mod_rs() {
    let folders = source::crate_roots().into_iter().chain(["tests".into(), "benches".into()]);
    let files: BTreeSet<String> = folders.flat_map(|folder| files_under(&folder)).collect();
    let has_children = |file: &&String| {
        let folder = format!("{}/", file.trim_end_matches(".rs"));
        files.range(folder.clone()..).next().is_some_and(|next| next.starts_with(&folder))
    };
    let found: Vec<&String> =
        files.iter().filter(|file| !source::is_test(file)).filter(has_children).collect();
    assert!(found.is_empty(), "move to mod.rs in the folder: {found:?}");
}

#[test]
fn shipped_code_neither_unwraps_nor_expects() {
    let files = source::crate_roots().into_iter().flat_map(|root| source::shipped(&root));
    let calls: Vec<String> = files
        .flat_map(|file| {
            file.panicking_calls.iter().map(|call| format!("{}: {call}", file.file)).collect::<Vec<_>>()
        })
        .collect();
    assert!(calls.is_empty(), "{calls:#?}");
}

#[test]
fn a_panicking_call_is_found_in_macros_too() {
    let code = "fn f() { g().unwrap(); vec![h().expect(\"so\")]; i().unwrap_or_default(); }";
    assert_eq!(Source::parse("src/agent/made_up.rs", code).panicking_calls, ["unwrap", "expect"]);
}

#[test]
fn comments_use_plain_words() {
    let folders = source::crate_roots().into_iter().chain(["tests".into(), "benches".into()]);
    let mut found = Vec::new();
    for path in folders.flat_map(|folder| files_under(&folder)) {
        for (number, line) in read(&path).lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            let mut words = comment.split(|c: char| !c.is_alphabetic()).map(str::to_lowercase);
            if words.any(|word| FORBIDDEN_WORDS.contains(&word.as_str())) {
                found.push(format!("{path}:{}: {}", number + 1, comment.trim()));
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn the_weights_of_the_models_have_the_listed_hashes() {
    use sha2::{Digest as _, Sha256};
    let folder = source::root().join("assets/models");
    let sums = read("assets/models/SHA256SUMS");
    let mut listed = BTreeSet::new();
    for line in sums.lines() {
        let (hash, name) = line.split_once("  ").unwrap();
        let found = Sha256::digest(std::fs::read(folder.join(name)).unwrap());
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, hash, "{name}");
        listed.insert(name.to_owned());
    }
    let models = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let models = models.map(|entry| entry.file_name().into_string().unwrap());
    let models: BTreeSet<String> =
        models.filter(|name| name.ends_with(".onnx") || name.ends_with("dict.txt")).collect();
    assert_eq!(models, listed);
}
