//! Settings that turn features of the Telegram interface on and off.

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TelegramFeatures {
    /// `/new` in a private chat opens a topic, where the person has turned topics on.
    pub new_opens_topic: bool,
}
