//! The documents name only files that exist, and the README lists every setting with its default.

use serde_yaml::{Mapping, Value};
use std::{collections::BTreeMap, path::PathBuf};

const DOCUMENTS: [&str; 4] = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Every key of config.yaml with its value, as `telegram.batch.quiet_ms`.
fn settings() -> BTreeMap<String, String> {
    fn collect(prefix: &str, section: &Mapping, into: &mut BTreeMap<String, String>) {
        for (name, value) in section {
            let key = format!("{prefix}{}", name.as_str().unwrap());
            match value {
                // The README describes this list in words.
                _ if key == "prices" => {}
                Value::Mapping(empty) if empty.is_empty() => {
                    into.insert(key, "{}".into());
                }
                Value::Mapping(inner) => collect(&format!("{key}."), inner, into),
                Value::Sequence(empty) if empty.is_empty() => {
                    into.insert(key, "[]".into());
                }
                other => {
                    into.insert(
                        key,
                        serde_yaml::to_string(other).unwrap().trim().trim_matches('\'').to_owned(),
                    );
                }
            }
        }
    }
    let mut found = BTreeMap::new();
    collect("", &serde_yaml::from_str(&read("config.yaml")).unwrap(), &mut found);
    found
}

/// The rows of the README's table of settings: key and default.
fn documented() -> BTreeMap<String, String> {
    let cell = |text: &str| text.trim().strip_prefix('`')?.strip_suffix('`').map(str::to_owned);
    let readme = read("README.md");
    let section = readme.split("\n## ").find(|section| section.starts_with("Configuration")).unwrap();
    let rows = section.lines().filter_map(|line| {
        let mut cells = line.strip_prefix('|')?.split('|');
        Some((cell(cells.next()?)?, cell(cells.next()?)?))
    });
    rows.collect()
}

#[test]
fn the_readme_lists_every_setting_with_its_default() {
    assert!(settings().len() > 25);
    assert_eq!(documented(), settings());
    assert!(read("README.md").contains("`prices`"));
}

#[test]
fn every_file_named_in_a_document_exists() {
    let mut missing = Vec::new();
    for document in DOCUMENTS {
        let text = read(document);
        let folder = root().join(document).parent().unwrap().to_owned();
        let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let images = text.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let linked = links.chain(images).filter(|to| !to.contains("://") && !to.starts_with('#'));
        missing.extend(
            linked.filter(|to| !folder.join(to.split('#').next().unwrap()).exists()).map(str::to_owned),
        );

        let quoted = text.split('`').skip(1).step_by(2);
        let paths = quoted.filter(|words| {
            let at_home = ["src/", "tests/", "migrations/", "scripts/", "docs/"];
            at_home.iter().any(|home| words.starts_with(home)) && !words.contains([' ', '{', '*', '…'])
        });
        missing.extend(paths.filter(|path| !root().join(path).exists()).map(str::to_owned));
    }
    assert!(missing.is_empty(), "not there: {}", missing.join(", "));
}

#[test]
fn every_dependency_has_a_reason() {
    let cargo = read("Cargo.toml");
    let reasons = read("docs/architecture.md");
    let mut section = "";
    for line in cargo.lines() {
        if line.starts_with('[') {
            section = line;
        }
        let name = line.split([' ', '=']).next().unwrap_or_default();
        if section.ends_with("dependencies]") && !name.is_empty() && !name.starts_with(['[', '#']) {
            assert!(
                reasons.contains(&format!("`{name}`")),
                "docs/architecture.md does not say why there is {name}"
            );
        }
    }
}
