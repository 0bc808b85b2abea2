//! What the on-device models found in a file.

use super::AttachmentId;
use serde_json::Value;

/// The things of one kind in one file.
#[derive(Debug, Clone, PartialEq)]
pub struct Findings {
    pub attachment_id: AttachmentId,
    /// What was looked for: faces, people, objects, text, codes.
    pub kind: String,
    pub model: String,
    /// Findings of an older version are looked for again.
    pub version: i64,
    /// A list of things with label, score, region and text.
    pub found: Value,
    /// Labels and text in lower case.
    pub words: String,
}
