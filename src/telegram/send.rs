//! Out of the outbox and to Telegram: one in-flight send per chat, in order. A send whose fate is unknown is marked
//! so and never repeated; one that certainly did not arrive is tried again or in a gentler shape.

use super::{
    Telegram, drafts, messages,
    plan::{Formatted, SendRequest},
    route::patiently,
};
use crate::{
    attachments::{AttachmentError, ObjectError},
    domain::{Conversation, InterfaceType, UserId},
    store::OutboxRow,
};
use chrono::{TimeDelta, Utc};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use teloxide::{
    ApiError, RequestError,
    payloads::{SendDocumentSetters as _, SendMessageSetters as _},
    requests::Requester as _,
    types::{
        ChatAction, ChatId, InputFile, InputMedia, InputMediaDocument, InputMediaPhoto, LinkPreviewOptions,
        Message, MessageId, ReplyParameters,
    },
};
use tokio::task::JoinSet;
use tracing::{debug, error, info, warn};

/// After this many failures that were certainly no delivery, a send is given up.
const MOST_ATTEMPTS: i64 = 20;

/// What became of a request.
pub enum Fate {
    Arrived(Vec<String>),
    /// It certainly did not arrive; try again after this long.
    Again(Duration, String),
    /// Telegram looked at it and said no.
    Refused(String),
    /// It certainly did not arrive and never will: the chat is closed to us.
    Never(String),
    /// The request left and the answer did not come.
    Unknown(String),
}

/// Sends what is planned, until dropped. Chats do not wait for each other.
pub async fn run(telegram: Arc<Telegram>) {
    let active: Arc<Mutex<HashSet<Conversation>>> = Arc::default();
    let mut turns = telegram.turns.events();
    // In a set of their own, so that dropping us drops them.
    let mut work = JoinSet::new();
    loop {
        while work.try_join_next().is_some() {}
        match telegram.store.conversations_to_send(InterfaceType::Telegram).await {
            Ok(conversations) => {
                for place in conversations {
                    if active.lock().unwrap_or_else(PoisonError::into_inner).insert(place.clone()) {
                        let (telegram, active) = (telegram.clone(), active.clone());
                        work.spawn(async move {
                            let leave = Leave { active, place: place.clone() };
                            drain(&telegram, &place).await;
                            drop(leave);
                            // Something may have been planned between the last look and leaving.
                            telegram.send_wake.notify_one();
                        });
                    }
                }
            }
            Err(error) => error!(%error, "the outbox cannot be read"),
        }
        tokio::select! {
            () = telegram.send_wake.notified() => {}
            _ = turns.recv() => {}
            () = tokio::time::sleep(Duration::from_secs(5)) => {}
        }
    }
}

/// Gives a chat's place back even if its sender panics.
struct Leave {
    active: Arc<Mutex<HashSet<Conversation>>>,
    place: Conversation,
}

impl Drop for Leave {
    fn drop(&mut self) {
        self.active.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.place);
    }
}

/// Sends everything one chat has waiting, in order.
async fn drain(telegram: &Telegram, place: &Conversation) {
    while let Some(Some(row)) = patiently(|| telegram.store.next_send(place)).await {
        if let Some(wait) = row.not_before.and_then(|at| (at - Utc::now()).to_std().ok()) {
            tokio::time::sleep(wait).await;
        }
        let wait = telegram.pacer().book(&place.id, row.items, Instant::now());
        tokio::select! {
            () = tokio::time::sleep(wait) => {}
            () = telegram.closing.cancelled() => return,
        }
        let send: SendRequest = match serde_json::from_value(row.payload.clone()) {
            Ok(send) => send,
            Err(error) => {
                error!(outbox_id = row.outbox_id, %error, "a planned send cannot be read");
                patiently(|| telegram.store.send_failed(row.outbox_id, "its plan cannot be read")).await;
                continue;
            }
        };
        match load(telegram, place, &send).await {
            Ok(load) => {
                let Ok(_on_the_wire) = telegram.on_the_wire.acquire().await else {
                    return;
                };
                if telegram.closing.is_cancelled() {
                    return;
                }
                if !claim(telegram, row.outbox_id).await {
                    continue;
                }
                let fate = match drafts::becoming(telegram, &row, &send).await {
                    Some(draft) => drafts::finish(telegram, &draft, &row, &send).await,
                    None => deliver(telegram, place, &row, &send, load).await,
                };
                settle(telegram, &row, send, fate).await;
            }
            Err(fate) => settle(telegram, &row, send, fate).await,
        }
    }
}

