//! What a model is shown of all that could be shown: the most important first, within what its vendor takes and what
//! is worth its price. The rest stay as markers, which the model can open.

use super::{Loaded, MediaSource, Prompt, PromptMessage, Shown, Vendor, formats::Album};
use crate::domain::Attachment;

/// The longest side of a closer look, whoever looks: as large as the vendors show a picture to their models, so that
/// the numbers of a grid can be read. One size for all, because the tool that looks does not know who asked.
pub const LOOK_LONGEST: u32 = 1568;

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
            Vendor::Anthropic => Self {
                pictures: 10,
                longest: 1568,
                bytes: 20 * MB,
                files: &[PDF],
                file_bytes: 20 * MB as i64,
            },
            Vendor::Gemini => Self {
                pictures: 10,
                longest: 1536,
                bytes: 14 * MB,
                files: &[
                    PDF,
                    "audio/mpeg",
                    "audio/wav",
                    "audio/x-wav",
                    "audio/ogg",
                    "audio/opus",
                    "audio/flac",
                    "audio/x-flac",
                    "audio/aac",
                    "audio/aiff",
                    "audio/x-aiff",
                    "audio/mp4",
                    "audio/m4a",
                    "audio/x-m4a",
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

    /// Loads what fits.
    pub async fn look(&self, prompt: &Prompt, media: &dyn MediaSource) -> Album {
        let mut album = Album::default();
        let (mut pictures, mut bytes) = (0, 0);
        for shown in self.by_importance(prompt) {
            if album.has(shown) {
                continue;
            }
            let file = &shown.attachment;
            let loaded = if file.is_image() {
                if pictures == self.pictures {
                    continue;
                }
                let longest = if shown.is_closer() { LOOK_LONGEST } else { self.longest };
                // One after the other: each may be a full-size decode, and all at once would be felt by everyone else.
                media.picture(shown, longest).await
            } else if self.takes(file, self.bytes - bytes) {
                media.file(file).await.map(|loaded| Loaded { mime: usual_name(&loaded.mime), ..loaded })
            } else {
                None
            };
            let Some(loaded) = loaded.filter(|loaded| bytes + loaded.bytes.len() <= self.bytes) else {
                continue;
            };
            bytes += loaded.bytes.len();
            pictures += usize::from(loaded.is_image());
            album.add(shown, loaded);
        }
        album
    }

    /// Whether a file may be given as it is, with so many bytes left.
    fn takes(&self, file: &Attachment, left: usize) -> bool {
        let small = file.size <= self.file_bytes && usize::try_from(file.size).is_ok_and(|size| size <= left);
        small && self.files.contains(&file.mime_type.as_str())
    }

    /// What the model just asked to see comes first, the last look before the others. But a turn of many looks keeps
    /// half of the places for what it is about.
    fn by_importance<'a>(&self, prompt: &'a Prompt) -> impl Iterator<Item = &'a Shown> {
        let looked: Vec<&Shown> = prompt.messages.iter().rev().flat_map(looked).collect();
        let given = prompt.messages.iter().rev().flat_map(given);
        let (newest, older) = looked.split_at(looked.len().min(self.pictures / 2));
        [newest.to_vec(), given.collect(), older.to_vec()].into_iter().flatten()
    }
}

/// Sound goes by several names; vendors know one of each.
fn usual_name(mime: &str) -> String {
    match mime {
        // A voice message: the sound is Opus, the file around it Ogg.
        "audio/opus" => "audio/ogg".to_owned(),
        other => other.replace("audio/x-", "audio/"),
    }
}

fn looked(message: &PromptMessage) -> &[Shown] {
    match message {
        PromptMessage::Tool { shown, .. } => shown,
        _ => &[],
    }
}

fn given(message: &PromptMessage) -> &[Shown] {
    match message {
        PromptMessage::User { shown, .. } => shown,
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
