//! An attachment: a file or picture of one conversation. It is either stored, or a recipe that has not been rendered yet.

use super::{AttachmentId, Conversation, UserId};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

text_enum! {
    AttachmentSource "a source" { User = "user", Tool = "tool" }
}

/// The tool call that made an output from its parents. Running it again makes the same output.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Recipe {
    pub tool: String,
    pub arguments: Value,
}

/// Where the bytes of an attachment are.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// In the object store. A file that a tool made keeps its recipe.
    Stored { object_key: String, sha256: String, recipe: Option<Recipe> },
    /// Nowhere yet: an intermediate picture of a chain of edits is rendered when it is first needed.
    Recipe(Recipe),
}

impl Content {
    /// A stored file that no tool made.
    pub fn stored(object_key: impl Into<String>, sha256: impl Into<String>) -> Self {
        Self::Stored { object_key: object_key.into(), sha256: sha256.into(), recipe: None }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Attachment {
    pub attachment_id: AttachmentId,
    pub conversation: Conversation,
    /// The person who sent it, or who asked for it. Counts towards their limit.
    pub user_id: UserId,
    pub source: AttachmentSource,
    /// Detected from the bytes, never from the name.
    pub mime_type: String,
    pub filename: String,
    pub description: Option<String>,
    /// In bytes; 0 until it is stored.
    pub size: i64,
    /// Of the upright picture; none for other files.
    pub width: Option<i64>,
    pub height: Option<i64>,
    pub content: Content,
    pub created_at: DateTime<Utc>,
    pub parents: Vec<AttachmentId>,
}

impl Attachment {
    /// The same content as a file that a person sends now, without how it was made.
    pub fn as_sent_by_person(&self) -> Self {
        let mut sent = Self { source: AttachmentSource::User, ..self.clone() };
        (sent.description, sent.parents, sent.created_at) = (None, Vec::new(), Utc::now());
        if let Content::Stored { recipe, .. } = &mut sent.content {
            *recipe = None;
        }
        sent
    }

    pub fn is_stored(&self) -> bool {
        matches!(self.content, Content::Stored { .. })
    }

    pub fn is_image(&self) -> bool {
        self.mime_type.starts_with("image/")
    }

    /// None until it is stored.
    pub fn object_key(&self) -> Option<&str> {
        match &self.content {
            Content::Stored { object_key, .. } => Some(object_key),
            Content::Recipe(_) => None,
        }
    }

    /// None until it is stored.
    pub fn sha256(&self) -> Option<&str> {
        match &self.content {
            Content::Stored { sha256, .. } => Some(sha256),
            Content::Recipe(_) => None,
        }
    }

    /// None for files that people sent.
    pub fn recipe(&self) -> Option<&Recipe> {
        match &self.content {
            Content::Stored { recipe, .. } => recipe.as_ref(),
            Content::Recipe(recipe) => Some(recipe),
        }
    }

    pub fn recipe_mut(&mut self) -> Option<&mut Recipe> {
        match &mut self.content {
            Content::Stored { recipe, .. } => recipe.as_mut(),
            Content::Recipe(recipe) => Some(recipe),
        }
    }
}
