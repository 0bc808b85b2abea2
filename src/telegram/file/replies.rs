//! Finds what a reply points at: the stored message, the one photo it carries, and the thread it belongs to. Works for
//! messages of people and of the bot, for each photo of an album, for each piece of a long answer and for drafts.

use crate::{
    access::Scope,
    attachments::markers,
    domain::{Attachment, Conversation, Message, ReplyTo, Role},
    retry,
    store::{FiledFile, FiledMessage, Filing, FoundMessage, StoreError, WantsTurn},
    telegram::{Telegram, parse::RepliedMessage},
};
use backon::BackoffBuilder as _;
use std::time::Duration;

/// How often to look for the id of a message that the bot is sending: a person may reply before it is stored.
const MAX_LOOKUPS: usize = 100;
const LOOKUP_INTERVAL: Duration = Duration::from_millis(50);

/// The reply as it is stored, and a message of the thread that it continues.
pub struct ResolvedReply {
    pub reply: ReplyTo,
    pub thread: Option<Message>,
}

/// Looks the target up by conversation and id. Of a message that is not stored, only the text is passed on.
pub async fn resolve(
    telegram: &Telegram,
    conversation: &Conversation,
    target: &RepliedMessage,
) -> Result<ResolvedReply, StoreError> {
    let quote = target.quote.clone();
    if let Some(found) = find_target(telegram, conversation, target).await? {
        let reply = ReplyTo { message: Some(found.message.internal_id), attachment: found.attachment, quote };
        return Ok(ResolvedReply { reply, thread: Some(found.message) });
    }
    let text = (!target.text.is_empty()).then(|| target.text.clone());
    let reply = ReplyTo { message: None, attachment: None, quote: quote.or(text) };
    Ok(ResolvedReply { reply, thread: root_of_draft(telegram, conversation, target).await? })
}

/// The reply to a message of the same batch. Both are one request already, so only the photo counts.
pub fn resolve_within_batch(messages: &[FiledMessage], target: &RepliedMessage) -> Option<ReplyTo> {
    let meant = find_in_batch(messages, target)?;
    let attachment = meant.files.first()?.id();
    Some(ReplyTo { message: None, attachment: Some(attachment), quote: target.quote.clone() })
}

pub fn find_in_batch<'a>(messages: &'a [FiledMessage], target: &RepliedMessage) -> Option<&'a FiledMessage> {
    messages.iter().find(|message| message.interface_message_id.as_ref() == Some(&target.message_id))
}

/// The stored message that the reply points at. If it is a message of the bot whose id is not stored yet, waits for
/// the id.
pub async fn find_target(
    telegram: &Telegram,
    conversation: &Conversation,
    target: &RepliedMessage,
) -> Result<Option<FoundMessage>, StoreError> {
    for wait in retry::limited(LOOKUP_INTERVAL, 1.0, MAX_LOOKUPS).build() {
        let found = telegram.store.find_message(conversation, &target.message_id).await?;
        if found.is_some() || !target.from_bot {
            return Ok(found);
        }
        if !is_being_sent(telegram, conversation, target).await? {
            break;
        }
        tokio::time::sleep(wait).await;
    }
    // The id may have been stored between the two queries.
    telegram.store.find_message(conversation, &target.message_id).await
}

/// Whether the target may be a send that is on its way, or a draft that is about to become the answer.
async fn is_being_sent(
    telegram: &Telegram,
    conversation: &Conversation,
    target: &RepliedMessage,
) -> Result<bool, StoreError> {
    Ok(telegram.store.is_sending(conversation).await?
        || telegram.store.find_draft(conversation, &target.message_id).await?.is_some())
}

/// The root of the thread of a running turn, if the target is the draft of that turn.
async fn root_of_draft(
    telegram: &Telegram,
    conversation: &Conversation,
    target: &RepliedMessage,
) -> Result<Option<Message>, StoreError> {
    let Some(draft) = telegram.store.find_draft(conversation, &target.message_id).await? else {
        return Ok(None);
    };
    let Some(turn) = telegram.store.turn(draft.turn_id).await? else { return Ok(None) };
    telegram.store.message(turn.thread_root_id).await
}

/// Stores a reply target that the history does not have, from its copy inside the reply, so that its photo can be
/// edited and replied to again. It is filed on its own, because its text is not part of the request.
pub async fn file_unknown_target(
    telegram: &Telegram,
    scope: &Scope,
    target: &RepliedMessage,
    attachment: Attachment,
) -> Result<(), StoreError> {
    let (role, content) = match target.from_bot {
        true => (Role::Assistant, target.text.clone()),
        false => (Role::User, markers::with_markers(&target.text, &[attachment.attachment_id])),
    };
    let message = FiledMessage {
        interface_message_id: Some(target.message_id.clone()),
        timestamp: target.sent_at,
        user_id: target.author.clone().filter(|_| role == Role::User),
        album_id: target.album_id.clone(),
        files: vec![FiledFile::New(attachment)],
        ..FiledMessage::new(role, content)
    };
    let filing = Filing {
        conversation: scope.conversation().clone(),
        user_id: scope.user().clone(),
        agent_id: telegram.routes.agent(None, None),
        inbox_ids: Vec::new(),
        messages: vec![message],
        thread_root: None,
        session: None,
        echo: None,
        wants_turn: WantsTurn::No,
    };
    telegram.store.file(&filing).await.map(drop)
}
