//! Rules about the source itself: dependencies between modules point inwards, neighbours import each other in one
//! direction, some crates are used in one module only, and files stay short. docs/architecture.md explains the modules.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod files;
mod layers;
mod neighbours;
mod source;
