//! A complete batch becomes history: who may talk, what they point at, their files, and a turn, in one
//! transaction that closes the inbox rows.

use super::{
    Telegram, fetching, members, messages,
    parse::{self, IncomingMessage, ReplyTarget},
    plan,
    route::patiently,
};
use crate::{
    access::{Admission, Scope},
    agent,
    attachments::markers,
    domain::{
        Attachment, Conversation, InterfaceType, Message, NewMessage, ReplyTo, Role, SessionId, UserId,
    },
    store::{FiledMessage, Filing, Found, InboxRow, StoreError, WaitingGroup, WantsTurn},
};
use chrono::{DateTime, TimeDelta, Utc};
use fetching::Files;
use futures::FutureExt as _;
use std::{panic::AssertUnwindSafe, time::Duration};
use teloxide::types::UpdateKind;
use tracing::{error, info, warn};

/// How long to wait for the id of a message of ours that someone already replies to.
const WRITE_BACK_LOOKS: u32 = 100;
const WRITE_BACK_PAUSE: Duration = Duration::from_millis(50);

/// Files everything one sender has waiting in one conversation. Never fails: what cannot be filed now stays in
/// the inbox, and what can never be filed is answered with an apology.
pub async fn file_batch(telegram: &Telegram, conversation_id: &str, sender_id: &str) {
    let work = AssertUnwindSafe(try_file(telegram, conversation_id, sender_id)).catch_unwind().await;
    match work {
        Ok(Ok(()) | Err(StoreError::AlreadyDone)) => {}
        Ok(Err(error @ StoreError::Unavailable(_))) => {
            warn!(%error, "a batch stays in the inbox until the database is back");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(Err(error)) => {
            error!(%error, "a batch cannot be filed");
            apologise(telegram, conversation_id, sender_id).await;
        }
        Err(_) => {
            error!("filing a batch panicked");
            apologise(telegram, conversation_id, sender_id).await;
        }
    }
}

async fn apologise(telegram: &Telegram, conversation_id: &str, sender_id: &str) {
    let place = Conversation::new(InterfaceType::Telegram, conversation_id);
    let sends = plan::plan_message(&agent::messages::apology());
    patiently(|| async {
        let rows = telegram.store.waiting_updates(conversation_id, sender_id).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.inbox_id).collect();
        telegram.store.answer_update(&ids, &place, None, &sends).await
    })
    .await;
    telegram.send_wake.notify_one();
}

/// A message and the inbox row it came in.
pub struct Waiting {
    inbox_id: i64,
    pub incoming: IncomingMessage,
}

/// Everything one sender has waiting: messages, and the rows of edits already worked into them.
#[derive(Default)]
struct Batch {
    messages: Vec<Waiting>,
    edits: Vec<i64>,
    /// Rows that tell that the sender left the chat after what they said.
    left: Vec<i64>,
}

impl Batch {
    fn inbox_ids(&self) -> Vec<i64> {
        self.messages.iter().map(|waiting| waiting.inbox_id).chain(self.edits.iter().copied()).collect()
    }

    fn is_addressed(&self) -> bool {
        self.messages.iter().any(|waiting| waiting.incoming.addressed)
    }
}

async fn try_file(telegram: &Telegram, conversation_id: &str, sender_id: &str) -> Result<(), StoreError> {
    let place = Conversation::new(InterfaceType::Telegram, conversation_id);
    let user = UserId(sender_id.to_owned());
    let batch = read_waiting(telegram, &place, sender_id).await?;
    let left = batch.left.clone();
    match batch.messages.is_empty() {
        true => telegram.store.close_updates(&batch.edits).await?,
        false => file_messages(telegram, place.clone(), user.clone(), batch).await?,
    }
    members::left(telegram, &place, &user, &left).await
}

