//! Sample messages and files for the tests of formats and clients.

use super::LoadedFiles;
use crate::{
    domain::{Attachment, AttachmentId, AttachmentSource, Content, Conversation, ToolCall},
    providers::{LoadedFile, ModelSettings, PromptMessage, ShownFile},
};
use bytes::Bytes;

pub fn picture(number: u128) -> Attachment {
    Attachment {
        attachment_id: AttachmentId(uuid::Uuid::from_u128(number)),
        conversation: Conversation::telegram(1),
        user_id: crate::domain::UserId("100".into()),
        source: AttachmentSource::User,
        mime_type: "image/jpeg".into(),
        filename: "image.jpg".into(),
        description: None,
        size: 1,
        width: Some(1),
        height: Some(1),
        content: Content::stored("none", "none"),
        created_at: chrono::DateTime::UNIX_EPOCH,
        parents: Vec::new(),
    }
}

/// Each of these pictures, loaded as the two bytes of its number.
pub fn loaded_pictures(numbers: &[u128]) -> LoadedFiles {
    let mut files = LoadedFiles::default();
    for number in numbers {
        let bytes = Bytes::copy_from_slice(&(*number as u16).to_be_bytes());
        files.add(&ShownFile::whole(picture(*number)), LoadedFile { mime: "image/jpeg".into(), bytes });
    }
    files
}

pub fn settings(model: &str) -> ModelSettings {
    ModelSettings { model: model.into(), temperature: None, options: Default::default(), stream: false }
}

pub fn user(text: &str, images: Vec<Attachment>) -> PromptMessage {
    PromptMessage::User { text: text.into(), shown: images.into_iter().map(ShownFile::whole).collect() }
}

pub fn assistant(text: &str, tool_calls: Vec<ToolCall>) -> PromptMessage {
    PromptMessage::Assistant { text: text.into(), tool_calls, provider_metadata: None }
}

pub fn call(id: &str, name: &str, arguments: &str) -> ToolCall {
    ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

pub fn tool(call_id: &str, text: &str) -> PromptMessage {
    tool_showing(call_id, text, Vec::new())
}

pub fn tool_showing(call_id: &str, text: &str, images: Vec<Attachment>) -> PromptMessage {
    PromptMessage::Tool {
        call_id: call_id.into(),
        name: "crop_image".into(),
        text: text.into(),
        shown: images.into_iter().map(ShownFile::whole).collect(),
    }
}