/// Marks the send as on its way. If the database went away meanwhile, the mark may be ours although we did not
/// hear of it: this chat's sends are nobody else's.
async fn claim(telegram: &Telegram, outbox_id: i64) -> bool {
    let mut tries = 0;
    let claimed = patiently(|| {
        tries += 1;
        telegram.store.claim_send(outbox_id)
    })
    .await;
    match claimed {
        Some(claimed) => claimed || tries > 1,
        None => false,
    }
}

/// What a send needs and the outbox does not hold.
struct Load {
    files: Vec<InputFile>,
    /// What a link comes with.
    words: String,
}

/// The bytes of all files, or a fresh link, before the request is on the wire.
async fn load(telegram: &Telegram, place: &Conversation, send: &SendRequest) -> Result<Load, Fate> {
    let mut files = Vec::new();
    let mut words = String::new();
    if let SendRequest::LoginLink {} = send {
        let link = telegram.logins.create_link(&UserId(place.id.clone()), Utc::now()).await;
        let link = link.map_err(|error| Fate::Again(Duration::from_secs(5), error.to_string()))?;
        words = link.map_or_else(
            || messages::page(telegram.logins.page_access()),
            |link| messages::login_link(&link),
        );
    }
    for file in send.files() {
        let bytes =
            telegram.attachments.stored_bytes(&file.object_key).await.map_err(|error| match error {
                AttachmentError::Objects(ObjectError::Missing) => Fate::Refused("its file is gone".into()),
                other => Fate::Again(Duration::from_secs(5), other.to_string()),
            })?;
        files.push(InputFile::memory(bytes).file_name(file.filename.clone()));
    }
    Ok(Load { files, words })
}

async fn deliver(
    telegram: &Telegram,
    place: &Conversation,
    row: &OutboxRow,
    send: &SendRequest,
    load: Load,
) -> Fate {
    let Ok(chat) = place.id.parse().map(ChatId) else {
        return Fate::Never("not a chat id".into());
    };
    let reply = row
        .reply_to
        .as_ref()
        .and_then(|id| id.parse().ok())
        .map(|id| ReplyParameters::new(MessageId(id)).allow_sending_without_reply());
    let sent = request(telegram, chat, send, load, reply).await;
    match sent {
        Ok(messages) => Fate::Arrived(messages.iter().map(|message| message.id.0.to_string()).collect()),
        Err(error) => {
            telegram.note_flood(place, &error);
            judge(&error, row.attempts)
        }
    }
}

async fn request(
    telegram: &Telegram,
    chat: ChatId,
    send: &SendRequest,
    Load { files, words }: Load,
    reply: Option<ReplyParameters>,
) -> Result<Vec<Message>, RequestError> {
    let bot = &telegram.bot;
    if !files.is_empty() {
        let action = match send {
            SendRequest::Photo { .. } | SendRequest::MediaGroup { .. } => ChatAction::UploadPhoto,
            _ => ChatAction::UploadDocument,
        };
        // Only a courtesy, so it does not hold up the upload and its failure means nothing.
        let request = bot.send_chat_action(chat, action);
        tokio::spawn(async move { request.await.map_err(|_| debug!("a chat action was lost")) });
    }
    let mut files = files.into_iter();
    let first = files.next();
    Ok(match (send, first) {
        (SendRequest::Text { body }, _) => {
            let mut request = bot.send_message(chat, &body.text).entities(body.entities.clone());
            request.reply_parameters = reply;
            vec![request.await?]
        }
        (SendRequest::LoginLink {}, _) => {
            // Whoever makes previews need not see it.
            let no_preview = LinkPreviewOptions {
                is_disabled: true,
                url: None,
                prefer_small_media: false,
                prefer_large_media: false,
                show_above_text: false,
            };
            vec![bot.send_message(chat, words).link_preview_options(no_preview).await?]
        }
        (SendRequest::Photo { caption, .. }, Some(file)) => {
            let mut request = bot.send_photo(chat, file);
            (request.caption, request.caption_entities) = caption_of(caption.as_ref());
            request.reply_parameters = reply;
            vec![request.await?]
        }
        (SendRequest::Document { file: stored, caption }, Some(file)) => {
            // Telegram plays a GIF it recognises; anything else is to stay the file it is.
            let plays = stored.mime_type == "image/gif";
            let mut request = bot.send_document(chat, file).disable_content_type_detection(!plays);
            (request.caption, request.caption_entities) = caption_of(caption.as_ref());
            request.reply_parameters = reply;
            vec![request.await?]
        }
        (SendRequest::MediaGroup { caption, .. } | SendRequest::DocumentGroup { caption, .. }, first) => {
            let media = first.into_iter().chain(files).enumerate().map(|(index, file)| {
                let (text, entities) = caption_of(caption.as_ref().filter(|_| index == 0));
                if matches!(send, SendRequest::MediaGroup { .. }) {
                    let photo = InputMediaPhoto {
                        caption: text,
                        caption_entities: entities,
                        ..InputMediaPhoto::new(file)
                    };
                    InputMedia::Photo(photo)
                } else {
                    let mut document = InputMediaDocument::new(file);
                    (document.caption, document.caption_entities) = (text, entities);
                    InputMedia::Document(document)
                }
            });
            let mut request = bot.send_media_group(chat, media.collect::<Vec<_>>());
            request.reply_parameters = reply;
            request.await?
        }
        (SendRequest::Photo { .. } | SendRequest::Document { .. }, None) => Vec::new(),
    })
}