async fn file_messages(
    telegram: &Telegram,
    place: Conversation,
    user: UserId,
    mut batch: Batch,
) -> Result<(), StoreError> {
    let (conversation_id, sender_id) = (place.id.as_str(), user.0.as_str());
    let scope = match telegram.access.admit(&place, &user).await? {
        Admission::Welcome(scope) => scope,
        Admission::Stranger => return turn_away(telegram, &place, &user, &batch).await,
    };
    let mut files = Files::default();
    loop {
        fetching::fetch_all(telegram, &scope, &batch.messages, &mut files).await?;
        // Photos of the same album may have arrived while we were downloading: they belong here.
        let now = read_waiting(telegram, &place, sender_id).await?;
        let known = batch.inbox_ids();
        let late: Vec<Waiting> = now
            .messages
            .into_iter()
            .filter(|new| new.incoming.album_id.is_some() && !known.contains(&new.inbox_id))
            .filter(|new| batch.messages.iter().any(|old| old.incoming.album_id == new.incoming.album_id))
            .collect();
        if late.is_empty() {
            break;
        }
        batch.messages.extend(late);
        let groups = telegram.store.waiting_groups().await?;
        let mine =
            |group: &&WaitingGroup| group.conversation_id == conversation_id && group.sender_id == sender_id;
        if let Some(group) = groups.iter().find(mine) {
            // Where one was late, more may be.
            let left = super::batch::due_at(group, &telegram.timing) - Utc::now();
            tokio::time::sleep(left.to_std().unwrap_or_default()).await;
        }
    }
    let filing = compose(telegram, &scope, batch, files).await?;
    let filed = telegram.store.file(&filing).await?;
    info!(conversation = %place, messages = filed.messages.len(), turn = filed.turn.is_some(), "filed a batch");
    telegram.turns.changed(&place);
    if filed.turn.is_some() {
        telegram.turns.wake();
    }
    Ok(())
}

/// Reads what waits. Edits are worked into the messages they change, or into the history if those are filed.
async fn read_waiting(
    telegram: &Telegram,
    place: &Conversation,
    sender_id: &str,
) -> Result<Batch, StoreError> {
    let mut batch = Batch::default();
    for InboxRow { inbox_id, raw } in telegram.store.waiting_updates(&place.id, sender_id).await? {
        match parse::parse_update(&raw).map(|parsed| parsed.update.kind) {
            Ok(kind) if members::tells_of_leaving(&kind) => batch.left.push(inbox_id),
            Ok(UpdateKind::Message(message)) => {
                let incoming = parse::parse_message(&message, &telegram.identity, &telegram.routes);
                batch.messages.extend(incoming.map(|incoming| Waiting { inbox_id, incoming }));
            }
            Ok(UpdateKind::EditedMessage(message)) => {
                let id = message.id.0.to_string();
                match batch.messages.iter_mut().find(|waiting| waiting.incoming.message_id == id) {
                    Some(waiting) => {
                        let words = parse::message_text(&message, &telegram.identity, &telegram.routes);
                        waiting.incoming.addressed |= words.agent.is_some();
                        waiting.incoming.agent = words.agent;
                        waiting.incoming.text = words.text;
                    }
                    None => {
                        apply_edit(telegram, &message).await?;
                    }
                }
                batch.edits.push(inbox_id);
            }
            _ => telegram.store.skip_update(inbox_id, "no longer reads as a message").await?,
        }
    }
    Ok(batch)
}

/// What this person has waiting is not wanted any more: kept in the inbox, never filed. False if there was nothing.
pub async fn drop_waiting(
    telegram: &Telegram,
    place: &Conversation,
    user: &UserId,
) -> Result<bool, StoreError> {
    let rows = telegram.store.waiting_updates(&place.id, &user.0).await?;
    for row in &rows {
        telegram.store.skip_update(row.inbox_id, "cancelled by the person before it was taken up").await?;
    }
    Ok(!rows.is_empty())
}

/// Brings the stored text of a message in line with its edit; false if the message is not stored.
pub async fn apply_edit(telegram: &Telegram, message: &teloxide::types::Message) -> Result<bool, StoreError> {
    let place = Conversation::telegram(message.chat.id.0);
    let shown = message.id.0.to_string();
    let Some(found) = telegram.store.find_message(&place, &shown).await? else { return Ok(false) };
    let text = parse::message_text(message, &telegram.identity, &telegram.routes).text;
    let content = markers::with_markers(&text, &found.message.attachments);
    let edited = telegram.store.edit_message(&place, &shown, &content).await?;
    telegram.turns.changed(&place);
    Ok(edited)
}

