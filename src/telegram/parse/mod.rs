//! From teloxide's types to what the walk needs to know of a message. Nothing above `telegram/` sees teloxide.

mod raw_fields;
mod update;

pub use update::{ParsedUpdate, Reading, parse_update};

use super::bot_identity::BotIdentity;
use crate::{
    agent::Routes,
    domain::{Conversation, UserId},
};
use chrono::{DateTime, Utc};
use teloxide::types::{FileMeta, Message, MessageEntityKind, MessageEntityRef};

/// One message, as a person sent it.
#[derive(Debug, Clone, PartialEq)]
pub struct Incoming {
    pub conversation: Conversation,
    pub message_id: String,
    pub sender: UserId,
    /// First and last name; none for an anonymous administrator.
    pub sender_name: Option<String>,
    pub sent_at: DateTime<Utc>,
    /// Text or caption, without a mention of the bot at either end and without an agent's command.
    pub text: String,
    /// The agent whose command it carries.
    pub commanded: Option<String>,
    pub media: Option<Media>,
    pub album_id: Option<String>,
    pub reply: Option<Pointed>,
    /// Meant for the bot: in private always, in a group when mentioned, replied to or commanded.
    pub addressed: bool,
}

/// A file Telegram holds for us.
#[derive(Debug, Clone, PartialEq)]
pub struct Media {
    pub file_id: String,
    pub filename: Option<String>,
    /// None if Telegram does not say.
    pub bytes: Option<u64>,
    pub what: &'static str,
}

impl Media {
    /// What to call it when speaking to the person who sent it.
    pub fn name(&self) -> String {
        self.filename.clone().unwrap_or_else(|| format!("the {}", self.what))
    }
}

/// What a reply points at, as Telegram repeats it inside the reply.
#[derive(Debug, Clone, PartialEq)]
pub struct Pointed {
    pub message_id: String,
    pub from_me: bool,
    pub author: Option<UserId>,
    pub sent_at: DateTime<Utc>,
    pub text: String,
    pub media: Option<Media>,
    pub album_id: Option<String>,
    /// The words the person marked.
    pub quote: Option<String>,
}

/// None for what is no message of a person: joins, pins, channel posts.
pub fn incoming(message: &Message, me: &BotIdentity, routes: &Routes) -> Option<Incoming> {
    let sender = message.from.as_ref().filter(|user| !user.is_bot || user.is_anonymous())?;
    let media = media(message);
    let raw_text = text_of(message);
    if raw_text.is_empty() && media.is_none() {
        return None;
    }
    let reply = pointed(message, me);
    let replies_to_me = reply.as_ref().is_some_and(|target| target.from_me);
    let mentioned = without_mention(&raw_text, me).len() != raw_text.len() || mentions(message, me);
    let Words { text, commanded } = words(message, me, routes);
    Some(Incoming {
        conversation: Conversation::telegram(message.chat.id.0),
        message_id: message.id.0.to_string(),
        sender: UserId(sender.id.0.to_string()),
        sender_name: Some(sender.full_name()).filter(|name| !sender.is_bot && !name.trim().is_empty()),
        sent_at: message.date,
        text: match forwarded_from(message) {
            Some(name) => format!("(forwarded from {name})\n{text}"),
            None => text,
        },
        media,
        album_id: message.media_group_id().map(|id| id.0.clone()),
        reply,
        addressed: message.chat.is_private() || mentioned || replies_to_me || commanded.is_some(),
        commanded,
    })
}

/// Text or caption, as typed.
pub fn text_of(message: &Message) -> String {
    message.text().or(message.caption()).unwrap_or_default().replace('\0', "")
}

/// What a message says, as it is stored, and whom it commands.
pub struct Words {
    pub text: String,
    pub commanded: Option<String>,
}

