//! Photothread: send a photo, reply to edit it.
//!
//! The modules in the order in which an update passes through them:
//! `telegram` (or `web`) → `access` → `attachments` → `store` → `context` → `agent` ⇄ `providers`, `tools` → `store` →
//! `telegram` (or `web`). Dependencies point inwards; `tests/architecture` checks it, and docs/architecture.md explains it.

#[macro_use]
pub mod domain;

pub mod access;
pub mod agent;
pub mod app;
pub mod attachments;
pub mod cli;
pub mod config;
pub mod context;
pub mod private_files;
pub mod prompts;
pub mod providers;
pub mod rendering;
pub mod retry;
pub mod store;
pub mod telegram;
pub mod telemetry;
pub mod tools;
pub mod transfer;
pub mod web;
