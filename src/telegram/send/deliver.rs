//! Delivers one outbox row: waits for its time and pace, loads its files, claims it, makes the request and records the
//! outcome.

use super::{drafts, open_topic::open_topic, outcome, outcome::DeliveryOutcome, request, retry::hold_chat};
use crate::{
    attachments::{AttachmentError, ObjectError},
    domain::{Conversation, UserId},
    retry::while_unavailable,
    store::OutboxRow,
    telegram::{Telegram, file, messages, place::Place, plan::SendRequest},
};
use chrono::Utc;
use request::PreparedSend;
use std::{
    ops::ControlFlow,
    time::{Duration, Instant},
};
use teloxide::{
    RequestError,
    types::{ChatId, InputFile},
};
use tracing::error;

/// The wait after an error of the store or the object store.
const PREPARE_RETRY_WAIT: Duration = Duration::from_secs(5);
/// A larger file is not loaded into memory to be sent.
const MAX_LOADED_BYTES: u64 = 16 << 20;

/// Delivers the row and records its outcome. Stops when the program is about to stop.
pub async fn deliver(telegram: &Telegram, row: &OutboxRow) -> ControlFlow<()> {
    if let Some(wait) = row.not_before.and_then(|at| (at - Utc::now()).to_std().ok()) {
        tokio::time::sleep(wait).await;
    }
    let wait = telegram.pacer().book(row.conversation.chat_id(), row.items, Instant::now());
    tokio::select! {
        () = tokio::time::sleep(wait) => {}
        () = telegram.closing.cancelled() => return ControlFlow::Break(()),
    }
    let request: SendRequest = match serde_json::from_value(row.payload.clone()) {
        Ok(request) => request,
        // The error may quote the payload, so it is not logged.
        Err(_) => {
            error!(op = "deliver", "the payload cannot be parsed; giving up");
            outcome::record_failure(telegram, row, "its plan cannot be read").await;
            return ControlFlow::Continue(());
        }
    };
    let prepared = match prepare(telegram, &row.conversation, &request).await {
        Ok(prepared) => prepared,
        Err(outcome) => {
            outcome::record(telegram, row, request, outcome).await;
            return ControlFlow::Continue(());
        }
    };
    let Ok(_permit) = telegram.send_permits.acquire().await else { return ControlFlow::Break(()) };
    if telegram.closing.is_cancelled() {
        return ControlFlow::Break(());
    }
    if !claim(telegram, row.outbox_id).await {
        return ControlFlow::Continue(());
    }
    if let Some(turn) = row.turn_id {
        drafts::wait_for_draft(telegram, turn).await;
    }
    let outcome = match drafts::draft_to_edit(telegram, row, &request).await {
        Some(draft) => drafts::turn_into_answer(telegram, &draft, row, &request).await,
        None => send(telegram, row, &request, prepared).await,
    };
    outcome::record(telegram, row, request, outcome).await;
    ControlFlow::Continue(())
}

/// Loads the files, or creates the login link, before the row is claimed.
async fn prepare(
    telegram: &Telegram,
    conversation: &Conversation,
    request: &SendRequest,
) -> Result<PreparedSend, DeliveryOutcome> {
    let mut prepared = PreparedSend::default();
    if let SendRequest::LoginLink {} = request {
        let link = telegram.logins.create_link(&UserId(conversation.chat_id().to_owned()), Utc::now()).await;
        let link = link.map_err(|error| retry_later(&error))?;
        prepared.text = match link {
            Some(link) => messages::login_link(&link),
            None => messages::page(telegram.logins.page_access()),
        };
    }
    for file in request.files() {
        let input = input_file(telegram, &file.object_key).await.map_err(|error| match error {
            AttachmentError::Objects(ObjectError::Missing) => {
                DeliveryOutcome::Refused("its file is gone".into())
            }
            other => retry_later(&other),
        })?;
        prepared.files.push(input.file_name(file.filename.clone()));
    }
    Ok(prepared)
}

/// A small file is loaded before the row is claimed. A large one is read while it is sent.
async fn input_file(telegram: &Telegram, object_key: &str) -> Result<InputFile, AttachmentError> {
    let (size, reader) = telegram.attachments.stored_reader(object_key).await?;
    match size > MAX_LOADED_BYTES {
        true => Ok(InputFile::read(reader)),
        false => Ok(InputFile::memory(telegram.attachments.stored_bytes(object_key).await?)),
    }
}

fn retry_later(error: &impl ToString) -> DeliveryOutcome {
    DeliveryOutcome::NotDelivered { retry_after: PREPARE_RETRY_WAIT, reason: error.to_string() }
}

/// Claims the row. If the database was away meanwhile, the first attempt may have been committed although its response
/// was lost; only this task sends to this chat, so the claim is ours.
async fn claim(telegram: &Telegram, outbox_id: i64) -> bool {
    let mut attempts = 0;
    let claimed = while_unavailable("claim_send", || {
        attempts += 1;
        telegram.store.claim_send(outbox_id)
    });
    match claimed.await {
        Ok(claimed) => claimed || attempts > 1,
        Err(error) => {
            error!(%error, op = "claim_send", "store error; not sending");
            false
        }
    }
}

async fn send(
    telegram: &Telegram,
    row: &OutboxRow,
    request: &SendRequest,
    prepared: PreparedSend,
) -> DeliveryOutcome {
    let Some(place) = Place::of(&row.conversation) else {
        return DeliveryOutcome::Undeliverable("not a chat id".into());
    };
    if let SendRequest::OpenTopic { .. } = request {
        return open_topic(telegram, row, place).await;
    }
    let reply = request::reply_parameters(row.reply_to.as_deref());
    match request::send(telegram, place, request, prepared, reply).await {
        Ok(messages) => {
            DeliveryOutcome::Delivered(messages.iter().map(|message| message.id.0.to_string()).collect())
        }
        Err(RequestError::MigrateToChatId(to)) => follow_migration(telegram, place.chat, to).await,
        Err(error) => {
            hold_chat(telegram, &row.conversation, &error);
            DeliveryOutcome::of_error(&error, row.attempts)
        }
    }
}

/// The group is a supergroup now: its sends move along, and this one is tried again there.
async fn follow_migration(telegram: &Telegram, from: ChatId, to: ChatId) -> DeliveryOutcome {
    match while_unavailable("migrate_chat", || file::migrate(telegram, from, to)).await {
        Ok(()) => DeliveryOutcome::NotDelivered {
            retry_after: Duration::ZERO,
            reason: "the group became a supergroup".into(),
        },
        Err(error) => {
            error!(%error, op = "migrate_chat", "store error; giving up the send");
            DeliveryOutcome::Undeliverable("the group became a supergroup".into())
        }
    }
}
