//! `SendRequest`: one request to Telegram, as the outbox stores it, and the shape to try when Telegram refuses it.

use super::formatted::Formatted;
use crate::{
    domain::{Attachment, AttachmentId, PlannedSend, SendKind, UserId},
    telegram::messages,
};
use serde::{Deserialize, Serialize};
use serde_json::json;

/// One request to Telegram. Its JSON is the `payload` of an outbox row.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SendRequest {
    Text {
        body: Formatted,
    },
    /// A text that only this person sees, in a group.
    EphemeralText {
        body: Formatted,
        receiver: UserId,
    },
    /// A link that logs in the person of this private chat. The link is created at delivery, so that the outbox never
    /// holds it.
    LoginLink {},
    /// Opens a topic in this private chat, and greets the person there.
    OpenTopic {
        user: UserId,
    },
    Photo {
        file: SendFile,
        caption: Option<Formatted>,
    },
    /// Two to ten photos. The caption is on the first.
    MediaGroup {
        files: Vec<SendFile>,
        caption: Option<Formatted>,
    },
    Document {
        file: SendFile,
        caption: Option<Formatted>,
    },
    /// Photos of a group that Telegram refused as photos.
    DocumentGroup {
        files: Vec<SendFile>,
        caption: Option<Formatted>,
    },
}

/// A stored file to upload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SendFile {
    pub attachment_id: AttachmentId,
    pub object_key: String,
    pub filename: String,
    pub mime_type: String,
}

impl SendRequest {
    pub fn kind(&self) -> SendKind {
        match self {
            Self::Text { .. } | Self::EphemeralText { .. } | Self::LoginLink {} | Self::OpenTopic { .. } => {
                SendKind::Text
            }
            Self::Photo { .. } => SendKind::Photo,
            Self::MediaGroup { .. } | Self::DocumentGroup { .. } => SendKind::MediaGroup,
            Self::Document { .. } => SendKind::Document,
        }
    }

    pub fn files(&self) -> &[SendFile] {
        match self {
            Self::Text { .. } | Self::EphemeralText { .. } | Self::LoginLink {} | Self::OpenTopic { .. } => {
                &[]
            }
            Self::Photo { file, .. } | Self::Document { file, .. } => std::slice::from_ref(file),
            Self::MediaGroup { files, .. } | Self::DocumentGroup { files, .. } => files,
        }
    }

    pub fn into_planned(self) -> PlannedSend {
        let attachments: Vec<_> = self.files().iter().map(|file| file.attachment_id).collect();
        PlannedSend {
            kind: self.kind(),
            payload: json!(self),
            items: attachments.len().max(1) as i64,
            attachments,
        }
    }

    /// The same content in the next shape that Telegram may accept, after it refused this one: text without entities,
    /// documents instead of photos, a sentence instead of documents, the chat instead of a topic. `None` if no shape is left.
    pub fn fallback(self) -> Option<Self> {
        match self {
            Self::LoginLink {} => None,
            Self::OpenTopic { .. } => Some(Self::Text { body: super::render(&messages::new_conversation()) }),
            // Groups where the bot is no administrator have no such texts.
            Self::EphemeralText { body, .. } => Some(Self::Text { body }),
            Self::Text { body } if body.entities.is_empty() => None,
            Self::Text { body } => Some(Self::Text { body: Formatted::plain(body.text) }),
            Self::Photo { file, caption } => Some(Self::Document { file, caption }),
            Self::MediaGroup { files, caption } => Some(Self::DocumentGroup { files, caption }),
            Self::Document { .. } | Self::DocumentGroup { .. } => {
                let names: Vec<&str> = self.files().iter().map(|file| file.filename.as_str()).collect();
                let text = messages::telegram_refused(&names);
                Some(Self::Text { body: Formatted::plain(text) })
            }
        }
    }

    pub(super) fn set_caption(&mut self, text: Formatted) {
        match self {
            Self::LoginLink {} | Self::OpenTopic { .. } => {}
            Self::Text { body } | Self::EphemeralText { body, .. } => *body = text,
            Self::Photo { caption, .. }
            | Self::MediaGroup { caption, .. }
            | Self::Document { caption, .. }
            | Self::DocumentGroup { caption, .. } => {
                *caption = Some(text);
            }
        }
    }
}

impl From<&Attachment> for SendFile {
    fn from(attachment: &Attachment) -> Self {
        Self {
            attachment_id: attachment.attachment_id,
            // Every file of an answer is stored before its sends are planned, so there is a key.
            object_key: attachment.object_key().unwrap_or_default().to_owned(),
            filename: attachment.filename.clone(),
            mime_type: attachment.mime_type.clone(),
        }
    }
}
