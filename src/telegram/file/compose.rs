//! Builds the transaction that files a batch: its messages with their files, their replies, the thread and the turn.

use super::{
    downloads::Downloads,
    replies,
    waiting::{WaitingBatch, WaitingMessage},
};
use crate::{
    access::Scope,
    attachments::{AttachmentError, markers},
    domain::{Message, ReplyTo, Role},
    store::{FiledFile, FiledMessage, Filing, StoreError, WantsTurn},
    telegram::{Telegram, messages, parse::ReceivedMessage},
};
use chrono::{DateTime, TimeDelta, Utc};

pub async fn compose(
    telegram: &Telegram,
    scope: &Scope,
    batch: WaitingBatch,
    mut downloads: Downloads,
) -> Result<Filing, StoreError> {
    let conversation = scope.conversation();
    let (addressed, inbox_ids) = (batch.is_addressed(), batch.inbox_ids());
    let commanded = batch.messages.iter().find_map(|waiting| waiting.message.agent.clone());
    let mut thread_root: Option<Message> = None;
    let mut messages: Vec<FiledMessage> = Vec::new();
    for WaitingMessage { message, .. } in batch.messages {
        if telegram.store.find_message(conversation, &message.message_id).await?.is_some() {
            // The same message came in a second update.
            continue;
        }
        let reply = match &message.reply {
            Some(target) if replies::find_in_batch(&messages, target).is_some() => {
                replies::resolve_within_batch(&messages, target)
            }
            Some(target) => {
                let mut resolved = replies::resolve(telegram, conversation, target).await?;
                if resolved.thread.is_none()
                    && let Some(Ok(attachment)) = downloads.get(&target.message_id).cloned()
                {
                    match replies::file_unknown_target(telegram, scope, target, attachment).await {
                        Err(StoreError::OverQuota(over)) => {
                            let refused = Err(messages::files_not_kept(&over.into()));
                            downloads.insert(target.message_id.clone(), refused);
                        }
                        filed => filed?,
                    }
                    resolved = replies::resolve(telegram, conversation, target).await?;
                }
                thread_root = thread_root.or(resolved.thread);
                Some(resolved.reply)
            }
            None => None,
        };
        if let (None, Some(album)) = (&thread_root, &message.album_id) {
            // A photo that comes after its album was filed joins the album's thread.
            thread_root = telegram.store.messages_of_album(conversation, album).await?.into_iter().next();
        }
        messages.push(compose_message(message, reply, &mut downloads));
    }
    order_attachments(&mut messages);
    Ok(Filing {
        conversation: conversation.clone(),
        user_id: scope.user().clone(),
        agent_id: telegram.routes.agent(commanded.as_deref(), thread_root.as_ref()),
        inbox_ids,
        wants_turn: if addressed && !messages.is_empty() { WantsTurn::Yes } else { WantsTurn::No },
        messages,
        thread_root,
        session: None,
        echo: None,
    })
}

fn compose_message(
    incoming: ReceivedMessage,
    reply: Option<ReplyTo>,
    downloads: &mut Downloads,
) -> FiledMessage {
    let (attachments, own_error) = match downloads.remove(&incoming.message_id) {
        Some(Ok(attachment)) => (vec![attachment], None),
        Some(Err(reason)) => (Vec::new(), Some(reason)),
        None => (Vec::new(), None),
    };
    let target_error = incoming.reply.and_then(|target| downloads.remove(&target.message_id)?.err());
    let ids: Vec<_> = attachments.iter().map(|attachment| attachment.attachment_id).collect();
    FiledMessage {
        interface_message_id: Some(incoming.message_id),
        timestamp: incoming.sent_at,
        user_id: Some(incoming.sender),
        user_name: incoming.sender_name,
        error: own_error.or(target_error),
        reply,
        album_id: incoming.album_id,
        files: attachments.into_iter().map(FiledFile::New).collect(),
        ..FiledMessage::new(Role::User, markers::with_markers(&incoming.text, &ids))
    }
}

/// The same batch without its new files; their messages tell the person why.
pub fn without_new_files(mut filing: Filing, reason: AttachmentError) -> Filing {
    let is_new = |file: &FiledFile| matches!(file, FiledFile::New(_));
    for message in filing.messages.iter_mut().filter(|message| message.files.iter().any(is_new)) {
        let refused: Vec<_> = message.files.iter().filter(|file| is_new(file)).map(FiledFile::id).collect();
        message.content = markers::strip(&message.content, &refused);
        message.files.retain(|file| !is_new(file));
        message.error = Some(messages::files_not_kept(&reason));
    }
    filing
}

/// Makes the creation times ascend in the order of the messages. Files are downloaded concurrently, so they may not.
fn order_attachments(messages: &mut [FiledMessage]) {
    let mut newest: Option<DateTime<Utc>> = None;
    for file in messages.iter_mut().flat_map(|message| &mut message.files) {
        let FiledFile::New(file) = file else { continue };
        let earliest = newest.map(|newest| newest + TimeDelta::microseconds(1));
        file.created_at = file.created_at.max(earliest.unwrap_or(file.created_at));
        newest = Some(file.created_at);
    }
}