type Caption = (Option<String>, Option<Vec<teloxide::types::MessageEntity>>);

fn caption_of(caption: Option<&Formatted>) -> Caption {
    caption.map(|formatted| (formatted.text.clone(), formatted.entities.clone())).unzip()
}

/// What an error says about whether the message arrived.
pub fn judge(error: &RequestError, attempts: i64) -> Fate {
    let said = super::error_text::describe(error);
    match error {
        RequestError::RetryAfter(wait) => Fate::Again(wait.duration(), said),
        // No connection was made, so nothing left.
        RequestError::Network(e) if e.is_connect() || e.is_builder() => {
            let wait =
                Duration::from_millis(500) * 2u32.pow(u32::try_from(attempts.clamp(0, 6)).unwrap_or(6));
            Fate::Again(wait, said)
        }
        RequestError::Network(_) | RequestError::InvalidJson { .. } => Fate::Unknown(said),
        RequestError::Api(ApiError::Unknown(text)) if is_server_trouble(text) => Fate::Unknown(said),
        RequestError::Api(ApiError::ChatNotFound | ApiError::BotBlocked | ApiError::UserDeactivated) => {
            Fate::Never(said)
        }
        RequestError::Api(error) if error.to_string().starts_with("Forbidden") => Fate::Never(said),
        RequestError::Api(ApiError::Unknown(text)) if text.starts_with("Forbidden") => Fate::Never(said),
        RequestError::Api(_) | RequestError::Io(_) => Fate::Refused(said),
        RequestError::MigrateToChatId(_) => Fate::Never(said),
    }
}

/// A 5xx of the Bot API says nothing about whether the message was taken.
fn is_server_trouble(text: &str) -> bool {
    ["Internal Server Error", "Bad Gateway", "Gateway Time", "Service Unavailable"]
        .iter()
        .any(|t| text.contains(t))
}

async fn settle(telegram: &Telegram, row: &OutboxRow, send: SendRequest, fate: Fate) {
    let id = row.outbox_id;
    match fate {
        Fate::Arrived(shown) => {
            patiently(|| telegram.store.send_done(row, &shown)).await;
        }
        Fate::Again(_, why) if row.attempts >= MOST_ATTEMPTS => {
            error!(outbox_id = id, why, "given up after many tries");
            patiently(|| telegram.store.send_failed(id, &why)).await;
        }
        Fate::Again(wait, why) => {
            info!(outbox_id = id, why, ?wait, "sending again later");
            let at = Utc::now() + TimeDelta::from_std(wait).unwrap_or(TimeDelta::minutes(5));
            patiently(|| telegram.store.send_again(id, at, &why)).await;
        }
        Fate::Refused(why) => match send.fallback() {
            Some(other) => {
                warn!(outbox_id = id, why, "refused; trying it in another shape");
                let planned = other.into_planned();
                patiently(|| telegram.store.reshape_send(id, &planned, row.reply_to.as_deref(), &why)).await;
            }
            None => {
                error!(outbox_id = id, why, "refused");
                patiently(|| telegram.store.send_failed(id, &why)).await;
            }
        },
        Fate::Never(why) => {
            warn!(outbox_id = id, why, "this chat is closed to us");
            patiently(|| telegram.store.send_failed(id, &why)).await;
        }
        Fate::Unknown(why) => {
            warn!(outbox_id = id, why, "nobody knows whether this arrived; see `photothread doctor`");
            patiently(|| telegram.store.send_unknown(id, &why)).await;
        }
    }
    if row.turn_id.is_some() {
        telegram.desk.look();
    }
}
