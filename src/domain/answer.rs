//! The answer of a turn, and the sends that an interface plans for it.

use super::{Attachment, AttachmentId};
use serde_json::Value;

/// Markdown text and the files that go with it, in order. Never both empty.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub attachments: Vec<Attachment>,
}

text_enum! {
    SendKind "a kind of send" { Text = "text", Photo = "photo", MediaGroup = "media_group", Document = "document" }
}

/// One send as the outbox stores it. Only the interface knows the format of the payload.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedSend {
    pub kind: SendKind,
    pub payload: Value,
    /// How many messages will appear; pacing counts these.
    pub items: i64,
    /// The attachments it carries, in order.
    pub attachments: Vec<AttachmentId>,
}
