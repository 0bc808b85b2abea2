//! Who may change what a viewer sees. In a private conversation, the person who may see it may change everything. In a
//! group, a message is changed by its author, an answer is annotated by the person who asked, and an admin may do both;
//! only an admin deletes the conversation.

use super::{Standing, Viewer};
use crate::{
    domain::{Attachment, Conversation, Message, Role, UserId},
    store::{Store, StoreError},
};

impl Viewer {
    /// Whether this viewer may change and delete everything in a conversation that they may see.
    pub fn may_change_all(&self, conversation: &Conversation) -> bool {
        self.standing == Standing::Admin || !conversation.is_shared()
    }

    /// Whether this viewer may change the words of a message.
    pub fn may_rewrite(&self, message: &Message) -> bool {
        let is_author = message.role == Role::User && message.user_id.as_ref() == Some(&self.user);
        is_author || self.may_change_all(&message.conversation)
    }

    /// Whether this viewer may change tags and references of a message. `asker` is the person whose turn it belongs to.
    pub fn may_annotate(&self, message: &Message, asker: Option<&UserId>) -> bool {
        let asked = message.role != Role::User && asker == Some(&self.user);
        asked || self.may_rewrite(message)
    }

    /// As `may_annotate`, with the asker from the store.
    pub async fn may_annotate_stored(&self, store: &Store, message: &Message) -> Result<bool, StoreError> {
        if self.may_annotate(message, None) {
            return Ok(true);
        }
        let Some(turn) = message.turn_id else { return Ok(false) };
        let asker = store.turn(turn).await?.map(|turn| turn.user_id);
        Ok(self.may_annotate(message, asker.as_ref()))
    }

    /// Whether this viewer may delete a file: in a group, the person who sent it or asked for it.
    pub fn may_delete_file(&self, file: &Attachment) -> bool {
        file.user_id == self.user || self.may_change_all(&file.conversation)
    }
}
