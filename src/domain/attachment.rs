//! A stored file: whose it is, what its bytes are, and how it came to be.

use super::{AttachmentId, Conversation};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

text_enum! {
    AttachmentSource "a source" { User = "user", Tool = "tool" }
}

/// How an output was made from its parents: enough to make it again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    pub tool: String,
    pub arguments: Value,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    pub attachment_id: AttachmentId,
    pub conversation: Conversation,
    pub source: AttachmentSource,
    pub sha256: String,
    /// From the bytes, never from the name.
    pub mime_type: String,
    pub filename: String,
    pub description: Option<String>,
    pub size: i64,
    /// Upright, and only for pictures.
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub object_key: String,
    pub created_at: DateTime<Utc>,
    pub parents: Vec<AttachmentId>,
    pub recipe: Option<Recipe>,
}

impl Attachment {
    /// Whether there is a file behind it. Until somebody needs one, a picture in the middle of a chain of edits is
    /// only its recipe.
    pub fn is_printed(&self) -> bool {
        !self.object_key.is_empty()
    }

    pub fn is_image(&self) -> bool {
        self.mime_type.starts_with("image/")
    }
}
