//! The facts of a request: the sent files, the replied-to message and its files, and the recent files.

use crate::{
    attachments::markers,
    domain::{Attachment, AttachmentId, Message, ReplyTo, Role, Turn},
    providers::Focus,
    store::{Store, StoreError},
};

const MAX_RECENT_FILES: usize = 20;
/// Bounds the prompt of very long threads; other threads name all their files.
const MAX_THREAD_FILES: usize = 100;

/// The focus of a turn and the facts that the fragments describe.
pub struct TurnFacts {
    pub focus: Focus,
    pub reply_target: Option<ReplyTarget>,
    /// Set for a photo that came after the turn of its album had started: the text of that album.
    pub late_for_album: Option<String>,
    /// Whether the turn continues a thread.
    pub in_thread: bool,
    /// The thread's own files, newest first; in a new thread, the files of the messages just before.
    pub thread_files: Vec<Attachment>,
}

/// The message that a reply refers to.
pub struct ReplyTarget {
    pub reply: ReplyTo,
    pub message: Option<Message>,
}

/// `recent` are the newest files of the conversation, in a thread or not.
pub async fn gather(
    store: &Store,
    turn: &Turn,
    inputs: &[Message],
    earlier: &[Message],
    recent: &[Attachment],
) -> Result<TurnFacts, StoreError> {
    let conversation = &turn.conversation;
    let reply_target = match inputs.iter().find_map(|m| m.reply.clone()) {
        Some(reply) => {
            let message = match reply.message {
                Some(id) => match earlier.iter().find(|m| m.internal_id == id) {
                    Some(message) => Some(message.clone()),
                    None => store.message(id).await?,
                },
                // A message of the same request: it had no id yet when the reply was filed.
                None => inputs
                    .iter()
                    .find(|m| reply.attachment.is_some_and(|id| m.attachments.contains(&id)))
                    .cloned(),
            };
            Some(ReplyTarget { reply, message })
        }
        None => None,
    };
    let (replied_ids, mut album_ids) = replied_files(store, turn, reply_target.as_ref()).await?;
    let late_for_album = text_of_late_album(store, turn, inputs, &mut album_ids).await?;

    let sent_ids: Vec<AttachmentId> = inputs.iter().flat_map(|m| m.attachments.clone()).collect();
    let thread_ids: Vec<AttachmentId> = newest_first(earlier)
        .into_iter()
        .filter(|id| !sent_ids.contains(id))
        .take(MAX_THREAD_FILES)
        .collect();
    // One query for all files that are not loaded yet.
    let mut known = recent.to_vec();
    let mut missing = sent_ids.clone();
    missing.extend(replied_ids.iter().chain(&album_ids).chain(&thread_ids));
    missing.retain(|id| known.iter().all(|a| a.attachment_id != *id));
    if !missing.is_empty() {
        known.extend(store.attachments(conversation, &missing).await?);
    }
    let pick = |ids: &[AttachmentId]| -> Vec<Attachment> {
        ids.iter().filter_map(|id| known.iter().find(|a| a.attachment_id == *id).cloned()).collect()
    };
    let thread_files = pick(&thread_ids);
    let recent = if turn.continues_thread() {
        thread_files.iter().take(MAX_RECENT_FILES).cloned().collect()
    } else {
        recent.iter().filter(|a| !sent_ids.contains(&a.attachment_id)).cloned().collect()
    };
    let texts: Vec<String> =
        inputs.iter().map(markers::visible_text).filter(|said| !said.trim().is_empty()).collect();
    let said = match (&late_for_album, texts.is_empty()) {
        (Some(text), true) => text.clone(),
        _ => texts.join("\n"),
    };
    let focus =
        Focus { said, sent: pick(&sent_ids), replied: pick(&replied_ids), album: pick(&album_ids), recent };
    let in_thread = turn.continues_thread();
    Ok(TurnFacts { focus, reply_target, late_for_album, in_thread, thread_files })
}

/// The replied-to files, and the album or answer around them.
async fn replied_files(
    store: &Store,
    turn: &Turn,
    target: Option<&ReplyTarget>,
) -> Result<(Vec<AttachmentId>, Vec<AttachmentId>), StoreError> {
    let Some(ReplyTarget { reply, message: Some(message) }) = target else {
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

/// For photos that missed the turn of their album: the text of the album.
async fn text_of_late_album(
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
        siblings.iter().map(markers::visible_text).filter(|said| !said.trim().is_empty()).collect();
    Ok(Some(words.join("\n")))
}

/// Every file of these messages once, newest first.
fn newest_first(messages: &[Message]) -> Vec<AttachmentId> {
    let mut ids = Vec::new();
    for id in messages.iter().rev().flat_map(|m| m.attachments.iter().rev()) {
        if !ids.contains(id) {
            ids.push(*id);
        }
    }
    ids
}
