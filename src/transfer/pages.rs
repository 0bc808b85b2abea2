//! Reads a history in pages, as its reader asks for them, so that a slow reader holds one page in memory.
//!
//! A history may change while it is read. It is read up to the message that was its last one at the start: later messages
//! are left out. A message whose tags, references or text change meanwhile is read as it is then; the ETag of the start
//! is stale then, so that no change can be based on the mixture. If the last message is deleted, because the history was
//! replaced or the session deleted, reading fails instead of ending early.

use crate::{
    domain::{Attachment, AttachmentId, Message, MessageId, Session},
    store::{Detail, HistorySpan, Store, StoreError},
};
use std::collections::HashSet;

#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// Read it again.
    #[error("the history was replaced or deleted while it was read")]
    Replaced,
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error("an entry cannot be written: {0}")]
    Json(#[from] serde_json::Error),
}

/// Some messages of a history and the files that they name.
pub struct HistoryPage {
    pub messages: Vec<Message>,
    pub files: Vec<Attachment>,
}

pub struct HistoryPages {
    store: Store,
    session: Session,
    detail: Detail,
    /// After the first message id, up to and including the second.
    rest: Option<(MessageId, MessageId)>,
}

impl HistoryPages {
    /// The messages of this part of the history; none without a part.
    pub fn new(store: &Store, session: &Session, span: Option<&HistorySpan>, detail: Detail) -> Self {
        let rest = span.map(|span| (MessageId(span.first.0 - 1), span.last));
        Self { store: store.clone(), session: session.clone(), detail, rest }
    }

    pub fn is_at_end(&self) -> bool {
        self.rest.is_none()
    }

    /// The next page, oldest message first. `names_files` tells which files of a message to load.
    pub async fn next(
        &mut self,
        names_files: fn(&Message) -> Vec<AttachmentId>,
    ) -> Result<Option<HistoryPage>, ReadError> {
        let Some((after, last)) = self.rest else { return Ok(None) };
        let messages = self.store.history_page(self.session.session_id, after, last, self.detail).await?;
        let Some(newest) = messages.last().map(|message| message.internal_id) else {
            return Err(ReadError::Replaced);
        };
        self.rest = (newest != last).then_some((newest, last));
        let mut seen = HashSet::new();
        let ids: Vec<AttachmentId> =
            messages.iter().flat_map(names_files).filter(|id| seen.insert(*id)).collect();
        let files = self.store.attachments(&self.session.conversation, &ids).await?;
        Ok(Some(HistoryPage { messages, files }))
    }
}

/// The files that a message carries.
pub fn carried_files(message: &Message) -> Vec<AttachmentId> {
    message.attachments.clone()
}
