//! `TelegramFile`: the one file that a message carries.

use teloxide::types::{ExternalReplyInfo, ExternalReplyInfoKind as Kind, FileMeta, Message, PhotoSize};

/// A file that Telegram holds for the bot.
#[derive(Debug, Clone, PartialEq)]
pub struct TelegramFile {
    pub file_id: String,
    pub filename: Option<String>,
    /// None if Telegram does not say.
    pub bytes: Option<u64>,
    /// What people call it: “photo”, “voice message”.
    pub kind: &'static str,
}

impl TelegramFile {
    /// How to name it to the person who sent it.
    pub fn name(&self) -> String {
        self.filename.clone().unwrap_or_else(|| format!("the {}", self.kind))
    }

    fn new(meta: &FileMeta, filename: Option<String>, kind: &'static str) -> Self {
        // teloxide sets the maximum where the size is missing.
        let bytes = (meta.size != u32::MAX).then_some(u64::from(meta.size));
        Self { file_id: meta.id.0.clone(), filename, bytes, kind }
    }

    /// The file of a message. Of a photo, its largest size.
    pub(super) fn of_message(message: &Message) -> Option<Self> {
        if let Some(sizes) = message.photo() {
            return Self::of_photo(sizes);
        }
        if let Some(animation) = message.animation() {
            return Some(Self::new(&animation.file, animation.file_name.clone(), "animation"));
        }
        if let Some(document) = message.document() {
            return Some(Self::new(&document.file, document.file_name.clone(), "file"));
        }
        if let Some(video) = message.video() {
            return Some(Self::new(&video.file, video.file_name.clone(), "video"));
        }
        if let Some(audio) = message.audio() {
            return Some(Self::new(&audio.file, audio.file_name.clone(), "audio"));
        }
        if let Some(voice) = message.voice() {
            return Some(Self::new(&voice.file, None, "voice message"));
        }
        if let Some(note) = message.video_note() {
            return Some(Self::new(&note.file, None, "video message"));
        }
        message.sticker().map(|sticker| Self::new(&sticker.file, None, "sticker"))
    }

    fn of_photo(sizes: &[PhotoSize]) -> Option<Self> {
        let largest = sizes.iter().max_by_key(|size| u64::from(size.width) * u64::from(size.height))?;
        Some(Self::new(&largest.file, None, "photo"))
    }

    /// The file of a message of another chat or topic that a reply quotes.
    pub(super) fn of_external(reply: &ExternalReplyInfo) -> Option<Self> {
        Some(match &reply.kind {
            Kind::Photo(sizes) => return Self::of_photo(sizes),
            Kind::Animation(animation) => {
                Self::new(&animation.file, animation.file_name.clone(), "animation")
            }
            Kind::Document(document) => Self::new(&document.file, document.file_name.clone(), "file"),
            Kind::Video(video) => Self::new(&video.file, video.file_name.clone(), "video"),
            Kind::Audio(audio) => Self::new(&audio.file, audio.file_name.clone(), "audio"),
            Kind::Voice(voice) => Self::new(&voice.file, None, "voice message"),
            Kind::VideoNote(note) => Self::new(&note.file, None, "video message"),
            Kind::Sticker(sticker) => Self::new(&sticker.file, None, "sticker"),
            _ => return None,
        })
    }
}
