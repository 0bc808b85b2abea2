//! teloxide's dispatcher over committed updates: commands are answered, messages are parked for their batch,
//! edits are noted. Handlers are short and never run a turn, so no chat waits for another.

use super::{Telegram, filing, intake::describe, parse, plan, says};
use crate::{
    access::{Admission, Pairing},
    domain::{Answer, Conversation, PlannedSend, UserId},
    store::{InboxRow, Parked, StoreError},
};
use futures::{FutureExt as _, Stream, StreamExt as _};
use std::{convert::Infallible, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};
use teloxide::{
    Bot,
    adaptors::CacheMe,
    dispatching::{Dispatcher, UpdateFilterExt as _, UpdateHandler},
    dptree,
    error_handlers::LoggingErrorHandler,
    stop::{StopFlag, StopToken, mk_stop_token},
    types::{Message, Update, UpdateId, UpdateKind},
    update_listeners::{AsUpdateStream, UpdateListener},
    utils::command::BotCommands,
};
use tokio::sync::mpsc;
use tracing::{error, warn};

#[derive(BotCommands, Debug, Clone, PartialEq, Eq)]
#[command(rename_rule = "lowercase")]
pub enum Command {
    #[command(description = "what I can do, with an example")]
    Start(String),
    #[command(description = "what I can do")]
    Help,
    #[command(description = "start a new conversation")]
    New,
    #[command(description = "stop what I'm doing")]
    Cancel,
}

/// Yields only updates that are safe in the inbox. The id of each is its inbox row's, not Telegram's: that is
/// what handlers close, and Telegram's may repeat.
pub struct Committed {
    telegram: Arc<Telegram>,
    rows: mpsc::Receiver<InboxRow>,
    token: StopToken,
    flag: StopFlag,
}

impl Committed {
    pub fn new(telegram: Arc<Telegram>, rows: mpsc::Receiver<InboxRow>) -> Self {
        let (token, flag) = mk_stop_token();
        Self { telegram, rows, token, flag }
    }
}

impl UpdateListener for Committed {
    type Err = Infallible;
    fn stop_token(&mut self) -> StopToken {
        self.token.clone()
    }
}

impl<'a> AsUpdateStream<'a> for Committed {
    type StreamErr = Infallible;
    type Stream = Pin<Box<dyn Stream<Item = Result<Update, Infallible>> + Send + 'a>>;

    fn as_stream(&'a mut self) -> Self::Stream {
        let Self { telegram, rows, flag, .. } = self;
        let rows = futures::stream::poll_fn(move |context| rows.poll_recv(context));
        let updates = rows.filter_map(move |row| parse_or_skip(telegram.clone(), row)).map(Ok);
        Box::pin(updates.take_until(flag.clone()))
    }
}

/// What cannot be parsed stays in the inbox, marked, and is passed over.
async fn parse_or_skip(telegram: Arc<Telegram>, row: InboxRow) -> Option<Update> {
    let reason = match serde_json::from_str::<Update>(&row.raw) {
        Ok(Update { kind: UpdateKind::Error(_), .. }) => "not an update this version understands".to_owned(),
        Ok(update) => {
            return Some(Update { id: UpdateId(row.inbox_id as u32), kind: update.kind });
        }
        Err(error) => error.to_string(),
    };
    warn!(inbox_id = row.inbox_id, reason, "an update was kept but skipped");
    patiently(|| telegram.store.skip_update(row.inbox_id, &reason)).await;
    None
}

/// Runs until the rows end. `bot` must have been asked who it is, or the dispatcher would ask again.
pub async fn dispatch(telegram: Arc<Telegram>, bot: CacheMe<Bot>, rows: mpsc::Receiver<InboxRow>) {
    let listener = Committed::new(telegram.clone(), rows);
    let mut dispatcher = Dispatcher::builder(bot, schema())
        .dependencies(dptree::deps![telegram])
        .default_handler(|_| async {})
        .build();
    let trouble = LoggingErrorHandler::with_custom_text("the update listener");
    if let Err(error) = dispatcher.try_dispatch_with_listener(listener, trouble).await {
        error!("the dispatcher could not start: {}", describe(&error));
    }
}

fn schema() -> UpdateHandler<Infallible> {
    let commands = dptree::filter_map(|telegram: Arc<Telegram>, message: Message| {
        Command::parse(message.text()?, &telegram.me.username).ok()
    })
    .endpoint(
        |telegram: Arc<Telegram>, update: Update, message: Message, command: Command| async move {
            contained(&telegram, update.id, || answer(&telegram, update.id, &message, &command)).await
        },
    );
    let messages = dptree::endpoint(|telegram: Arc<Telegram>, update: Update, message: Message| async move {
        contained(&telegram, update.id, || park(&telegram, update.id, &message)).await
    });
    let edits = dptree::endpoint(|telegram: Arc<Telegram>, update: Update, message: Message| async move {
        contained(&telegram, update.id, || note_edit(&telegram, update.id, &message)).await
    });
    let others = dptree::endpoint(|telegram: Arc<Telegram>, update: Update| async move {
        contained(&telegram, update.id, || telegram.store.close_update(inbox_id(update.id))).await
    });
    dptree::entry()
        .branch(Update::filter_message().branch(commands).branch(messages))
        .branch(Update::filter_edited_message().branch(edits))
        .branch(others)
}

