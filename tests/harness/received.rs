//! Messages and API calls of the bot, for assertions of tests.

use super::people::MessageRef;
use bytes::Bytes;
use serde_json::Value;
use std::time::Instant;

/// A message of the bot as the person sees it. Absent text and captions are empty strings.
#[derive(Clone, PartialEq)]
pub struct Received {
    pub chat_id: i64,
    /// None outside topics.
    pub topic: Option<i32>,
    pub message_id: i32,
    pub text: String,
    pub caption: String,
    /// Of the text or of the caption, whichever there is.
    pub entities: Vec<Value>,
    /// The bytes as the bot uploaded them. Unlike Telegram, the stand-in does not recompress.
    pub photo: Option<Bytes>,
    pub document: Option<(String, Bytes)>,
    pub reply_to: Option<i32>,
    pub media_group_id: Option<String>,
    pub buttons: Vec<Button>,
    /// The only person who sees it; none if all do.
    pub only_for: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Button {
    pub text: String,
    pub data: String,
}

impl Received {
    pub fn button(&self, text: &str) -> &Button {
        let found = self.buttons.iter().find(|button| button.text.contains(text));
        found.unwrap_or_else(|| panic!("no button {text:?} under {self:?}"))
    }
}

impl From<&Received> for MessageRef {
    fn from(received: &Received) -> MessageRef {
        MessageRef { chat_id: received.chat_id, message_id: received.message_id, update_id: None }
    }
}

/// Short, because failed assertions print it: bytes become their number.
impl std::fmt::Debug for Received {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "#{}", self.message_id)?;
        if let Some(topic) = self.topic {
            write!(f, " in topic {topic}")?;
        }
        if let Some(id) = self.reply_to {
            write!(f, " ↩#{id}")?;
        }
        if let Some(photo) = &self.photo {
            write!(f, " photo({} bytes)", photo.len())?;
        }
        if let Some((name, bytes)) = &self.document {
            write!(f, " document({name:?}, {} bytes)", bytes.len())?;
        }
        if let Some(group) = &self.media_group_id {
            write!(f, " album {group}")?;
        }
        for words in [&self.text, &self.caption].into_iter().filter(|words| !words.is_empty()) {
            write!(f, " {words:?}")?;
        }
        for button in &self.buttons {
            write!(f, " [{}]", button.text)?;
        }
        Ok(())
    }
}

/// One request of the bot, and the answer.
#[derive(Clone, Debug)]
pub struct Call {
    pub method: String,
    pub chat_id: Option<i64>,
    pub params: Value,
    pub at: Instant,
    /// Status and description; none before the answer, or if the connection was cut.
    pub answer: Option<(u16, String)>,
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut params = self.params.to_string();
        if let Some((end, _)) = params.char_indices().nth(160) {
            params.truncate(end);
            params.push('…');
        }
        write!(f, "{} {params}", self.method)?;
        match &self.answer {
            Some((200, _)) => Ok(()),
            Some((status, description)) => write!(f, " → {status} {description}"),
            None => write!(f, " → (no answer yet)"),
        }
    }
}
