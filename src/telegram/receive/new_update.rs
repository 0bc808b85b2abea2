//! A raw update as the inbox stores it: its key, its JSON and its chat.

use crate::store::NewUpdate;
use serde_json::Value;

pub fn new_update(update: &Value) -> NewUpdate {
    NewUpdate { key: update_key(update), raw: update.to_string(), conversation_id: chat_id(update) }
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

/// The chat of an update of any kind.
fn chat_id(update: &Value) -> Option<String> {
    let bodies = update.as_object()?.values();
    let chats = bodies.map(|body| &body["chat"]["id"]);
    chats.filter_map(Value::as_i64).next().map(|id| id.to_string())
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
}
