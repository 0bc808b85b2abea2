//! A complete batch becomes history: who may talk, what they point at, their files, and a turn, in one
//! transaction that closes the inbox rows.

use super::{
    Telegram, batch, download,
    parse::{self, Incoming, Pointed},
    route::{patiently, planned},
    says,
};
use crate::{
    access::{Admission, Scope},
    agent,
    attachments::{AttachmentError, NewFile, markers},
    domain::{
        Attachment, Conversation, InterfaceType, Message, NewMessage, ReplyTo, Role, SessionId, UserId,
    },
    store::{FiledMessage, Filing, InboxRow, StoreError, WaitingGroup, WantsTurn},
};
use chrono::Utc;
use futures::{FutureExt as _, StreamExt as _, stream};
use std::{collections::HashMap, panic::AssertUnwindSafe, time::Duration};
use teloxide::types::{Update, UpdateKind};
use tracing::{error, info, warn};

/// How many files of one batch are fetched at a time.
const DOWNLOADS_AT_ONCE: usize = 4;

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
    let sends = planned(&agent::says::apology());
    patiently(|| async {
        let rows = telegram.store.waiting_updates(conversation_id, sender_id).await?;
        let ids: Vec<i64> = rows.iter().map(|row| row.inbox_id).collect();
        telegram.store.answer_update(&ids, &place, None, &sends).await
    })
    .await;
    telegram.send_wake.notify_one();
}

/// A message and the inbox row it came in.
struct Waiting {
    inbox_id: i64,
    incoming: Incoming,
}

/// A file that was fetched and kept, or what to tell the person instead.
type Fetched = Result<Attachment, String>;

async fn try_file(telegram: &Telegram, conversation_id: &str, sender_id: &str) -> Result<(), StoreError> {
    let place = Conversation::new(InterfaceType::Telegram, conversation_id);
    let user = UserId(sender_id.to_owned());
    let mut batch =
        read_waiting(telegram, telegram.store.waiting_updates(conversation_id, sender_id).await?).await;
    if batch.is_empty() {
        return Ok(());
    }
    let scope = match telegram.access.admit(&place, &user).await? {
        Admission::Welcome(scope) => scope,
        Admission::Stranger { tell } => return turn_away(telegram, &place, &user, &batch, tell).await,
    };
    let mut files: HashMap<String, Fetched> = HashMap::new();
    loop {
        fetch_all(telegram, &scope, &batch, &mut files).await?;
        // Photos of the same album may have arrived while we were downloading: they belong here.
        let rows = telegram.store.waiting_updates(conversation_id, sender_id).await?;
        let late: Vec<Waiting> = read_waiting(telegram, rows)
            .await
            .into_iter()
            .filter(|new| {
                new.incoming.album_id.is_some() && batch.iter().all(|old| old.inbox_id != new.inbox_id)
            })
            .filter(|new| batch.iter().any(|old| old.incoming.album_id == new.incoming.album_id))
            .collect();
        if late.is_empty() {
            break;
        }
        batch.extend(late);
        let groups = telegram.store.waiting_groups().await?;
        let mine =
            |group: &&WaitingGroup| group.conversation_id == conversation_id && group.sender_id == sender_id;
        if let Some(group) = groups.iter().find(mine) {
            // Where one was late, more may be.
            let left = batch::due_at(group, &telegram.timing) - Utc::now();
            tokio::time::sleep(left.to_std().unwrap_or_default()).await;
        }
    }
    let filing = compose(telegram, &scope, batch, files).await?;
    let filed = telegram.store.file(&filing).await?;
    info!(conversation = %place, messages = filed.messages.len(), turn = filed.turn.is_some(), "filed a batch");
    if filed.turn.is_some() {
        telegram.turns.wake();
    }
    Ok(())
}

