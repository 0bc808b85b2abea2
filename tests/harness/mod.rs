//! The world our tests live in: Telegram's Bot API with people in it ([`World`]) and a model that says what it
//! is told ([`ScriptedModel`]), both served over HTTP on this machine. No test of the bot lives here.
//!
//! A test reads like a conversation:
//! ```ignore
//! let world = World::start().await;
//! let ann = world.private_chat(user(1001, "Ann"));
//! let photo = ann.sends_photo(jpeg(640, 480), "look").await;
//! ann.replies(&photo, "rotate left").await;
//! let answer = ann.next_message().await;
//! ```
//! Every wait ends when the thing happens, or after [`PATIENCE`] with a story of what the world saw.

#![allow(dead_code, unused_imports)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod bot;
mod browser;
mod faults;
mod files;
mod gate;
mod installed;
mod markup;
mod messages;
mod methods;
mod model;
mod painter;
mod panics;
mod people;
mod pictures;
pub mod postgres;
mod program;
mod received;
pub mod rules;
mod server;
mod state;
mod text;
mod uploads;
mod world;

pub use bot::{BotUnderTest, Settings, Speech, key_of};
pub use browser::{Browser, Tab};
pub use faults::RateLimits;
pub use gate::Gate;
pub use installed::installed;
pub use model::{
    Answer, Said, ScriptedModel,
    reading::{self, attachment_ids},
    whole_answer,
};
pub use painter::{Canvas, Commission, PAINT, PaintingService};
pub use people::{FileKind, Group, MessageRef, Person, User, user};
pub use pictures::{jpeg, jpeg_of, png};
pub use program::Program;
pub use received::{Button, Call, Received};
pub use server::Server;
pub use world::World;

/// How long a test waits for something that should happen at once: generous, for slow machines.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(20);
