//! Conversations: people talk to the real program through the Telegram world.

mod access;
mod commands;
mod edit_chains;
mod edits;
mod groups;
mod heavy_work;
mod large_files;
mod media;
mod photo_edits;
mod quotes;
mod replies;
mod sights;
mod signs_of_life;
mod topics;
mod unknown_fields;
