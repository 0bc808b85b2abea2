//! Conversations: people talk to the real program through the Telegram world.

mod access;
mod commands;
mod edit_chains;
mod edits;
mod groups;
mod heavy_work;
mod media;
mod photo_edits;
mod replies;
mod sights;
mod unknown_fields;
