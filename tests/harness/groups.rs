//! Groups: basic groups, which become supergroups with another id, and messages that only one member sees.

use super::{
    api::Refusal,
    messages::bot_user,
    people::Group,
    state::{Chat, State},
    uploads::Params,
};
use serde_json::{Value, json};

impl Group {
    /// The same group as a basic group, which can become a supergroup.
    pub fn into_basic_group(self) -> Group {
        let chat_id = self.shared.change(|state| {
            let mut chat = state.chats.remove(&self.chat_id).expect("the group");
            let id = -1_000_000 - state.fresh_number() as i64;
            chat.info = json!({ "id": id, "type": "group", "title": chat.info["title"] });
            state.chats.insert(id, chat);
            id
        });
        Group { chat_id, ..self }
    }

    /// Becomes a supergroup: another chat, which numbers its messages anew. Both chats get a service message.
    pub fn becomes_a_supergroup(&self) -> Group {
        let chat_id = self.shared.change(|state| {
            let id = -1_001_000_000_000 - state.fresh_number() as i64;
            let old = state.chat(self.chat_id);
            let (title, members) = (old.info["title"].clone(), old.members.clone());
            old.migrated_to = Some(id);
            let mut new = Chat::new(json!({ "id": id, "type": "supergroup", "title": title }));
            new.members = members;
            state.chats.insert(id, new);
            let notices =
                [(self.chat_id, "migrate_to_chat_id", id), (id, "migrate_from_chat_id", self.chat_id)];
            for (chat_id, field, other) in notices {
                let mut message = state.blank_message(chat_id, anonymous_admin());
                message[field] = other.into();
                state.keep_message(&message);
                state.publish("message", message);
            }
            id
        });
        Group { chat_id, ..self.clone() }
    }

    /// Makes the bot an administrator.
    pub fn appoints_bot(&self) {
        self.shared.change(|state| state.chat(self.chat_id).bot_is_admin = true);
    }
}

fn anonymous_admin() -> Value {
    json!({ "id": 1_087_968_824, "is_bot": true, "first_name": "Group", "username": "GroupAnonymousBot" })
}

impl State {
    /// The only person who sees the message of this request; none if all do.
    pub fn receiver_of_request(&self, chat_id: i64, params: &Params) -> Result<Option<i64>, Refusal> {
        let Some(parameters) = params.json("ephemeral_message_parameters")? else { return Ok(None) };
        let receiver = parameters["receiver_user_id"].as_i64();
        let chat = self.chats.get(&chat_id).ok_or_else(|| Refusal::bad("chat not found"))?;
        if chat.is_private() {
            return Err(Refusal::bad("ephemeral messages can be sent only to groups and supergroups"));
        }
        if !chat.bot_is_admin {
            return Err(Refusal::bad("not enough rights to send ephemeral messages"));
        }
        match receiver.filter(|id| chat.members.contains_key(id) && bot_user()["id"] != *id) {
            Some(receiver) => Ok(Some(receiver)),
            None => Err(Refusal::bad("USER_NOT_PARTICIPANT")),
        }
    }
}
