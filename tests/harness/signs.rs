//! Signs of life: reactions of the bot, and drafts that are no messages.

use super::{
    api::{Outcome, Refusal},
    people::{Group, MessageRef},
    state::State,
    text::Words,
    uploads::Params,
    world::World,
};
use serde_json::Value;

impl State {
    pub fn set_reaction(&mut self, chat_id: i64, params: &Params) -> Outcome {
        let message_id = params.number("message_id").unwrap_or_default();
        let message = self.find_message(chat_id, message_id).cloned();
        let message = message.ok_or_else(|| Refusal::bad("message to react not found"))?;
        let shown: Vec<String> = params
            .list("reaction")?
            .iter()
            .map(|reaction| reaction["emoji"].as_str().unwrap_or_default().to_owned())
            .collect();
        let chat = self.chat(chat_id);
        if shown.len() > 1 || shown.iter().any(|emoji| emoji != "👀" || chat.forbids_reactions) {
            return Err(Refusal::bad("REACTION_INVALID"));
        }
        // The reaction to an album stands at its first message.
        let album = message["media_group_id"].clone();
        let of_album = |other: &Value| !album.is_null() && other["media_group_id"] == album;
        let first = chat.messages.iter().find(|(_, other)| of_album(other)).map(|(id, _)| *id);
        let target = first.unwrap_or(message_id as i32);
        chat.reactions_seen.extend(shown.iter().map(|_| target));
        match shown.first() {
            Some(emoji) => chat.reactions.insert(target, emoji.clone()),
            None => chat.reactions.remove(&target),
        };
        Ok(true.into())
    }

    pub fn show_draft(&mut self, chat_id: i64, params: &Params) -> Outcome {
        if !self.chat(chat_id).is_private() {
            return Err(Refusal::bad("TEXTDRAFT_PEER_INVALID"));
        }
        let topic = self.chat(chat_id).topic_of_request(params)?;
        if params.number("draft_id").is_none_or(|id| id == 0) {
            return Err(Refusal::bad("RANDOM_ID_INVALID"));
        }
        let words = Words::of_message(params)?;
        self.chat(chat_id).drafts.push((topic, params.number("draft_id").unwrap_or_default(), words.text));
        Ok(true.into())
    }
}

impl Group {
    pub fn forbids_reactions(&self) {
        self.shared.change(|state| state.chat(self.chat_id).forbids_reactions = true);
    }
}

impl World {
    /// Has sendMessageDraft, as Bot API 9.5.
    pub fn streams_drafts(&self) {
        self.shared.change(|state| state.streams_drafts = true);
    }

    /// The drafts that a chat was shown: the topic, the id, and the text.
    pub fn drafts(&self, chat_id: i64) -> Vec<(Option<i32>, i64, String)> {
        self.shared.look().chat(chat_id).drafts.clone()
    }

    pub async fn wait_for_draft(&self, chat_id: i64, text: &str) {
        let shown = |state: &mut State| {
            state.chat(chat_id).drafts.iter().any(|(_, _, shown)| shown == text).then_some(())
        };
        self.shared.wait(&format!("a draft {text:?} in chat {chat_id}"), shown).await;
    }

    /// Waits until a message has this reaction of the bot, or none.
    pub async fn wait_for_reaction(&self, message: impl Into<MessageRef>, reaction: Option<&str>) {
        let MessageRef { chat_id, message_id, .. } = message.into();
        let what = format!("the reaction to message {message_id} in chat {chat_id} to be {reaction:?}");
        let is_so = |state: &mut State| {
            let now = state.chat(chat_id).reactions.get(&message_id);
            (now.map(String::as_str) == reaction).then_some(())
        };
        self.shared.wait(&what, is_so).await;
    }

    /// The messages that ever had a reaction, in order.
    pub fn reactions_seen(&self, chat_id: i64) -> Vec<i32> {
        self.shared.look().chat(chat_id).reactions_seen.clone()
    }

    /// The messages that have a reaction now.
    pub fn reactions(&self, chat_id: i64) -> Vec<i32> {
        self.shared.look().chat(chat_id).reactions.keys().copied().collect()
    }
}
