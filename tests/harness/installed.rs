//! The folder in which `make setup` installs the tools that some tests use.

use std::path::PathBuf;

/// The folder of one tool. The test that uses it reports if it is missing.
pub fn installed(name: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(".cache");
    cache.unwrap_or_else(home).join("photothread-tools").join(name)
}