/// A panic costs this one update, which is kept and marked; a database that is away costs nothing but time.
async fn contained<F, W>(telegram: &Telegram, id: UpdateId, work: F) -> Result<(), Infallible>
where
    F: FnMut() -> W,
    W: Future<Output = Result<(), StoreError>>,
{
    if AssertUnwindSafe(patiently(work)).catch_unwind().await.is_err() {
        error!(inbox_id = id.0, "a handler panicked; its update is kept and skipped");
        patiently(|| telegram.store.skip_update(inbox_id(id), "its handler panicked")).await;
    }
    Ok(())
}

/// A database that is away for a moment must not cost an update its place in the order.
pub async fn patiently<T, F, W>(mut work: F) -> Option<T>
where
    F: FnMut() -> W,
    W: Future<Output = Result<T, StoreError>>,
{
    let mut wait = Duration::from_millis(50);
    loop {
        match work().await {
            Ok(done) => return Some(done),
            Err(StoreError::AlreadyDone) => return None,
            Err(StoreError::Unavailable(error)) => {
                warn!(%error, "the database is away; trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(Duration::from_secs(10));
            }
            Err(error) => {
                error!(%error, "the database refused");
                return None;
            }
        }
    }
}

fn inbox_id(id: UpdateId) -> i64 {
    i64::from(id.0)
}

async fn park(telegram: &Telegram, id: UpdateId, message: &Message) -> Result<(), StoreError> {
    let Some(incoming) = parse::incoming(message, &telegram.me) else {
        return telegram.store.close_update(inbox_id(id)).await;
    };
    let parked = Parked {
        inbox_id: inbox_id(id),
        conversation_id: incoming.conversation.id,
        sender_id: incoming.sender.0,
        album_id: incoming.album_id,
    };
    telegram.parking.park(&telegram.store, parked).await?;
    telegram.batch_wake.notify_one();
    Ok(())
}

/// The stored text follows the edit; the turn is not run again. An edit of a message that still waits for its
/// batch waits with it.
async fn note_edit(telegram: &Telegram, id: UpdateId, message: &Message) -> Result<(), StoreError> {
    if filing::apply_edit(telegram, message).await? {
        return telegram.store.close_update(inbox_id(id)).await;
    }
    park(telegram, id, message).await
}

async fn answer(
    telegram: &Telegram,
    id: UpdateId,
    message: &Message,
    command: &Command,
) -> Result<(), StoreError> {
    let place = Conversation::telegram(message.chat.id.0);
    let Some(user) = message.from.as_ref().map(|user| UserId(user.id.0.to_string())) else {
        return telegram.store.close_update(inbox_id(id)).await;
    };
    let text = match command {
        Command::Start(code) if !code.trim().is_empty() => pair(telegram, &user, code).await?,
        _ => None,
    };
    let text = match text {
        Some(text) => text,
        None => match telegram.access.admit(&place, &user).await? {
            // A command is asked for on purpose: a stranger always hears why nothing happens.
            Admission::Stranger => says::stranger(&user.0),
            Admission::Welcome(_) => obey(telegram, &place, &user, command).await?,
        },
    };
    telegram.store.answer_update(&[inbox_id(id)], &place, None, &planned(&text)).await?;
    telegram.send_wake.notify_one();
    Ok(())
}

/// None if pairing has nothing to say: then it is an ordinary /start.
async fn pair(telegram: &Telegram, user: &UserId, code: &str) -> Result<Option<String>, StoreError> {
    Ok(match telegram.access.pair(user, code).await? {
        Pairing::Paired => Some(says::paired()),
        Pairing::WrongCode => Some(says::wrong_code()),
        Pairing::Closed => None,
    })
}

async fn obey(
    telegram: &Telegram,
    place: &Conversation,
    user: &UserId,
    command: &Command,
) -> Result<String, StoreError> {
    Ok(match command {
        Command::Start(_) => says::welcome(),
        Command::Help => says::help(),
        Command::New => {
            telegram.store.start_session(place, user).await?;
            says::new_conversation()
        }
        Command::Cancel => {
            if telegram.turns.cancel(place).await? {
                says::cancelled()
            } else {
                says::nothing_to_cancel()
            }
        }
    })
}

/// A sentence of our own as sends.
pub fn planned(text: &str) -> Vec<PlannedSend> {
    let answer = Answer { text: text.to_owned(), attachments: Vec::new() };
    plan::plan(&answer).into_iter().map(plan::Send::into_planned).collect()
}