async fn read_waiting(telegram: &Telegram, rows: Vec<InboxRow>) -> Vec<Waiting> {
    let mut waiting = Vec::with_capacity(rows.len());
    for row in rows {
        let incoming = match serde_json::from_str::<Update>(&row.raw) {
            Ok(Update { kind: UpdateKind::Message(message), .. }) => parse::incoming(&message, &telegram.me),
            _ => None,
        };
        match incoming {
            Some(incoming) => waiting.push(Waiting { inbox_id: row.inbox_id, incoming }),
            None => {
                patiently(|| telegram.store.skip_update(row.inbox_id, "no longer reads as a message")).await;
            }
        }
    }
    waiting
}

/// Strangers reach neither the model nor a download; they hear so once.
async fn turn_away(
    telegram: &Telegram,
    place: &Conversation,
    user: &UserId,
    batch: &[Waiting],
    tell: bool,
) -> Result<(), StoreError> {
    let ids: Vec<i64> = batch.iter().map(|waiting| waiting.inbox_id).collect();
    if tell && batch.iter().any(|waiting| waiting.incoming.addressed) {
        telegram.store.answer_update(&ids, place, None, &planned(&says::stranger(&user.0))).await?;
        telegram.send_wake.notify_one();
        return Ok(());
    }
    telegram.store.close_updates(&ids).await
}

/// Fetches every file not fetched yet, including those of messages pointed at that we never saw.
async fn fetch_all(
    telegram: &Telegram,
    scope: &Scope,
    batch: &[Waiting],
    files: &mut HashMap<String, Fetched>,
) -> Result<(), StoreError> {
    let mut wanted = Vec::new();
    for Waiting { incoming, .. } in batch {
        wanted.extend(incoming.media.clone());
        if let Some(target) = incoming.reply.as_ref().filter(|target| target.media.is_some())
            && telegram.store.find_message(scope.conversation(), &target.message_id).await?.is_none()
        {
            wanted.extend(target.media.clone());
        }
    }
    wanted.retain(|media| !files.contains_key(&media.file_id));
    let fetched = stream::iter(wanted)
        .map(|media| async move {
            let result = fetch(telegram, scope, &media).await;
            result.map(|fetched| (media.file_id.clone(), fetched))
        })
        .buffered(DOWNLOADS_AT_ONCE)
        .collect::<Vec<_>>()
        .await;
    for result in fetched {
        files.extend([result?]);
    }
    Ok(())
}