pub fn words(message: &Message, me: &BotIdentity, routes: &Routes) -> Words {
    let text = without_mention(&text_of(message), me);
    // What someone else wrote commands nobody here.
    let own = message.forward_origin().is_none();
    match own.then(|| routes.parse_command(&text, &me.username)).flatten() {
        Some(found) => Words { text: found.words.to_owned(), commanded: Some(found.agent.to_owned()) },
        None => Words { text, commanded: None },
    }
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

fn pointed(message: &Message, me: &BotIdentity) -> Option<Pointed> {
    let target = message.reply_to_message()?;
    Some(Pointed {
        message_id: target.id.0.to_string(),
        from_me: target.from.as_ref().is_some_and(|user| user.id.0 == me.user_id),
        author: target.from.as_ref().map(|user| UserId(user.id.0.to_string())),
        sent_at: target.date,
        text: text_of(target),
        media: media(target),
        album_id: target.media_group_id().map(|id| id.0.clone()),
        quote: message.quote().map(|quote| quote.text.replace('\0', "")),
    })
}

fn mentions(message: &Message, me: &BotIdentity) -> bool {
    let entities = message.parse_entities().or_else(|| message.parse_caption_entities()).unwrap_or_default();
    entities.iter().any(|entity: &MessageEntityRef<'_>| match entity.kind() {
        MessageEntityKind::Mention => entity.text().eq_ignore_ascii_case(&format!("@{}", me.username)),
        MessageEntityKind::TextMention { user } => user.id.0 == me.user_id,
        MessageEntityKind::BotCommand => {
            entity.text().to_ascii_lowercase().ends_with(&format!("@{}", me.username.to_ascii_lowercase()))
        }
        _ => false,
    })
}

/// "@bot crop it" and "crop it @bot" both say "crop it".
fn without_mention(text: &str, me: &BotIdentity) -> String {
    let name = format!("@{}", me.username);
    let trimmed = text.trim();
    let starts = trimmed.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(&name));
    if starts && !trimmed[name.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_') {
        return trimmed[name.len()..].trim_start_matches([',', ':', ' ', '\n']).to_owned();
    }
    let tail = trimmed.len().checked_sub(name.len()).filter(|&at| trimmed.is_char_boundary(at));
    match tail {
        Some(at) if trimmed[at..].eq_ignore_ascii_case(&name) && trimmed[..at].ends_with([' ', '\n']) => {
            trimmed[..at].trim_end_matches([',', ' ', '\n']).to_owned()
        }
        _ => text.to_owned(),
    }
}

fn file(meta: &FileMeta, filename: Option<String>, what: &'static str) -> Media {
    // teloxide's stand-in for a size that is missing.
    let bytes = (meta.size != u32::MAX).then_some(u64::from(meta.size));
    Media { file_id: meta.id.0.clone(), filename, bytes, what }
}

/// The one file a message carries; of a photo, its largest size.
fn media(message: &Message) -> Option<Media> {
    if let Some(sizes) = message.photo() {
        let largest = sizes.iter().max_by_key(|size| u64::from(size.width) * u64::from(size.height))?;
        return Some(file(&largest.file, None, "photo"));
    }
    if let Some(animation) = message.animation() {
        return Some(file(&animation.file, animation.file_name.clone(), "animation"));
    }
    if let Some(document) = message.document() {
        return Some(file(&document.file, document.file_name.clone(), "file"));
    }
    if let Some(video) = message.video() {
        return Some(file(&video.file, video.file_name.clone(), "video"));
    }
    if let Some(audio) = message.audio() {
        return Some(file(&audio.file, audio.file_name.clone(), "audio"));
    }
    if let Some(voice) = message.voice() {
        return Some(file(&voice.file, None, "voice message"));
    }
    if let Some(note) = message.video_note() {
        return Some(file(&note.file, None, "video message"));
    }
    message.sticker().map(|sticker| file(&sticker.file, None, "sticker"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn me() -> BotIdentity {
        BotIdentity { user_id: 1, username: "PhotoBot".into() }
    }

    #[test]
    fn a_file_of_unknown_size_is_not_taken_for_a_huge_one() {
        let message = serde_json::json!({ "message_id": 5, "date": 0, "chat": { "id": 1, "type": "private" },
            "from": { "id": 1, "is_bot": false, "first_name": "Ann" },
            "document": { "file_id": "f", "file_unique_id": "u" } });
        let message: Message = serde_json::from_value(message).unwrap();
        let media = incoming(&message, &me(), &Routes::default()).unwrap().media.unwrap();
        assert_eq!((media.file_id.as_str(), media.bytes), ("f", None));
    }

    #[test]
    fn a_mention_at_either_end_is_not_part_of_the_request() {
        for text in ["@photobot crop it", "@PhotoBot, crop it", "crop it @photobot", "crop it, @PHOTOBOT"] {
            assert_eq!(without_mention(text, &me()), "crop it", "{text}");
        }
        for text in ["@photobots crop it", "mail x@photobot", "ask @photobot to crop it"] {
            assert_eq!(without_mention(text, &me()), text);
        }
        assert_eq!(without_mention("@photobot", &me()), "");
    }
}
