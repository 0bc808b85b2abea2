//! The person behind an HTTP request, and what this person may see: their own conversations, or all of them.

use super::Scope;
use crate::{
    domain::{Attachment, AttachmentId, Conversation, Session, SessionId, UserId},
    store::{SessionFilter, Store, StoreError},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// Sees everything.
    Admin,
    /// Sees the conversations they take part in.
    Member,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub user: UserId,
    pub standing: Standing,
}

impl Viewer {
    /// The user of a page without login: the person at this machine.
    pub fn local() -> Self {
        Self { user: UserId("local".into()), standing: Standing::Admin }
    }

    /// The scope of a conversation. None if this viewer may not see it: callers cannot tell that from a missing one.
    pub async fn scope(
        &self,
        store: &Store,
        conversation: &Conversation,
    ) -> Result<Option<Scope>, StoreError> {
        let may_see = self.standing == Standing::Admin || store.is_member(conversation, &self.user).await?;
        Ok(may_see.then(|| Scope { conversation: conversation.clone(), user: self.user.clone() }))
    }

    /// A session that this viewer may see, and the scope of its conversation.
    pub async fn session(
        &self,
        store: &Store,
        id: SessionId,
    ) -> Result<Option<(Session, Scope)>, StoreError> {
        let Some(session) = store.session(id).await? else { return Ok(None) };
        let scope = self.scope(store, &session.conversation).await?;
        Ok(scope.map(|scope| (session, scope)))
    }

    /// A file that this viewer may see, and the scope of its conversation.
    pub async fn attachment(
        &self,
        store: &Store,
        id: AttachmentId,
    ) -> Result<Option<(Attachment, Scope)>, StoreError> {
        let Some(file) = store.attachment_of_any_conversation(id).await? else { return Ok(None) };
        let scope = self.scope(store, &file.conversation).await?;
        Ok(scope.map(|scope| (file, scope)))
    }

    /// The conversation that holds uploaded files until a message uses them.
    pub fn uploads(&self) -> Scope {
        Scope { conversation: Conversation::uploads(&self.user), user: self.user.clone() }
    }

    /// A filter for all sessions that this viewer may see.
    pub fn visible_sessions(&self) -> SessionFilter {
        let seen_by = (self.standing == Standing::Member).then(|| self.user.clone());
        SessionFilter { seen_by, ..SessionFilter::default() }
    }
}
