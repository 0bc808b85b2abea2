//! What the person means, in structure: what they sent, what they point at, and what else is at hand.

use crate::{
    attachments::markers,
    domain::{Attachment, AttachmentId, Message, ReplyTo, Role, Turn},
    providers::Focus,
    store::{Store, StoreError},
};

const MOST_RECENT: usize = 20;
/// A thread's own files are all named, but for threads that no prompt could hold.
const MOST_OF_THREAD: usize = 100;

/// The focus, and what the fragments tell of how it came about.
pub struct Scene {
    pub focus: Focus,
    pub pointed: Option<Pointed>,
    /// Set when this is a photo that came after its album's turn had begun: the words of that album.
    pub late_for_album: Option<String>,
    /// Whether this goes on with a thread, or begins one.
    pub in_thread: bool,
    /// The thread's own files, newest first; where one begins, those of what was said just before.
    pub thread_files: Vec<Attachment>,
}

/// The message a reply points at.
pub struct Pointed {
    pub reply: ReplyTo,
    pub message: Option<Message>,
}

/// `recent` are the conversation's newest files, in a thread or not.
pub async fn look(
    store: &Store,
    turn: &Turn,
    inputs: &[Message],
    earlier: &[Message],
    recent: &[Attachment],
) -> Result<Scene, StoreError> {
    let place = &turn.conversation;
    let pointed = match inputs.iter().find_map(|m| m.reply.clone()) {
        Some(reply) => {
            let message = match reply.message {
                Some(id) => match earlier.iter().find(|m| m.internal_id == id) {
                    Some(message) => Some(message.clone()),
                    None => store.message(id).await?,
                },
                // One of the same request, which had no id yet when the reply was filed.
                None => inputs
                    .iter()
                    .find(|m| reply.attachment.is_some_and(|id| m.attachments.contains(&id)))
                    .cloned(),
            };
            Some(Pointed { reply, message })
        }
        None => None,
    };
    let (replied_ids, mut album_ids) = pointed_at(store, turn, pointed.as_ref()).await?;
    let late_for_album = late_words(store, turn, inputs, &mut album_ids).await?;

    let sent_ids: Vec<AttachmentId> = inputs.iter().flat_map(|m| m.attachments.clone()).collect();
    let thread_ids: Vec<AttachmentId> =
        newest_first(earlier).into_iter().filter(|id| !sent_ids.contains(id)).take(MOST_OF_THREAD).collect();
    // One trip to the database for all that are not at hand.
    let mut known = recent.to_vec();
    let mut missing = sent_ids.clone();
    missing.extend(replied_ids.iter().chain(&album_ids).chain(&thread_ids));
    missing.retain(|id| known.iter().all(|a| a.attachment_id != *id));
    if !missing.is_empty() {
        known.extend(store.attachments(place, &missing).await?);
    }
    let pick = |ids: &[AttachmentId]| -> Vec<Attachment> {
        ids.iter().filter_map(|id| known.iter().find(|a| a.attachment_id == *id).cloned()).collect()
    };
    let thread_files = pick(&thread_ids);
    let recent = if turn.continues_thread() {
        thread_files.iter().take(MOST_RECENT).cloned().collect()
    } else {
        recent.iter().filter(|a| !sent_ids.contains(&a.attachment_id)).cloned().collect()
    };
    let words: Vec<String> =
        inputs.iter().map(markers::said).filter(|said| !said.trim().is_empty()).collect();
    let said = match (&late_for_album, words.is_empty()) {
        (Some(words), true) => words.clone(),
        _ => words.join("\n"),
    };
    let focus =
        Focus { said, sent: pick(&sent_ids), replied: pick(&replied_ids), album: pick(&album_ids), recent };
    let in_thread = turn.continues_thread();
    Ok(Scene { focus, pointed, late_for_album, in_thread, thread_files })
}

/// The files replied to, and the album or answer around them.
async fn pointed_at(
    store: &Store,
    turn: &Turn,
    pointed: Option<&Pointed>,
) -> Result<(Vec<AttachmentId>, Vec<AttachmentId>), StoreError> {
    let Some(Pointed { reply, message: Some(message) }) = pointed else {
        return Ok((Vec::new(), Vec::new()));
    };
    let replied = match reply.attachment {
        Some(one) => vec![one],
        None => message.attachments.clone(),
    };
    let album = match &message.album_id {
        Some(album) if message.role == Role::User => {
            let siblings = store.messages_of_album(&turn.conversation, album).await?;
            siblings.into_iter().flat_map(|m| m.body.attachments).collect()
        }
        _ => message.attachments.clone(),
    };
    Ok((replied, album))
}

/// Photos whose album was taken up without them: what was asked of that album.
async fn late_words(
    store: &Store,
    turn: &Turn,
    inputs: &[Message],
    album_ids: &mut Vec<AttachmentId>,
) -> Result<Option<String>, StoreError> {
    let Some(album) = inputs.iter().find_map(|m| m.album_id.as_ref()) else {
        return Ok(None);
    };
    let mut siblings = store.messages_of_album(&turn.conversation, album).await?;
    siblings.retain(|m| !turn.inputs.contains(&m.internal_id));
    if siblings.is_empty() {
        return Ok(None);
    }
    album_ids.extend(siblings.iter().flat_map(|m| m.attachments.clone()));
    let words: Vec<String> =
        siblings.iter().map(markers::said).filter(|said| !said.trim().is_empty()).collect();
    Ok(Some(words.join("\n")))
}

/// Every file of these messages once, the last one first.
fn newest_first(messages: &[Message]) -> Vec<AttachmentId> {
    let mut ids = Vec::new();
    for id in messages.iter().rev().flat_map(|m| m.attachments.iter().rev()) {
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    ids
}
