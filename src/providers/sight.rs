//! What a model is shown of all that could be shown: the most important first, within what its vendor takes and what
//! is worth its price. The rest stay as markers, which the model can open.

use super::{
    MediaSource, Prompt, PromptMessage, Shown, Vendor,
    formats::Album,
};

/// How much one request may show.
#[derive(Debug, Clone, Copy)]
pub struct Sight {
    pub pictures: usize,
    /// The longest side of a picture. Larger ones are scaled down by the vendors themselves.
    pub longest: u32,
    /// All pictures and files of a request together, as they are on disk; on the wire they are a third longer.
    pub bytes: usize,
    /// Types of files that are given as they are.
    pub files: &'static [&'static str],
    pub file_bytes: i64,
}

const PDF: &str = "application/pdf";
const MB: usize = 1_000_000;

impl Sight {
    /// `official` tells the vendor's own service from a server that only speaks its language.
    pub fn of(vendor: Vendor, model: &str, official: bool) -> Self {
        match vendor {
            Vendor::Anthropic => {
                Self { pictures: 10, longest: 1568, bytes: 20 * MB, files: &[PDF], file_bytes: 20 * MB as i64 }
            }
            Vendor::Gemini => Self {
                pictures: 10,
                longest: 1536,
                bytes: 14 * MB,
                files: &[
                    PDF, "audio/mpeg", "audio/wav", "audio/x-wav", "audio/ogg", "audio/flac", "audio/x-flac",
                    "audio/aac", "audio/aiff", "audio/mp4", "audio/m4a", "audio/x-m4a",
                ],
                file_bytes: 12 * MB as i64,
            },
            Vendor::OpenAi => Self {
                pictures: 8,
                longest: 1280,
                bytes: 20 * MB,
                // A server of one's own refuses what it does not know; OpenAI hears only with some models.
                files: match (official, model.contains("audio")) {
                    (true, true) => &[PDF, "audio/mpeg", "audio/wav", "audio/x-wav"],
                    (true, false) => &[PDF],
                    (false, _) => &[],
                },
                file_bytes: 15 * MB as i64,
            },
        }
    }

    /// Loads what fits. What a tool just showed comes before all else, the last first: the model asked for it.
    pub async fn look(&self, prompt: &Prompt, media: &dyn MediaSource) -> Album {
        let mut album = Album::default();
        let (mut pictures, mut bytes) = (0, 0);
        for shown in by_importance(prompt) {
            if album.has(shown) {
                continue;
            }
            let file = &shown.attachment;
            let loaded = if file.is_image() {
                if pictures == self.pictures {
                    continue;
                }
                // One after the other: each may be a full-size decode, and all at once would be felt by everyone else.
                media.picture(shown, self.longest).await
            } else if self.files.contains(&file.mime_type.as_str()) && file.size <= self.file_bytes {
                media.file(file).await
            } else {
                None
            };
            let Some(loaded) = loaded.filter(|loaded| bytes + loaded.bytes.len() <= self.bytes) else { continue };
            bytes += loaded.bytes.len();
            pictures += usize::from(loaded.is_image());
            album.add(shown, loaded);
        }
        album
    }
}

fn by_importance(prompt: &Prompt) -> impl Iterator<Item = &Shown> {
    let looked = prompt.messages.iter().rev().flat_map(|message| match message {
        PromptMessage::Tool { shown, .. } => shown.as_slice(),
        _ => &[],
    });
    let given = prompt.messages.iter().rev().flat_map(|message| match message {
        PromptMessage::User { shown, .. } => shown.as_slice(),
        _ => &[],
    });
    looked.chain(given)
}
