//! Whoever asks over HTTP, and what they may see: conversations they take part in, or all of them.

use super::Scope;
use crate::{
    domain::{Attachment, AttachmentId, Conversation, InterfaceType, Session, SessionId, UserId},
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
    /// The person who sits at this machine.
    pub fn local() -> Self {
        Self { user: UserId("local".into()), standing: Standing::Admin }
    }

    /// The way into a conversation; none if it is not theirs to see, which looks the same as if it were not there.
    pub async fn enter(&self, store: &Store, place: &Conversation) -> Result<Option<Scope>, StoreError> {
        let welcome = self.standing == Standing::Admin || store.is_member(place, &self.user).await?;
        Ok(welcome.then(|| Scope { conversation: place.clone(), user: self.user.clone() }))
    }

    /// A session of theirs, and the way into its conversation.
    pub async fn session(
        &self,
        store: &Store,
        id: SessionId,
    ) -> Result<Option<(Session, Scope)>, StoreError> {
        let Some(session) = store.session(id).await? else { return Ok(None) };
        let scope = self.enter(store, &session.conversation).await?;
        Ok(scope.map(|scope| (session, scope)))
    }

    /// A file of theirs, and the way into its conversation.
    pub async fn attachment(
        &self,
        store: &Store,
        id: AttachmentId,
    ) -> Result<Option<(Attachment, Scope)>, StoreError> {
        let Some(file) = store.attachment_anywhere(id).await? else { return Ok(None) };
        let scope = self.enter(store, &file.conversation).await?;
        Ok(scope.map(|scope| (file, scope)))
    }

    /// Where files of theirs wait for the message that carries them.
    pub fn uploads(&self) -> Scope {
        let place = Conversation::new(InterfaceType::Web, format!("uploads-{}", self.user));
        Scope { conversation: place, user: self.user.clone() }
    }

    /// All sessions they see.
    pub fn sees(&self) -> SessionFilter {
        let seen_by = (self.standing == Standing::Member).then(|| self.user.clone());
        SessionFilter { seen_by, ..SessionFilter::default() }
    }
}
