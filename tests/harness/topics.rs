//! Topics: of forums, and of private chats where the person has turned them on. A message in a topic that replies to
//! nothing carries the message that opened the topic, as at Telegram.

use super::{
    api::{Outcome, Refusal},
    messages::{bot_user, embedded},
    people::{Group, Person},
    state::{Chat, State},
    uploads::Params,
};
use serde_json::{Value, json};

pub struct Topic {
    pub name: String,
    pub closed: bool,
}

impl Chat {
    fn has_topics(&self) -> bool {
        self.info["is_forum"] == true || self.topics_enabled
    }

    /// The topic that a request names: none outside topics, and in the General topic of a forum.
    pub fn topic_of_request(&self, params: &Params) -> Result<Option<i32>, Refusal> {
        let Some(id) = params.number("message_thread_id") else { return Ok(None) };
        let id = i32::try_from(id).unwrap_or_default();
        match self.topics.get(&id) {
            Some(topic) if topic.closed => Err(Refusal::bad("TOPIC_CLOSED")),
            Some(_) => Ok(Some(id)),
            None => Err(Refusal::bad("message thread not found")),
        }
    }
}

impl State {
    /// Opens a topic with its service message, which is not shown to the bot that opens it. Returns the topic and the
    /// message.
    fn open_topic(&mut self, chat_id: i64, name: &str, from: Value) -> (i32, Value) {
        let mut message = self.blank_message(chat_id, from);
        let id = message["message_id"].as_i64().unwrap_or_default() as i32;
        message["forum_topic_created"] = json!({ "name": name, "icon_color": 7_322_096 });
        set_topic(self, &mut message, Some(id));
        self.chat(chat_id).topics.insert(id, Topic { name: name.to_owned(), closed: false });
        self.keep_message(&message);
        (id, message)
    }

    pub fn create_topic(&mut self, params: &Params) -> Outcome {
        let chat_id = params.number("chat_id").unwrap_or_default();
        let chat = self.chats.get(&chat_id).ok_or_else(|| Refusal::bad("chat not found"))?;
        if let Some(why) = chat.closed {
            return Err(Refusal::new(403, why));
        }
        if !chat.has_topics() {
            return Err(Refusal::bad("the chat is not a forum"));
        }
        let name = params.text("name").unwrap_or_default();
        if !(1..=128).contains(&name.chars().count()) {
            return Err(Refusal::bad("TOPIC_TITLE_INVALID"));
        }
        let (id, _) = self.open_topic(chat_id, &name, bot_user());
        Ok(json!({ "message_thread_id": id, "name": name, "icon_color": 7_322_096 }))
    }
}

/// Puts a message into a topic. Unless it is a reply, it carries the message that opened the topic.
pub fn set_topic(state: &State, message: &mut Value, topic: Option<i32>) {
    let Some(topic) = topic else { return };
    message["message_thread_id"] = topic.into();
    message["is_topic_message"] = true.into();
    let chat_id = message["chat"]["id"].as_i64().unwrap_or_default();
    if message["reply_to_message"].is_null()
        && let Some(root) = state.find_message(chat_id, topic.into())
    {
        message["reply_to_message"] = embedded(root);
    }
}

/// The topic of a message.
pub fn topic_of(message: &Value) -> Option<i32> {
    let topic = message["message_thread_id"].as_i64().filter(|_| message["is_topic_message"] == true);
    topic.map(|topic| topic as i32)
}

impl Group {
    /// The same group with topics.
    pub fn with_topics(self) -> Group {
        self.shared.change(|state| state.chat(self.chat_id).info["is_forum"] = true.into());
        self
    }

    /// Closes a topic: the bot may not write in it any more.
    pub fn closes_topic(&self, topic: i32) {
        self.shared.change(|state| {
            if let Some(topic) = state.chat(self.chat_id).topics.get_mut(&topic) {
                topic.closed = true;
            }
        });
    }

    pub fn deletes_topic(&self, topic: i32) {
        self.shared.change(|state| state.chat(self.chat_id).topics.remove(&topic));
    }
}

impl Person {
    /// Turns on topics in the private chat with the bot.
    pub fn turns_on_topics(&self) {
        self.shared.change(|state| state.chat(self.chat_id).topics_enabled = true);
    }

    /// Opens a topic and goes there: the person that is returned writes and reads in it.
    pub fn opens_topic(&self, name: &str) -> Person {
        let topic = self.shared.change(|state| {
            assert!(state.chat(self.chat_id).has_topics(), "chat {} has no topics", self.chat_id);
            let (topic, message) = state.open_topic(self.chat_id, name, self.user.json());
            state.publish("message", message);
            topic
        });
        self.in_topic(Some(topic))
    }

    /// The same person in another topic, or outside topics.
    pub fn in_topic(&self, topic: Option<i32>) -> Person {
        Person { topic, ..self.clone() }
    }

    /// The topic of this name.
    pub fn topic_named(&self, name: &str) -> Person {
        let mut state = self.shared.look();
        let topics = &state.chat(self.chat_id).topics;
        let found = topics.iter().find(|(_, topic)| topic.name == name).map(|(id, _)| *id);
        drop(state);
        self.in_topic(Some(found.unwrap_or_else(|| panic!("no topic {name:?}"))))
    }
}