/// Strangers reach neither the model nor a download; they hear so once.
async fn turn_away(
    telegram: &Telegram,
    place: &Conversation,
    user: &UserId,
    batch: &Batch,
) -> Result<(), StoreError> {
    if batch.is_addressed() && telegram.access.should_notify(user).await? {
        let sends = plan::plan_message(&messages::stranger(&user.0));
        telegram.store.answer_update(&batch.inbox_ids(), place, None, &sends).await?;
        telegram.send_wake.notify_one();
        return Ok(());
    }
    telegram.store.close_updates(&batch.inbox_ids()).await
}

/// Puts the batch into the shape the store files in one go.
async fn compose(
    telegram: &Telegram,
    scope: &Scope,
    batch: Batch,
    mut files: Files,
) -> Result<Filing, StoreError> {
    let place = scope.conversation();
    let (addressed, inbox_ids) = (batch.is_addressed(), batch.inbox_ids());
    let commanded = batch.messages.iter().find_map(|waiting| waiting.incoming.agent.clone());
    let mut thread_root: Option<Message> = None;
    let mut messages: Vec<FiledMessage> = Vec::new();
    for Waiting { incoming, .. } in batch.messages {
        if telegram.store.find_message(place, &incoming.message_id).await?.is_some() {
            continue; // The same message in a second update: one is enough.
        }
        let reply = match &incoming.reply {
            Some(target) if has(&messages, target) => in_same_request(&messages, target),
            Some(target) => {
                let (mut reply, mut root) = resolve(telegram, place, target).await?;
                if root.is_none()
                    && let Some(Ok(attachment)) = files.get(&target.message_id).cloned()
                {
                    file_never_seen(telegram, scope, target, attachment).await?;
                    (reply, root) = resolve(telegram, place, target).await?;
                }
                thread_root = thread_root.or(root);
                Some(reply)
            }
            None => None,
        };
        if let (None, Some(album)) = (&thread_root, &incoming.album_id) {
            // A late photo goes where its album is.
            thread_root = telegram.store.messages_of_album(place, album).await?.into_iter().next();
        }
        messages.push(filed(scope, incoming, reply, &mut files));
    }
    in_order(&mut messages);
    Ok(Filing {
        conversation: place.clone(),
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

fn has(messages: &[FiledMessage], target: &ReplyTarget) -> bool {
    messages.iter().any(|m| m.message.interface_message_id.as_ref() == Some(&target.message_id))
}

/// Both are one request already: all that a reply adds is which of its files is meant.
fn in_same_request(messages: &[FiledMessage], target: &ReplyTarget) -> Option<ReplyTo> {
    let meant =
        messages.iter().find(|m| m.message.interface_message_id.as_ref() == Some(&target.message_id))?;
    let attachment = meant.attachments.first()?.attachment_id;
    Some(ReplyTo { message: None, attachment: Some(attachment), quote: target.quote.clone() })
}

/// Files are fetched side by side; their age must still tell the order they were sent in.
fn in_order(messages: &mut [FiledMessage]) {
    let mut newest: Option<DateTime<Utc>> = None;
    for file in messages.iter_mut().flat_map(|message| &mut message.attachments) {
        let earliest = newest.map(|newest| newest + TimeDelta::microseconds(1));
        file.created_at = file.created_at.max(earliest.unwrap_or(file.created_at));
        newest = Some(file.created_at);
    }
}

/// Session and thread are the store's to fill in.
fn blank(scope: &Scope, role: Role, content: String) -> NewMessage {
    NewMessage::new(scope.conversation().clone(), SessionId(uuid::Uuid::nil()), role, content)
}

fn filed(
    scope: &Scope,
    incoming: IncomingMessage,
    reply: Option<ReplyTo>,
    files: &mut Files,
) -> FiledMessage {
    let (attachments, note) = match files.remove(&incoming.message_id) {
        Some(Ok(attachment)) => (vec![attachment], None),
        Some(Err(note)) => (Vec::new(), Some(note)),
        None => (Vec::new(), None),
    };
    let about_target = incoming.reply.and_then(|target| files.remove(&target.message_id)?.err());
    let ids: Vec<_> = attachments.iter().map(|a| a.attachment_id).collect();
    let message = NewMessage {
        interface_message_id: Some(incoming.message_id),
        timestamp: incoming.sent_at,
        user_id: Some(incoming.sender),
        user_name: incoming.sender_name,
        error: note.or(about_target),
        reply,
        album_id: incoming.album_id,
        ..blank(scope, Role::User, markers::with_markers(&incoming.text, &ids))
    };
    FiledMessage { message, attachments }
}

/// The message someone points at, of which we know only what the reply repeats of it: it becomes part of the
/// history, so that its photo can be worked on and replied to again. It is filed apart, because its words are not
/// part of what is asked now.
async fn file_never_seen(
    telegram: &Telegram,
    scope: &Scope,
    target: &ReplyTarget,
    attachment: Attachment,
) -> Result<(), StoreError> {
    let (role, content) = match target.from_bot {
        true => (Role::Assistant, target.text.clone()),
        false => (Role::User, markers::with_markers(&target.text, &[attachment.attachment_id])),
    };
    let message = NewMessage {
        interface_message_id: Some(target.message_id.clone()),
        timestamp: target.sent_at,
        user_id: target.author.clone().filter(|_| role == Role::User),
        album_id: target.album_id.clone(),
        ..blank(scope, role, content)
    };
    let filing = Filing {
        conversation: scope.conversation().clone(),
        user_id: scope.user().clone(),
        agent_id: telegram.routes.agent(None, None),
        inbox_ids: Vec::new(),
        messages: vec![FiledMessage { message, attachments: vec![attachment] }],
        thread_root: None,
        session: None,
        echo: None,
        wants_turn: WantsTurn::No,
    };
    telegram.store.file(&filing).await.map(drop)
}

/// The message pointed at. One of ours may be seen before its id is written back: then wait for that.
pub async fn find_target(
    telegram: &Telegram,
    place: &Conversation,
    target: &ReplyTarget,
) -> Result<Option<Found>, StoreError> {
    for _ in 0..WRITE_BACK_LOOKS {
        let found = telegram.store.find_message(place, &target.message_id).await?;
        if found.is_some() || !target.from_bot {
            return Ok(found);
        }
        if !is_on_its_way(telegram, place, target).await? {
            // Or it landed between the two looks.
            break;
        }
        tokio::time::sleep(WRITE_BACK_PAUSE).await;
    }
    telegram.store.find_message(place, &target.message_id).await
}

/// It is being sent, or it is a draft that is about to be the answer.
async fn is_on_its_way(
    telegram: &Telegram,
    place: &Conversation,
    target: &ReplyTarget,
) -> Result<bool, StoreError> {
    Ok(telegram.store.is_sending(place).await?
        || telegram.store.draft_shown_as(place, &target.message_id).await?.is_some())
}

/// The root of the thread whose answer is still being written into the message pointed at.
async fn root_of_draft(
    telegram: &Telegram,
    place: &Conversation,
    target: &ReplyTarget,
) -> Result<Option<Message>, StoreError> {
    let Some(draft) = telegram.store.draft_shown_as(place, &target.message_id).await? else {
        return Ok(None);
    };
    let Some(turn) = telegram.store.turn(draft.turn_id).await? else { return Ok(None) };
    telegram.store.message(turn.thread_root_id).await
}

/// Looks the target up by interface, conversation and id; one never seen is passed on as a quote at most.
async fn resolve(
    telegram: &Telegram,
    place: &Conversation,
    target: &ReplyTarget,
) -> Result<(ReplyTo, Option<Message>), StoreError> {
    let quote = target.quote.clone();
    Ok(match find_target(telegram, place, target).await? {
        Some(found) => {
            let reply =
                ReplyTo { message: Some(found.message.internal_id), attachment: found.attachment, quote };
            (reply, Some(found.message))
        }
        None => {
            let said = (!target.text.is_empty()).then(|| target.text.clone());
            let root = root_of_draft(telegram, place, target).await?;
            (ReplyTo { message: None, attachment: None, quote: quote.or(said) }, root)
        }
    })
}
