//! What a turn says in the end, and the sends an interface plans for it.

use super::{Attachment, AttachmentId};
use serde_json::Value;
use std::str::FromStr;

/// The agent's final word: Markdown text and the files that go with it, in order. Never both empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SendKind {
    Text,
    Photo,
    MediaGroup,
    Document,
}

impl SendKind {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Photo => "photo",
            Self::MediaGroup => "media_group",
            Self::Document => "document",
        }
    }
}

impl FromStr for SendKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "text" => Ok(Self::Text),
            "photo" => Ok(Self::Photo),
            "media_group" => Ok(Self::MediaGroup),
            "document" => Ok(Self::Document),
            other => Err(format!("unknown kind of send {other:?}")),
        }
    }
}

/// One send as the outbox keeps it: the payload is the interface's own business.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSend {
    pub kind: SendKind,
    pub payload: Value,
    /// How many messages will appear: what pacing counts.
    pub items: i64,
    /// The attachments it carries, in order.
    pub attachments: Vec<AttachmentId>,
}
