//! Where `make setup` keeps the tools that some tests use.

use std::path::PathBuf;

/// The folder of one of them; a test that needs it must say so when something is missing.
pub fn installed(name: &str) -> PathBuf {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = || PathBuf::from(std::env::var_os("HOME").expect("HOME")).join(".cache");
    cache.unwrap_or_else(home).join("photothread-tools").join(name)
}
