//! Every integration test, in one binary.

#[path = "../harness/mod.rs"]
mod harness;
mod store;
