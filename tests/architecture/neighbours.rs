//! Modules of the same folder import each other in one direction only, in every folder of every crate.

use crate::source::{self, Source};
use std::collections::BTreeSet;

/// One module of a folder uses another one: (folder, user, used).
type Edge = (Vec<String>, String, String);

fn edges(files: &[Source]) -> BTreeSet<Edge> {
    let modules: BTreeSet<&[String]> = files.iter().map(|file| file.module.as_slice()).collect();
    let mut edges = BTreeSet::new();
    for file in files {
        for path in file.own_paths() {
            let depths = (0..=path.len()).rev();
            let used = depths.map(|depth| &path[..depth]).find(|module| modules.contains(module));
            let used = used.unwrap_or(&[]);
            let shared = file.module.iter().zip(used).take_while(|(one, other)| one == other).count();
            // A parent and its child are not neighbours.
            if let (Some(user), Some(used)) = (file.module.get(shared), used.get(shared)) {
                edges.insert((file.module[..shared].to_vec(), user.clone(), used.clone()));
            }
        }
    }
    edges
}

/// Pairs that import each other, as `folder: one, other`.
fn cycles(root: &str, files: &[Source]) -> BTreeSet<String> {
    let edges = edges(files);
    let both = edges.iter().filter(|(folder, one, other)| {
        one < other && edges.contains(&(folder.clone(), other.clone(), one.clone()))
    });
    let describe = |(folder, one, other): &Edge| {
        let folder = [&[root.to_owned()], folder.as_slice()].concat().join("/");
        format!("{folder}: {one}, {other}")
    };
    both.map(describe).collect()
}

#[test]
fn neighbouring_modules_import_each_other_in_one_direction() {
    let roots = source::crate_roots();
    let found: Vec<String> = roots.iter().flat_map(|root| cycles(root, &source::shipped(root))).collect();
    assert!(found.is_empty(), "these import each other; move what both need into a third module: {found:#?}");
}

#[test]
fn a_cycle_is_found_however_it_is_written() {
    let pair = |one: &str, other: &str| {
        let files = [
            Source::parse("src/web/mod.rs", "mod api; mod page;"),
            Source::parse("src/web/api/mod.rs", "mod inner;"),
            Source::parse("src/web/api/inner.rs", one),
            Source::parse("src/web/page.rs", other),
        ];
        cycles("src", &files).into_iter().collect::<Vec<_>>()
    };
    let expected = ["src/web: api, page"];
    assert_eq!(pair("use super::super::page::Page;", "use super::api::Api;"), expected);
    assert_eq!(pair("use crate::web::{page, Site};", "fn f() { super::api::inner::go() }"), expected);
    assert_eq!(pair("fn f() { vec![crate::web::page::go()] }", "type A = super::api::Api;"), expected);
    assert!(pair("use crate::web::page::Page;", "").is_empty(), "one direction is fine");
    let in_a_test = "#[cfg(test)] mod tests { use super::super::api::Api; }";
    assert!(pair("use crate::web::page::Page;", in_a_test).is_empty());
}
