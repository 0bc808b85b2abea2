//! The integration tests: one binary, so that they link once and share the harness.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// Stand-ins for Telegram and the model vendors, and the program under test. docs/testing.md explains them.
#[path = "../harness/mod.rs"]
mod harness;

// Logins, tokens and isolation between people over HTTP.
mod access;
// What the model is sent, the tool loop, budgets, fallbacks, streaming.
mod agent;
// References and tags, import and export.
mod annotations;
// The history API.
mod api;
// The page in Chromium.
mod browser;
// Connections to the page: limits, time-outs, compression.
mod connections;
// Telegram conversations with the offline agent: photos, replies, albums, groups.
mod conversations;
// Files, settings and dependencies named in the documents exist.
mod documents;
// Kills, outages and lost answers: nothing is lost or repeated.
mod durability;
// Mutated archives. Pictures, updates and vendor streams are fuzzed in unit tests.
mod fuzz;
// The page over HTTP, without a browser.
mod page;
// Files can be read by the program's user alone.
#[cfg(unix)]
mod private_files;
// Requests whose client hangs up.
mod interrupted;
// Limits of imports.
mod imports;
// Memory of the running program under large uploads and slow readers.
#[cfg(target_os = "linux")]
mod memory;
// No HTTP client follows a redirect.
mod redirects;
// schemathesis checks the API against its OpenAPI document.
mod schema;
// The scripted model behaves like the vendors' APIs.
mod scripted_model;
// Limits on stored files, old files, and files without a row.
mod storage;
// The store's promises, on SQLite and on PostgreSQL.
mod store;
// The Telegram world behaves like Telegram.
mod telegram_world;
// The vendors' request rules, as the harness checks them.
mod vendor_rules;
// The same conversations with every vendor's API.
mod vendors;
