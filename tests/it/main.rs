//! The one integration-test binary: a list of what is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// The Telegram world and the scripted model that all tests share.
#[path = "../harness/mod.rs"]
mod harness;

// The scripted model is as strict as OpenAI.
mod model;
// The store keeps its promises on SQLite and on PostgreSQL alike.
mod store;
// The world itself is as strict as Telegram.
mod world;
