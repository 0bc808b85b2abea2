//! Where people talk: an interface and a conversation within it.

use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InterfaceType {
    Telegram,
    Web,
}

impl InterfaceType {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Telegram => "telegram",
            Self::Web => "web",
        }
    }
}

impl fmt::Display for InterfaceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for InterfaceType {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "telegram" => Ok(Self::Telegram),
            "web" => Ok(Self::Web),
            other => Err(format!("unknown interface type {other:?}")),
        }
    }
}

/// A Telegram chat or a web conversation. Ids of one never resolve in another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Conversation {
    pub interface: InterfaceType,
    pub id: String,
}

impl Conversation {
    pub fn new(interface: InterfaceType, id: impl Into<String>) -> Self {
        Self { interface, id: id.into() }
    }

    pub fn telegram(chat_id: i64) -> Self {
        Self::new(InterfaceType::Telegram, chat_id.to_string())
    }
}

impl fmt::Display for Conversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.interface, self.id)
    }
}
