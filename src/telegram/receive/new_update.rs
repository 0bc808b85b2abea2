//! A raw update as the inbox stores it: its key, its JSON and its conversation.

use crate::{domain::Conversation, store::NewUpdate};
use serde_json::Value;

pub fn new_update(update: &Value) -> NewUpdate {
    NewUpdate { key: update_key(update), raw: update.to_string(), conversation_id: conversation_id(update) }
}

/// The same for every delivery of one update. It consists of the update's id and content, because Telegram may restart
/// its numbering and then gives an old id to another update.
fn update_key(update: &Value) -> String {
    let id = &update["update_id"];
    let content = update.as_object().and_then(|fields| fields.iter().find(|(name, _)| *name != "update_id"));
    match content {
        Some((kind, body)) => {
            let (chat, message, edited) = (&body["chat"]["id"], &body["message_id"], &body["edit_date"]);
            format!("{id}:{kind}:{chat}:{message}:{edited}:{}", body["id"])
        }
        None => format!("{id}:{update}"),
    }
}

/// The conversation of an update of any kind: its chat, or the topic that its message is in. The same as
/// `Place::of_message`, or a batch would not wait for the messages that are still being routed.
fn conversation_id(update: &Value) -> Option<String> {
    let body = update.as_object()?.values().find(|body| body["chat"]["id"].is_i64())?;
    let chat = body["chat"]["id"].as_i64()?;
    let topic = body["message_thread_id"].as_i64().filter(|_| body["is_topic_message"] == true);
    let conversation = match topic.and_then(|topic| i32::try_from(topic).ok()) {
        Some(topic) => Conversation::telegram_topic(chat, topic),
        None => Conversation::telegram(chat),
    };
    Some(conversation.id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_key_depends_on_the_id_and_on_the_message() {
        let update = |id: i64, message: i64| json!({ "update_id": id, "message": { "message_id": message, "chat": { "id": 5 } } });
        assert_eq!(update_key(&update(10, 1)), update_key(&update(10, 1)));
        assert_ne!(update_key(&update(10, 1)), update_key(&update(10, 2)));
        assert_ne!(update_key(&update(10, 1)), update_key(&update(9, 1)));
    }

    #[test]
    fn the_conversation_is_the_chat_or_the_topic() {
        let id = |fields: Value| conversation_id(&json!({ "update_id": 1, "message": fields }));
        let chat = json!({ "id": -5 });
        assert_eq!(id(json!({ "chat": chat })).as_deref(), Some("-5"));
        assert_eq!(id(json!({ "chat": chat, "message_thread_id": 4 })).as_deref(), Some("-5"));
        let topic = json!({ "chat": chat, "message_thread_id": 4, "is_topic_message": true });
        assert_eq!(id(topic).as_deref(), Some("-5/4"));
        assert_eq!(id(json!({})), None);
    }
}
