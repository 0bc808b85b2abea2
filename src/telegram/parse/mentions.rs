//! Mentions of the bot: whether a message has one, and its text without one.

use crate::telegram::bot_identity::BotIdentity;
use teloxide::types::{Message, MessageEntity, MessageEntityKind};

/// Whether an entity of the message names the bot.
pub fn has_mention(message: &Message, identity: &BotIdentity) -> bool {
    let text = message.text().or(message.caption()).unwrap_or_default();
    let entities = message.entities().or(message.caption_entities()).unwrap_or_default();
    entities.iter().any(|entity| match &entity.kind {
        MessageEntityKind::Mention => {
            entity_text(text, entity).eq_ignore_ascii_case(&format!("@{}", identity.username))
        }
        MessageEntityKind::TextMention { user } => user.id.0 == identity.user_id,
        MessageEntityKind::BotCommand => {
            let suffix = format!("@{}", identity.username.to_ascii_lowercase());
            entity_text(text, entity).to_ascii_lowercase().ends_with(&suffix)
        }
        _ => false,
    })
}

/// Whether the text is a command with the name of another bot: “/help@another_bot”.
pub fn commands_another_bot(text: &str, identity: &BotIdentity) -> bool {
    let command = text.split_whitespace().next().unwrap_or_default();
    let named = command.strip_prefix('/').and_then(|command| command.split_once('@'));
    named.is_some_and(|(_, name)| !name.eq_ignore_ascii_case(&identity.username))
}

/// The part of the text that an entity covers; empty if it lies outside. teloxide's own function panics then.
fn entity_text(text: &str, entity: &MessageEntity) -> String {
    let end = entity.offset.saturating_add(entity.length);
    let units: Vec<u16> = text.encode_utf16().take(end).skip(entity.offset).collect();
    String::from_utf16_lossy(&units)
}

/// Removes a mention at either end: “@bot crop it” and “crop it @bot” both become “crop it”.
pub fn without_mention(text: &str, identity: &BotIdentity) -> String {
    let name = format!("@{}", identity.username);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_outside_the_text_covers_nothing() {
        let covered = |offset, length| {
            entity_text("🦅 @bot", &MessageEntity::new(MessageEntityKind::Mention, offset, length))
        };
        assert_eq!(covered(3, 4), "@bot");
        assert_eq!((covered(3, 400).as_str(), covered(9, 1).as_str()), ("@bot", ""));
        assert_eq!(covered(usize::MAX, usize::MAX), "");
    }

    #[test]
    fn a_command_names_its_bot() {
        let identity = BotIdentity { user_id: 1, username: "PhotoBot".into() };
        for text in ["/help@another_bot", "/crop@another_bot the photo"] {
            assert!(commands_another_bot(text, &identity), "{text}");
        }
        for text in ["/help", "/help@photobot", "mail a@b", "", "/crop x@y", "@another_bot /help"] {
            assert!(!commands_another_bot(text, &identity), "{text}");
        }
    }

    #[test]
    fn a_mention_at_either_end_is_removed() {
        let identity = BotIdentity { user_id: 1, username: "PhotoBot".into() };
        for text in ["@photobot crop it", "@PhotoBot, crop it", "crop it @photobot", "crop it, @PHOTOBOT"] {
            assert_eq!(without_mention(text, &identity), "crop it", "{text}");
        }
        for text in ["@photobots crop it", "mail x@photobot", "ask @photobot to crop it"] {
            assert_eq!(without_mention(text, &identity), text);
        }
        assert_eq!(without_mention("@photobot", &identity), "");
    }
}
