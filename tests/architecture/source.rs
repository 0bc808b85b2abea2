//! Rust source as the architecture tests read it: without comments, strings and tests. No parser, just enough of one.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Paths from the repository's root, in order.
pub fn files_under(folder: &str, extension: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|ending| ending == extension) {
                found.push(path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

pub fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

pub struct Source {
    pub path: String,
    /// The first part of the path in `src`: `store`, `main`.
    pub room: String,
    /// How far below the crate's root this module is.
    depth: usize,
    pub code: String,
}

impl Source {
    pub fn open(path: String) -> Self {
        Self::of(&path, &read(&path))
    }

    pub fn of(path: &str, text: &str) -> Self {
        let module = path.trim_start_matches("src/").trim_end_matches(".rs").trim_end_matches("/mod");
        Self {
            path: path.to_owned(),
            room: module.split('/').next().unwrap_or_default().to_owned(),
            depth: Path::new(module).components().count(),
            code: without_tests(&without_words(text)),
        }
    }

    /// The rooms this file names, by `crate::` or by enough `super::`.
    pub fn rooms_named(&self, rooms: &BTreeSet<&str>) -> BTreeSet<String> {
        let out_of_here = "super::".repeat(self.depth);
        let starts = |prefix: &str| {
            let ends = self.code.match_indices(prefix).filter(|(at, _)| !self.code[..*at].ends_with(is_path));
            ends.map(|(at, _)| at + prefix.len()).collect::<Vec<_>>()
        };
        let mut named: BTreeSet<String> = BTreeSet::new();
        for at in starts("crate::").into_iter().chain(starts(&out_of_here)) {
            named.extend(heads(&self.code[at..]));
        }
        named.retain(|name| rooms.contains(name.as_str()));
        named
    }
}

fn is_path(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == ':'
}

/// The first name of a path, or of each path in braces.
fn heads(code: &str) -> Vec<String> {
    let name = |text: &str| text.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(inside) = code.strip_prefix('{') else {
        return vec![name(code)];
    };
    let mut depth = 0;
    let mut names = vec![name(inside.trim_start())];
    for (at, c) in inside.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(name(inside[at + 1..].trim_start())),
            _ => {}
        }
    }
    names
}

/// Is a path of this crate written anywhere, or the crate itself brought in?
pub fn uses_crate(code: &str, package: &str) -> bool {
    code.match_indices(package).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + package.len()..]);
        !before.ends_with(is_path)
            && (after.starts_with("::") || (before.trim_end().ends_with("use") && after.starts_with(';')))
    })
}

/// Comments and the insides of strings become nothing; what is left is code.
fn without_words(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            block_comment(rest)
        } else if let Some(length) = raw_string(rest).filter(|_| !code.ends_with(is_path)) {
            length
        } else if c == '"' {
            quoted(rest, '"')
        } else if c == '\'' && is_character(rest) {
            quoted(rest, '\'')
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        rest = &rest[skipped..];
    }
    code
}

fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let here = &text[at..];
        if here.starts_with("/*") {
            depth += 1;
            at += 2;
        } else if here.starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                break;
            }
        } else {
            at += here.chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

fn raw_string(text: &str) -> Option<usize> {
    let after = text.strip_prefix("br").or_else(|| text.strip_prefix('r'))?;
    let hashes = after.len() - after.trim_start_matches('#').len();
    after[hashes..].strip_prefix('"')?;
    let opened = text.len() - after.len() + hashes + 1;
    let close = format!("\"{}", "#".repeat(hashes));
    Some(text[opened..].find(&close).map_or(text.len(), |at| opened + at + close.len()))
}

fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `'a'` and `'\n'`, but not the lifetime `'a`.
fn is_character(text: &str) -> bool {
    let mut after = text.chars().skip(1);
    match after.next() {
        Some('\\') => true,
        Some(_) => after.next() == Some('\''),
        None => false,
    }
}

/// Without `#[cfg(test)] mod … { … }`.
fn without_tests(code: &str) -> String {
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(test)]") {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let (brace, semicolon) = (rest.find('{'), rest.find(';'));
        let mut depth = 0;
        let end = match (brace, semicolon) {
            (Some(brace), end) if end.is_none_or(|end| brace < end) => {
                let closed = rest.char_indices().skip_while(|(at, _)| *at < brace).find(|(_, c)| {
                    depth += i32::from(*c == '{') - i32::from(*c == '}');
                    depth == 0
                });
                closed.map_or(rest.len(), |(at, _)| at + 1)
            }
            (_, Some(end)) => end + 1,
            (_, None) => rest.len(),
        };
        rest = &rest[end..];
    }
    kept.push_str(rest);
    kept
}
