//! A conversation: a Telegram chat, a topic of one, or a conversation of the web, under an interface and an id.

use super::UserId;
use std::fmt;

text_enum! {
    InterfaceType "an interface" { Telegram = "telegram", Web = "web" }
}

/// Separates the chat from the topic in the id of a conversation on Telegram.
const TOPIC_SEPARATOR: char = '/';

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

    /// A topic of a Telegram chat: a conversation of its own.
    pub fn telegram_topic(chat_id: i64, topic: i32) -> Self {
        Self::new(InterfaceType::Telegram, format!("{chat_id}{TOPIC_SEPARATOR}{topic}"))
    }

    /// The id of its chat. The topics of a chat share its people, its pace and its budget.
    pub fn chat_id(&self) -> &str {
        match (self.interface, self.id.split_once(TOPIC_SEPARATOR)) {
            (InterfaceType::Telegram, Some((chat, _))) => chat,
            _ => &self.id,
        }
    }

    /// The topic within its chat. None outside topics.
    pub fn topic_id(&self) -> Option<&str> {
        let (_, topic) = self.id.split_once(TOPIC_SEPARATOR)?;
        (self.interface == InterfaceType::Telegram).then_some(topic)
    }

    /// The conversation of its chat outside topics.
    pub fn chat(&self) -> Self {
        Self::new(self.interface, self.chat_id())
    }

    /// The id of a message of this chat where it is stored in another one: after the chat moved to another id, where ids
    /// start anew, or because a reply there quotes it.
    pub fn foreign_message_id(&self, message_id: &str) -> String {
        format!("{}:{message_id}", self.chat_id())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topic_is_a_conversation_of_its_own_in_its_chat() {
        let (chat, topic) = (Conversation::telegram(-100), Conversation::telegram_topic(-100, 7));
        assert_eq!(topic.id, "-100/7");
        assert_eq!((topic.chat(), topic.chat_id(), topic.topic_id()), (chat.clone(), "-100", Some("7")));
        assert_eq!((chat.chat(), chat.topic_id()), (chat.clone(), None));
        assert!(topic.is_shared() && !Conversation::telegram_topic(5, 7).is_shared());
        assert_ne!(topic, chat);
    }
}
