//! What must work, tried as a new user would: people talk to the real program through the Telegram world.

mod edits;
