//! What a reply points at.

use super::{AttachmentId, MessageId};
use serde::{Deserialize, Serialize};

/// The target of a reply. Each part may be missing: a quote of a message that was never stored is still worth showing to
/// the model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyTo {
    /// The stored message, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<MessageId>,
    /// The attachment that the message replied to carries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attachment: Option<AttachmentId>,
    /// The words that the person selected, or the text of a message that was never stored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quote: Option<String>,
}
