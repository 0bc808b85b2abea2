//! Everything that knows Telegram: its types go no further than this room.

pub mod plan;
pub mod render;
pub mod split;
