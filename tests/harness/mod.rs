//! Stand-ins for the services that the program talks to: Telegram's Bot API with people in it ([`World`]) and the model
//! vendors' APIs ([`ScriptedModel`]), served over HTTP. docs/testing.md explains how to use them.
//!
//! A test reads like a conversation:
//! ```ignore
//! let world = World::start().await;
//! let ann = world.private_chat(user(1001, "Ann"));
//! let photo = ann.sends_photo(jpeg(640, 480), "look").await;
//! ann.replies(&photo, "rotate left").await;
//! let answer = ann.next_message().await;
//! ```
//! Every wait ends when its event happens, or fails after [`WAIT_TIMEOUT`] with the recorded calls.

#![allow(dead_code, unused_imports)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod api;
mod bot;
mod browser;
mod faults;
mod files;
mod gate;
mod groups;
mod image_service;
mod installed;
mod markup;
mod messages;
mod methods;
mod model;
mod panics;
mod people;
mod pictures;
pub mod postgres;
mod program;
mod quotes;
mod received;
pub mod rules;
mod server;
mod signs;
mod state;
mod text;
mod topics;
mod uploads;
mod world;

pub use bot::{BotUnderTest, Settings, Streaming, key_of, newest_session};
pub use browser::{Browser, Tab};
pub use faults::RateLimits;
pub use gate::Gate;
pub use image_service::{GENERATED_COLOR, ImageService, ImageServiceAnswer, ImageServiceRequest};
pub use installed::installed;
pub use model::{
    Answer, Said, ScriptedModel,
    reading::{self, attachment_ids},
    whole_answer,
};
pub use people::{FileKind, Group, MessageRef, Person, User, user};
pub use pictures::{jpeg, jpeg_of, png};
pub use program::Program;
pub use quotes::Origin;
pub use received::{Button, Call, Received};
pub use server::Server;
pub use world::World;

/// Limit of every wait for an event. Long, because machines may be slow.
pub const WAIT_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(20);