async fn fetch(telegram: &Telegram, scope: &Scope, media: &parse::Media) -> Result<Fetched, StoreError> {
    if media.bytes > download::TELEGRAM_LIMIT {
        return Ok(Err(says::too_big_for_telegram(media)));
    }
    let name = media.filename.as_deref().unwrap_or(media.what);
    match telegram.attachments.check_room(scope.conversation(), name, media.bytes).await {
        Ok(()) => {}
        Err(AttachmentError::Store(error)) => return Err(error),
        Err(reason) => return Ok(Err(says::not_kept(&reason.to_string()))),
    }
    let most = telegram.attachments.limits().max_file_bytes;
    let bytes = match download::file(&telegram.bot, &media.file_id, most).await {
        Ok(bytes) => bytes,
        Err(download::DownloadError::TooBig) => return Ok(Err(says::too_big_for_telegram(media))),
        Err(error) => {
            warn!(what = media.what, %error, "a download failed for good");
            return Ok(Err(says::could_not_download(media)));
        }
    };
    let mut wait = Duration::from_millis(200);
    loop {
        let kept = telegram
            .attachments
            .keep(scope, NewFile::from_person(bytes.clone(), media.filename.clone()))
            .await;
        match kept {
            Ok(attachment) => return Ok(Ok(attachment)),
            Err(AttachmentError::Store(error)) => return Err(error),
            // The update is safe in the inbox, so there is time to wait for the object store.
            Err(AttachmentError::Objects(error)) => {
                warn!(%error, "a file cannot be kept just now; trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(Duration::from_secs(30));
            }
            Err(reason) => return Ok(Err(says::not_kept(&reason.to_string()))),
        }
    }
}

/// Puts the batch into the shape the store files in one go.
async fn compose(
    telegram: &Telegram,
    scope: &Scope,
    batch: Vec<Waiting>,
    mut files: HashMap<String, Fetched>,
) -> Result<Filing, StoreError> {
    let place = scope.conversation();
    let addressed = batch.iter().any(|waiting| waiting.incoming.addressed);
    let inbox_ids = batch.iter().map(|waiting| waiting.inbox_id).collect();
    let mut thread_root: Option<Message> = None;
    let mut messages: Vec<FiledMessage> = Vec::new();
    for Waiting { incoming, .. } in batch {
        if telegram.store.find_message(place, &incoming.message_id).await?.is_some() {
            continue; // The same message in a second update: one is enough.
        }
        let reply = match &incoming.reply {
            Some(target) => {
                let (reply, root) = resolve(telegram, place, target).await?;
                if let (None, Some(media)) = (&root, &target.media)
                    && let Some(Ok(attachment)) = files.remove(&media.file_id)
                {
                    messages.push(never_seen(scope, target, attachment));
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
    Ok(Filing {
        conversation: place.clone(),
        user_id: scope.user().clone(),
        agent_id: telegram.agent_id.clone(),
        inbox_ids,
        wants_turn: if addressed && !messages.is_empty() { WantsTurn::Yes } else { WantsTurn::No },
        messages,
        thread_root,
    })
}

fn filed(
    scope: &Scope,
    incoming: Incoming,
    reply: Option<ReplyTo>,
    files: &mut HashMap<String, Fetched>,
) -> FiledMessage {
    let (attachments, note) = match incoming.media.and_then(|media| files.remove(&media.file_id)) {
        Some(Ok(attachment)) => (vec![attachment], None),
        Some(Err(note)) => (Vec::new(), Some(note)),
        None => (Vec::new(), None),
    };
    let ids: Vec<_> = attachments.iter().map(|a| a.attachment_id).collect();
    let message = NewMessage {
        interface_message_id: Some(incoming.message_id),
        timestamp: incoming.sent_at,
        user_id: Some(incoming.sender),
        error: note,
        reply,
        album_id: incoming.album_id,
        ..NewMessage::new(
            scope.conversation().clone(),
            SessionId(uuid::Uuid::nil()),
            Role::User,
            markers::with_markers(&incoming.text, &ids),
        )
    };
    FiledMessage { message, attachments }
}

/// The message someone points at, of which we know only what the reply repeats of it: it becomes part of the
/// history, so that its photo can be worked on and replied to again.
fn never_seen(scope: &Scope, target: &Pointed, attachment: Attachment) -> FiledMessage {
    let content = markers::with_markers(&target.text, &[attachment.attachment_id]);
    let message = NewMessage {
        interface_message_id: Some(target.message_id.clone()),
        timestamp: target.sent_at,
        user_id: target.author.clone(),
        album_id: target.album_id.clone(),
        ..NewMessage::new(scope.conversation().clone(), SessionId(uuid::Uuid::nil()), Role::User, content)
    };
    FiledMessage { message, attachments: vec![attachment] }
}

/// Looks the target up by interface, conversation and id; one never seen is passed on as a quote at most.
async fn resolve(
    telegram: &Telegram,
    place: &Conversation,
    target: &Pointed,
) -> Result<(ReplyTo, Option<Message>), StoreError> {
    let found = telegram.store.find_message(place, &target.message_id).await?;
    let quote = target.quote.clone();
    Ok(match found {
        Some(found) => {
            let reply =
                ReplyTo { message: Some(found.message.internal_id), attachment: found.attachment, quote };
            (reply, Some(found.message))
        }
        None => {
            let said = (!target.text.is_empty()).then(|| target.text.clone());
            (ReplyTo { message: None, attachment: None, quote: quote.or(said) }, None)
        }
    })
}
