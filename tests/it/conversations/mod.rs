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
mod signs_of_life;
mod topics;
mod sights;
mod unknown_fields;
