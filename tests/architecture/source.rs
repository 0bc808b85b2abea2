//! Rust source as the architecture tests see it: parsed by `syn`, without comments, strings and `#[cfg(test)]` items.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::path::PathBuf;
use syn::visit::{self, Visit};

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Rust files below a folder, as sorted paths from the repository's root.
pub fn files_under(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path.strip_prefix(root()).unwrap().to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}

/// `src` and the `src` folder of every workspace crate.
pub fn crate_roots() -> Vec<String> {
    let mut roots = vec!["src".to_owned()];
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        roots.push(format!("crates/{}/src", entry.unwrap().file_name().to_string_lossy()));
    }
    roots.sort();
    roots
}

pub fn is_test(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

/// The shipped files of a crate: everything but its tests.
pub fn shipped(crate_root: &str) -> Vec<Source> {
    let files = files_under(crate_root).into_iter().filter(|path| !is_test(path));
    files.map(|path| Source::parse(&path, &read(&path))).collect()
}

/// One file: its place in the module tree, the paths it names and the panicking calls it makes.
pub struct Source {
    pub file: String,
    /// The module's path below the crate's root, such as `["store", "queries"]`; empty for `lib.rs`.
    pub module: Vec<String>,
    paths: Vec<NamedPath>,
    /// `unwrap` and `expect` calls.
    pub panicking_calls: Vec<String>,
}

struct NamedPath {
    segments: Vec<String>,
    /// The module that names it: the file's, or an inline module inside it.
    from: Vec<String>,
}

impl Source {
    pub fn parse(file: &str, text: &str) -> Self {
        let (_, below_root) = file.split_once("src/").unwrap_or_else(|| panic!("{file} is not below src"));
        let below_root = below_root.trim_end_matches(".rs");
        let mut module: Vec<String> = below_root.split('/').map(str::to_owned).collect();
        if matches!(module.last().map(String::as_str), Some("mod" | "lib")) {
            module.pop();
        }
        let parsed = syn::parse_file(text).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut visitor = Visitor { module: module.clone(), paths: Vec::new(), panicking_calls: Vec::new() };
        visitor.visit_file(&parsed);
        let Visitor { paths, panicking_calls, .. } = visitor;
        Self { file: file.to_owned(), module, paths, panicking_calls }
    }

    /// The first part of the module's path: `store`, `main`.
    pub fn top(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }

    /// Every path of this crate that the file names, from the crate's root: `["store", "Store"]`.
    pub fn own_paths(&self) -> Vec<Vec<String>> {
        self.paths.iter().filter_map(NamedPath::in_crate).collect()
    }

    /// Is this other crate named, by an import or by a path?
    pub fn names_crate(&self, name: &str) -> bool {
        self.paths.iter().any(|path| path.segments.len() > 1 && path.segments[0] == name)
    }
}

impl NamedPath {
    /// Resolves `crate`, `self` and `super`; nothing for paths that start otherwise.
    fn in_crate(&self) -> Option<Vec<String>> {
        let mut base = self.from.clone();
        let mut rest = self.segments.as_slice();
        match rest.first()?.as_str() {
            "crate" => {
                base.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {}
            _ => return None,
        }
        while let Some((first, others)) = rest.split_first()
            && first == "super"
        {
            base.pop();
            rest = others;
        }
        base.extend(rest.iter().cloned());
        Some(base)
    }
}

struct Visitor {
    module: Vec<String>,
    paths: Vec<NamedPath>,
    panicking_calls: Vec<String>,
}

impl Visitor {
    fn add(&mut self, segments: Vec<String>) {
        self.paths.push(NamedPath { segments, from: self.module.clone() });
    }

    fn add_use_tree(&mut self, before: &[String], tree: &syn::UseTree) {
        let with = |name: String| [before, &[name]].concat();
        match tree {
            syn::UseTree::Path(path) => self.add_use_tree(&with(path.ident.to_string()), &path.tree),
            syn::UseTree::Group(group) => group.items.iter().for_each(|item| self.add_use_tree(before, item)),
            // A second segment, so that `use sqlx;` counts as naming the crate.
            syn::UseTree::Name(name) => self.add(with_self(with(name.ident.to_string()))),
            syn::UseTree::Rename(rename) => self.add(with_self(with(rename.ident.to_string()))),
            syn::UseTree::Glob(_) => self.add(with("*".into())),
        }
    }

    /// Macro arguments are not parsed: paths and calls are read off their tokens.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Ident(ident) => {
                    let called = at > 0 && is_punct(&tokens[at - 1], '.');
                    if called && is_panicking(&ident.to_string()) {
                        self.panicking_calls.push(ident.to_string());
                    }
                    at = self.add_token_path(&tokens, at, Vec::new());
                }
                TokenTree::Group(group) => {
                    self.add_tokens(group.stream());
                    at += 1;
                }
                _ => at += 1,
            }
        }
    }

    /// Reads `a::b::{c, d::e}` from `at` and returns where it ends.
    fn add_token_path(&mut self, tokens: &[TokenTree], mut at: usize, mut path: Vec<String>) -> usize {
        while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
            path.push(ident.to_string());
            at += 1;
            let separated = tokens.get(at..at + 2).is_some_and(|two| two.iter().all(|t| is_punct(t, ':')));
            if !separated {
                break;
            }
            at += 2;
            if let Some(TokenTree::Group(group)) = tokens.get(at)
                && group.delimiter() == Delimiter::Brace
            {
                let inside: Vec<TokenTree> = group.stream().into_iter().collect();
                for branch in inside.split(|token| is_punct(token, ',')).filter(|branch| !branch.is_empty()) {
                    self.add_token_path(branch, 0, path.clone());
                }
                return at + 1;
            }
        }
        self.add(path);
        at
    }
}

fn with_self(mut path: Vec<String>) -> Vec<String> {
    if path.len() == 1 {
        path.push("self".into());
    }
    path
}

fn is_punct(token: &TokenTree, symbol: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == symbol)
}

fn is_panicking(method: &str) -> bool {
    matches!(method, "unwrap" | "expect")
}

fn is_only_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let syn::Meta::List(list) = &attribute.meta else { return false };
        list.path.is_ident("cfg") && list.tokens.to_string() == "test"
    })
}

fn attributes_of(item: &syn::Item) -> &[syn::Attribute] {
    use syn::Item;
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

impl<'ast> Visit<'ast> for Visitor {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !is_only_for_tests(attributes_of(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_only_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.module.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.add_use_tree(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let method = call.method.to_string();
        if is_panicking(&method) {
            self.panicking_calls.push(method);
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if let syn::Meta::List(list) = &attribute.meta {
            self.add_tokens(list.tokens.clone());
        }
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        self.visit_path(&call.path);
        self.add_tokens(call.tokens.clone());
    }
}
