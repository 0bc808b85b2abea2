//! A conversation: a Telegram chat or a conversation of the web, under an interface and an id.

use super::UserId;
use std::fmt;

text_enum! {
    InterfaceType "an interface" { Telegram = "telegram", Web = "web" }
}

/// Ids of one conversation never resolve in another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Conversation {
    pub interface: InterfaceType,
    pub id: String,
}

impl Conversation {
    pub fn new(interface: InterfaceType, id: impl Into<String>) -> Self {
        Self { interface, id: id.into() }
    }

    /// Holds the uploaded files of a user of the web until a message uses them.
    pub fn uploads(user: &UserId) -> Self {
        Self::new(InterfaceType::Web, format!("uploads-{user}"))
    }

    pub fn telegram(chat_id: i64) -> Self {
        Self::new(InterfaceType::Telegram, chat_id.to_string())
    }

    /// Whether several people write here: a Telegram group, whose id is negative. Everything else belongs to one person.
    pub fn is_shared(&self) -> bool {
        self.interface == InterfaceType::Telegram && self.id.starts_with('-')
    }
}

impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.interface, self.id)
    }
}
