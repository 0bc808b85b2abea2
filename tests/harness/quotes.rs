//! What people bring along from other chats: replies that quote a message of another chat, and forwarded albums.

use super::{
    messages::{embedded, set_typed},
    people::{MessageRef, Person, copy_forwarded},
};
use serde_json::{Value, json};

/// Whether the chat of a quoted message is visible to the bot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Origin {
    Shown,
    Hidden,
}

impl Person {
    /// A reply to a message of another chat. Telegram repeats its media, but not its text.
    pub async fn replies_from_elsewhere(
        &self,
        to: impl Into<MessageRef>,
        origin: Origin,
        text: &str,
    ) -> MessageRef {
        let to = to.into();
        self.posts(|state, message| {
            let original = state.find_message(to.chat_id, to.message_id.into()).expect("a message to quote");
            let original = embedded(original);
            let mut quoted = match origin {
                Origin::Shown => json!({ "chat": original["chat"], "message_id": original["message_id"],
                    "origin": { "type": "chat", "date": original["date"], "sender_chat": original["chat"] } }),
                Origin::Hidden => json!({ "origin": { "type": "hidden_user", "date": original["date"],
                    "sender_user_name": "Someone" } }),
            };
            for field in ["photo", "document", "video", "animation"] {
                if !original[field].is_null() {
                    quoted[field] = original[field].clone();
                }
            }
            message["external_reply"] = quoted;
            set_typed(message, "text", text);
        })
    }

    /// Forwards an album: one update for each message, as one album.
    pub async fn forwards_album(&self, album: &[MessageRef]) -> Vec<MessageRef> {
        let group = self.shared.change(|state| state.fresh_number().to_string());
        let forward = |original: &MessageRef| {
            self.posts(|state, message| {
                copy_forwarded(state, message, *original);
                message["media_group_id"] = Value::from(group.clone());
            })
        };
        album.iter().map(forward).collect()
    }
}
