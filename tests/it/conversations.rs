//! What must work, tried as a new user would: people talk to the real program through the Telegram world.

mod access;
mod chains;
mod commands;
mod darkroom;
mod edits;
mod groups;
mod media;
mod replies;
