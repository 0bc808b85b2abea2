//! The one integration-test binary: a list of what is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// The Telegram world, the scripted model and the databases that all tests share.
#[path = "../harness/mod.rs"]
mod harness;

// Photos, replies and albums, as a new user would try them.
mod conversations;
// The scripted model is as strict as OpenAI.
mod model;
<<<<<<< HEAD
// The store keeps its promises on both databases.
mod store;
// The world itself is as strict as Telegram.
mod world;
=======
// The world itself is as strict as Telegram.
mod world;
// The store keeps its promises on both databases.
mod store;
// Photos, replies and albums, as a new user would try them.
mod conversations;
>>>>>>> 5e2077225d19e9f861d0c43c8b2b050d06704482
