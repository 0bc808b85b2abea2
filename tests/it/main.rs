//! The one integration-test binary: a list of what is tested.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

// The Telegram world, the scripted model and the databases that all tests share.
#[path = "../harness/mod.rs"]
mod harness;

// References and tags, import and export.
mod annotations;
// The history API.
mod api;
// The page in a real browser.
mod browser;
// Photos, replies and albums, as a new user would try them.
mod conversations;
// Who gets in over HTTP, and who sees what.
mod door;
// What the documents say of files and settings is so.
mod documents;
// Nothing is lost or repeated, whatever dies when.
mod durability;
// What the model sees, and what becomes of what it says.
mod minds;
// The scripted model is as strict as OpenAI, Anthropic and Google.
mod model;
// The same conversations with every vendor's model.
mod models;
// The local page.
mod page;
// The rules of the real APIs are kept by their stand-ins.
mod rules_anthropic;
// Requests to Gemini hold to its rules, and the rules hold.
mod rules_gemini;
// The OpenAPI document is true.
mod schema;
// The store keeps its promises on both databases.
mod store;
// The world itself is as strict as Telegram.
mod world;
