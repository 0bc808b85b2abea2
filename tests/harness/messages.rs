//! Messages as Telegram sends them to a bot, with replies one level deep, and as a test reads them.

use super::{
    files::{Kind, StoredFile},
    received::{Button, Received},
    state::{BOT_ID, BOT_NAME, State},
    text::detect_entities,
    topics::topic_of,
};
use serde_json::{Value, json};

pub fn bot_user() -> Value {
    json!({ "id": BOT_ID, "is_bot": true, "first_name": "Photothread", "username": BOT_NAME })
}

pub fn now() -> i64 {
    chrono::Utc::now().timestamp()
}

/// The field of a message that holds a file of this kind.
pub fn field_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Photo => "photo",
        Kind::Document => "document",
        Kind::Video => "video",
        Kind::Audio => "audio",
        Kind::Voice => "voice",
        Kind::Animation => "animation",
        Kind::Sticker => "sticker",
        Kind::VideoNote => "video_note",
    }
}

/// A message as part of another one, without its own replied-to message.
pub fn embedded(message: &Value) -> Value {
    let mut message = message.clone();
    if let Some(fields) = message.as_object_mut() {
        fields.remove("reply_to_message");
        fields.remove("quote");
    }
    message
}

/// Sets text that a person typed, with the entities that Telegram detects.
pub fn set_typed(message: &mut Value, field: &str, words: &str) {
    if !words.is_empty() {
        set_words(message, field, words, detect_entities(words));
    }
}

pub fn set_words(message: &mut Value, field: &str, words: &str, entities: Vec<Value>) {
    let entities_field = if field == "text" { "entities" } else { "caption_entities" };
    message[field] = words.into();
    if let Some(fields) = message.as_object_mut() {
        fields.remove(entities_field);
    }
    if !entities.is_empty() {
        message[entities_field] = entities.into();
    }
}

impl State {
    /// An empty message with the next id of its chat.
    pub fn blank_message(&mut self, chat_id: i64, from: Value) -> Value {
        let chat = self.chat(chat_id);
        let message_id = chat.next_message_id();
        json!({ "message_id": message_id, "date": now(), "chat": chat.info, "from": from })
    }

    pub fn set_file(&self, message: &mut Value, file: &StoredFile) {
        message[field_of(file.kind)] = self.media_json(file);
        if file.kind == Kind::Animation {
            message["document"] = message["animation"].clone();
        }
    }

    pub fn find_message(&self, chat_id: i64, message_id: i64) -> Option<&Value> {
        self.chats.get(&chat_id)?.messages.get(&i32::try_from(message_id).ok()?)
    }

    pub fn keep_message(&mut self, message: &Value) {
        let chat_id = message["chat"]["id"].as_i64().unwrap_or_default();
        let id = message["message_id"].as_i64().unwrap_or_default() as i32;
        self.chat(chat_id).messages.insert(id, message.clone());
    }

    /// The bot's messages of one send reach their chat.
    pub fn deliver(&mut self, chat_id: i64, messages: &[Value]) {
        let received = messages.iter().map(|message| self.received(message)).collect();
        for message in messages {
            self.keep_message(message);
        }
        self.chat(chat_id).deliveries.push(received);
    }

    pub fn received(&self, message: &Value) -> Received {
        let text = |field: &str| message[field].as_str().unwrap_or_default().to_owned();
        let file = |media: &Value| media["file_id"].as_str().and_then(|id| self.files.get(id));
        let entities = match &message["entities"] {
            Value::Null => &message["caption_entities"],
            entities => entities,
        };
        let rows = message["reply_markup"]["inline_keyboard"].as_array().into_iter().flatten();
        let keys = rows.filter_map(Value::as_array).flatten();
        let button = |key: &Value| Button {
            text: key["text"].as_str().unwrap_or_default().into(),
            data: key["callback_data"].as_str().unwrap_or_default().into(),
        };
        Received {
            chat_id: message["chat"]["id"].as_i64().unwrap_or_default(),
            topic: topic_of(message),
            message_id: message["message_id"].as_i64().unwrap_or_default() as i32,
            text: text("text"),
            caption: text("caption"),
            entities: entities.as_array().cloned().unwrap_or_default(),
            photo: message["photo"]
                .as_array()
                .and_then(|sizes| file(sizes.last()?))
                .map(StoredFile::original),
            document: file(&message["document"]).map(|file| (file.name.clone(), file.original())),
            reply_to: message["reply_to_message"]["message_id"]
                .as_i64()
                .map(|id| id as i32)
                .filter(|id| topic_of(message) != Some(*id)),
            media_group_id: message["media_group_id"].as_str().map(Into::into),
            buttons: keys.map(button).collect(),
            only_for: message["receiver_user"]["id"].as_i64(),
        }
    }
}
