//! Parses updates: raw JSON, read tolerantly (`update`), then teloxide's types, then the fields of a message that the bot
//! uses. Nothing outside `telegram` sees teloxide.

mod file;
#[cfg(test)]
#[path = "tests/fuzz.rs"]
mod fuzz;
mod mentions;
mod raw_fields;
mod update;

pub use file::TelegramFile;
pub use update::{ParsedUpdate, Reading, parse_update};

use super::{bot_identity::BotIdentity, place::Place};
use crate::{
    agent::Routes,
    domain::{Conversation, UserId},
};
use chrono::{DateTime, Utc};
use mentions::{commands_another_bot, has_mention, without_mention};
use teloxide::types::{Message, MessageKind};

/// One message of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedMessage {
    pub conversation: Conversation,
    pub message_id: String,
    pub sender: UserId,
    /// First and last name; none for an anonymous administrator.
    pub sender_name: Option<String>,
    pub sent_at: DateTime<Utc>,
    /// Text or caption, without a mention of the bot at either end and without an agent's command.
    pub text: String,
    /// The agent whose command the message carries.
    pub agent: Option<String>,
    pub file: Option<TelegramFile>,
    pub album_id: Option<String>,
    pub reply: Option<RepliedMessage>,
    /// Whether the message is meant for the bot: always in a private chat; in a group if the bot is mentioned, replied
    /// to or commanded.
    pub addressed: bool,
}

/// The message that a reply points at, as Telegram repeats it inside the reply. `message_id` names the chat if that is
/// another one.
#[derive(Debug, Clone, PartialEq)]
pub struct RepliedMessage {
    pub message_id: String,
    pub from_bot: bool,
    pub author: Option<UserId>,
    pub sent_at: DateTime<Utc>,
    pub text: String,
    pub file: Option<TelegramFile>,
    pub album_id: Option<String>,
    /// The part of its text that the person selected.
    pub quote: Option<String>,
}

/// The text of a message as it is stored, and the agent whose command stood before it.
pub struct MessageText {
    pub text: String,
    pub agent: Option<String>,
}

/// `None` if no person wrote the message: service messages, channel posts, other bots.
pub fn parse_message(message: &Message, identity: &BotIdentity, routes: &Routes) -> Option<ReceivedMessage> {
    let sender = message.from.as_ref().filter(|user| !user.is_bot || user.is_anonymous())?;
    let file = TelegramFile::of_message(message);
    let raw_text = text_or_caption(message);
    if raw_text.is_empty() && file.is_none() {
        return None;
    }
    let reply = reply_target(message, identity).or_else(|| external_target(message));
    let replies_to_bot = reply.as_ref().is_some_and(|target| target.from_bot);
    let mentioned =
        without_mention(&raw_text, identity).len() != raw_text.len() || has_mention(message, identity);
    let is_ours = !commands_another_bot(&raw_text, identity);
    let MessageText { text, agent } = message_text(message, identity, routes);
    Some(ReceivedMessage {
        conversation: Place::of_message(message).conversation(),
        message_id: message.id.0.to_string(),
        sender: UserId(sender.id.0.to_string()),
        sender_name: Some(sender.full_name()).filter(|name| !sender.is_bot && !name.trim().is_empty()),
        sent_at: message.date,
        text: match forwarded_from(message) {
            Some(name) => format!("(forwarded from {name})\n{text}"),
            None => text,
        },
        file,
        album_id: message.media_group_id().map(|id| id.0.clone()),
        reply,
        addressed: message.chat.is_private() || (is_ours && (mentioned || replies_to_bot || agent.is_some())),
        agent,
    })
}

pub fn message_text(message: &Message, identity: &BotIdentity, routes: &Routes) -> MessageText {
    let text = without_mention(&text_or_caption(message), identity);
    // A command in a forwarded message was given by its author, not by the person who forwards it.
    let is_own = message.forward_origin().is_none();
    match is_own.then(|| routes.parse_command(&text, &identity.username)).flatten() {
        Some(found) => MessageText { text: found.words.to_owned(), agent: Some(found.agent.to_owned()) },
        None => MessageText { text, agent: None },
    }
}

fn text_or_caption(message: &Message) -> String {
    message.text().or(message.caption()).unwrap_or_default().replace('\0', "")
}

fn forwarded_from(message: &Message) -> Option<String> {
    use teloxide::types::MessageOrigin as From;
    Some(match message.forward_origin()? {
        From::User { sender_user, .. } => sender_user.full_name(),
        From::HiddenUser { sender_user_name, .. } => sender_user_name.clone(),
        From::Chat { sender_chat, .. } => sender_chat.title().unwrap_or("a chat").to_owned(),
        From::Channel { chat, .. } => chat.title().unwrap_or("a channel").to_owned(),
    })
}

fn reply_target(message: &Message, identity: &BotIdentity) -> Option<RepliedMessage> {
    let target = message.reply_to_message()?;
    if Place::of_message(message).is_topic_root(target.id) {
        return None;
    }
    Some(RepliedMessage {
        message_id: target.id.0.to_string(),
        from_bot: target.from.as_ref().is_some_and(|user| user.id.0 == identity.user_id),
        author: target.from.as_ref().map(|user| UserId(user.id.0.to_string())),
        sent_at: target.date,
        text: text_or_caption(target),
        file: TelegramFile::of_message(target),
        album_id: target.media_group_id().map(|id| id.0.clone()),
        quote: message.quote().map(|quote| quote.text.replace('\0', "")),
    })
}

/// What a reply quotes from another chat, a channel or another topic, if that has a file. It is filed here as a message of
/// that chat, so that the next reply that quotes it finds it.
fn external_target(message: &Message) -> Option<RepliedMessage> {
    let MessageKind::Common(common) = &message.kind else { return None };
    let external = common.external_reply.as_ref()?;
    let file = TelegramFile::of_external(external)?;
    let message_id = match (&external.chat, external.message_id) {
        (Some(chat), Some(id)) => Conversation::telegram(chat.id.0).foreign_message_id(&id.0.to_string()),
        // The original is hidden: only this reply leads to it.
        _ => Place::of_message(message)
            .conversation()
            .foreign_message_id(&format!("quoted-by-{}", message.id.0)),
    };
    Some(RepliedMessage {
        message_id,
        from_bot: false,
        author: None,
        sent_at: external.origin.date(),
        text: String::new(),
        file: Some(file),
        album_id: None,
        quote: message.quote().map(|quote| quote.text.replace('\0', "")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_a_size_has_no_size() {
        let message = serde_json::json!({ "message_id": 5, "date": 0, "chat": { "id": 1, "type": "private" },
            "from": { "id": 1, "is_bot": false, "first_name": "Ann" },
            "document": { "file_id": "f", "file_unique_id": "u" } });
        let message: Message = serde_json::from_value(message).unwrap();
        let identity = BotIdentity { user_id: 1, username: "PhotoBot".into() };
        let file = parse_message(&message, &identity, &Routes::default()).unwrap().file.unwrap();
        assert_eq!((file.file_id.as_str(), file.bytes), ("f", None));
    }
}
