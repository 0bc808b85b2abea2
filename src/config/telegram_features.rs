//! Settings that turn features of the Telegram interface on and off.

use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct TelegramFeatures {
    /// `/new` in a private chat opens a topic, where the person has turned topics on.
    pub new_opens_topic: bool,
    /// `api_url` is a Bot API server of one's own, started with `--local`: it has no limit of 20 MB, and its files are on
    /// this disk.
    pub local_server: bool,
    /// A reaction shows that a message has arrived, until its answer is there.
    pub reactions: bool,
}
