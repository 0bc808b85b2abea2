//! Which files a request shows to the model: the most important first, within the vendor's limits. The others stay
//! markers, which the model can open with `look_at_image`.

use super::{LoadedFile, MediaSource, Prompt, PromptMessage, ShownFile, Vendor, formats::LoadedFiles};
use crate::domain::Attachment;

/// The longest side of a close-up in pixels: the size at which vendors show pictures to their models, so that the
/// numbers of a grid are readable. One size for all vendors, because the tool does not know the vendor.
pub const MAX_LOOK_SIDE: u32 = 1568;

/// How much one request may show.
#[derive(Debug, Clone, Copy)]
pub struct SelectionLimits {
    pub max_pictures: usize,
    /// The longest side of a picture in pixels. Vendors scale larger pictures down.
    pub max_side: u32,
    /// Of all files of a request together, before base64.
    pub max_bytes: usize,
    /// MIME types that are sent unchanged.
    pub file_types: &'static [&'static str],
    pub max_file_bytes: i64,
}

const PDF: &str = "application/pdf";
const MB: usize = 1_000_000;

impl SelectionLimits {
    /// `official` is true for the vendor's own service, false for a compatible server.
    pub fn of(vendor: Vendor, model: &str, official: bool) -> Self {
        match vendor {
            Vendor::Anthropic => Self {
                max_pictures: 10,
                max_side: 1568,
                max_bytes: 20 * MB,
                file_types: &[PDF],
                max_file_bytes: 20 * MB as i64,
            },
            Vendor::Gemini => Self {
                max_pictures: 10,
                max_side: 1536,
                max_bytes: 14 * MB,
                file_types: &[
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
                max_file_bytes: 12 * MB as i64,
            },
            Vendor::OpenAi => Self {
                max_pictures: 8,
                max_side: 1280,
                max_bytes: 20 * MB,
                // Compatible servers reject unknown parts; OpenAI accepts audio with some models only.
                file_types: match (official, model.contains("audio")) {
                    (true, true) => &[PDF, "audio/mpeg", "audio/wav", "audio/x-wav"],
                    (true, false) => &[PDF],
                    (false, _) => &[],
                },
                max_file_bytes: 15 * MB as i64,
            },
        }
    }

    /// Loads the files that fit, in order of importance.
    pub async fn load_files(&self, prompt: &Prompt, media: &dyn MediaSource) -> LoadedFiles {
        let mut files = LoadedFiles::default();
        let (mut pictures, mut bytes) = (0, 0);
        for shown in self.by_importance(prompt) {
            if files.contains(shown) {
                continue;
            }
            let file = &shown.attachment;
            let loaded = if file.is_image() {
                if pictures == self.max_pictures {
                    continue;
                }
                let max_side = if shown.is_close_up() { MAX_LOOK_SIDE } else { self.max_side };
                // One at a time: each may be a full-size decode, and a turn must not fill the worker pool.
                media.picture(shown, max_side).await
            } else if self.accepts(file, self.max_bytes - bytes) {
                media.file(file).await.map(|loaded| LoadedFile { mime: common_mime(&loaded.mime), ..loaded })
            } else {
                None
            };
            let Some(loaded) = loaded.filter(|loaded| bytes + loaded.bytes.len() <= self.max_bytes) else {
                continue;
            };
            bytes += loaded.bytes.len();
            pictures += usize::from(loaded.is_image());
            files.add(shown, loaded);
        }
        files
    }

    /// Whether a file may be sent unchanged with `bytes_left` bytes left.
    fn accepts(&self, file: &Attachment, bytes_left: usize) -> bool {
        let small = file.size <= self.max_file_bytes
            && usize::try_from(file.size).is_ok_and(|size| size <= bytes_left);
        small && self.file_types.contains(&file.mime_type.as_str())
    }

    /// What the model looked at in this turn comes first, newest first. At most half of the pictures are such looks while
    /// files of messages wait.
    fn by_importance<'a>(&self, prompt: &'a Prompt) -> impl Iterator<Item = &'a ShownFile> {
        let looks: Vec<&ShownFile> = prompt.messages.iter().rev().flat_map(shown_by_tool).collect();
        let of_messages = prompt.messages.iter().rev().flat_map(shown_by_user);
        let (newest, older) = looks.split_at(looks.len().min(self.max_pictures / 2));
        [newest.to_vec(), of_messages.collect(), older.to_vec()].into_iter().flatten()
    }
}

/// Audio types have several names; vendors accept the common one.
fn common_mime(mime: &str) -> String {
    match mime {
        // A voice message is Opus in an Ogg container.
        "audio/opus" => "audio/ogg".to_owned(),
        other => other.replace("audio/x-", "audio/"),
    }
}

fn shown_by_tool(message: &PromptMessage) -> &[ShownFile] {
    match message {
        PromptMessage::Tool { shown, .. } => shown,
        _ => &[],
    }
}

fn shown_by_user(message: &PromptMessage) -> &[ShownFile] {
    match message {
        PromptMessage::User { shown, .. } => shown,
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
