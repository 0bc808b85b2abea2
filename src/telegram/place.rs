//! `Place`: where a conversation is on Telegram: in a chat, or in a topic of one.

use crate::domain::Conversation;
use teloxide::types::{ChatId, Message, MessageId, ThreadId};

/// A chat, and the topic within it. A forum's General topic is the chat without a topic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub chat: ChatId,
    pub topic: Option<ThreadId>,
}

impl Place {
    /// Outside topics a thread id only tells which messages reply to each other.
    pub fn of_message(message: &Message) -> Self {
        Self { chat: message.chat.id, topic: message.thread_id.filter(|_| message.is_topic_message) }
    }

    /// `None` if the id of the conversation names no chat.
    pub fn of(conversation: &Conversation) -> Option<Self> {
        let chat = ChatId(conversation.chat_id().parse().ok()?);
        let topic = match conversation.topic_id() {
            Some(topic) => Some(ThreadId(MessageId(topic.parse().ok()?))),
            None => None,
        };
        Some(Self { chat, topic })
    }

    pub fn conversation(self) -> Conversation {
        match self.topic {
            Some(ThreadId(MessageId(topic))) => Conversation::telegram_topic(self.chat.0, topic),
            None => Conversation::telegram(self.chat.0),
        }
    }

    /// Whether this is the message that opened the topic. Telegram repeats it in every message of the topic that replies
    /// to nothing.
    pub fn is_topic_root(self, message: MessageId) -> bool {
        self.topic.is_some_and(|topic| topic.0 == message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::InterfaceType;
    use serde_json::{Value, json};

    fn place(fields: Value) -> Place {
        let mut message = json!({ "message_id": 5, "date": 0, "text": "x",
            "chat": { "id": -100, "type": "supergroup", "title": "Trip", "is_forum": true } });
        for (name, value) in fields.as_object().unwrap() {
            message[name] = value.clone();
        }
        Place::of_message(&serde_json::from_value(message).unwrap())
    }

    #[test]
    fn a_place_and_its_conversation_name_each_other() {
        for (fields, id) in [
            (json!({}), "-100"),
            (json!({ "message_thread_id": 4 }), "-100"),
            (json!({ "message_thread_id": 4, "is_topic_message": true }), "-100/4"),
        ] {
            let place = place(fields);
            assert_eq!(place.conversation().id, id);
            assert_eq!(Place::of(&place.conversation()), Some(place));
        }
    }

    #[test]
    fn an_id_that_names_no_chat_is_no_place() {
        for id in ["", "x", "5/", "5/x", "/5"] {
            assert_eq!(Place::of(&Conversation::new(InterfaceType::Telegram, id)), None, "{id}");
        }
    }
}
