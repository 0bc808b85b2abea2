//! Limits on the bytes of files that are kept, and what is kept already.

/// How many bytes of files may be kept. Checked in the transaction that adds a file, so that files that arrive together
/// cannot exceed it together. The default is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quota {
    pub max_conversation_bytes: u64,
    /// Of one person in all conversations.
    pub max_person_bytes: u64,
}

impl Default for Quota {
    fn default() -> Self {
        Self { max_conversation_bytes: u64::MAX, max_person_bytes: u64::MAX }
    }
}

impl Quota {
    /// Checks `added` more bytes. The conversation comes first: that is what a person can do something about.
    pub fn check(&self, kept: StoredBytes, added: StoredBytes) -> Result<(), OverQuota> {
        let exceeds = |kept: u64, added: u64, limit: u64| kept.saturating_add(added) > limit;
        if exceeds(kept.conversation, added.conversation, self.max_conversation_bytes) {
            return Err(OverQuota::Conversation {
                kept: kept.conversation,
                limit: self.max_conversation_bytes,
            });
        }
        if exceeds(kept.person, added.person, self.max_person_bytes) {
            return Err(OverQuota::Person { kept: kept.person, limit: self.max_person_bytes });
        }
        Ok(())
    }
}

/// The limit that a file would exceed, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OverQuota {
    #[error("the conversation keeps {kept} bytes of files; the limit is {limit}")]
    Conversation { kept: u64, limit: u64 },
    #[error("the person keeps {kept} bytes of files; the limit is {limit}")]
    Person { kept: u64, limit: u64 },
}

/// Bytes of the files of one conversation, and of one person in all conversations.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoredBytes {
    pub conversation: u64,
    pub person: u64,
}

impl StoredBytes {
    /// A file that is new to both.
    pub fn both(bytes: u64) -> Self {
        Self { conversation: bytes, person: bytes }
    }
}
