//! teloxide's dispatcher over committed updates: commands are answered, messages are parked for their batch,
//! edits are noted. Handlers are short and never run a turn, so no chat waits for another.

use super::{
    Telegram,
    error_text::describe,
    filing, members, messages,
    parse::{self, ParsedUpdate, Reading},
    plan,
};
use crate::{
    access::{Admission, PageAccess, Pairing},
    agent::budgets::Budgets,
    domain::{Conversation, PlannedSend, UserId},
    store::{InboxRow, Parked, Spender, StoreError},
};
use chrono::TimeDelta;
use futures::{FutureExt as _, Stream, StreamExt as _};
use std::{convert::Infallible, panic::AssertUnwindSafe, pin::Pin, sync::Arc, time::Duration};
use teloxide::{
    Bot,
    adaptors::CacheMe,
    dispatching::{Dispatcher, UpdateFilterExt as _, UpdateHandler},
    dptree,
    error_handlers::LoggingErrorHandler,
    stop::{StopFlag, StopToken, mk_stop_token},
    types::{ChatMemberUpdated, Message, Update, UpdateId},
    update_listeners::{AsUpdateStream, UpdateListener},
    utils::command::BotCommands,
};
use tokio::sync::mpsc;
use tracing::{debug, error, warn};

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
    #[command(description = "what models have cost")]
    Usage,
    #[command(description = "open the page in your browser")]
    Web,
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
    let reason = match parse::parse_update(&row.raw) {
        Ok(ParsedUpdate { update, reading }) => {
            match reading {
                Reading::Complete => {}
                Reading::WithoutUnknownFields => {
                    debug!(update_id = update.id.0, "left out fields of unknown kinds");
                }
                Reading::FromRawFields => {
                    warn!(
                        update_id = update.id.0,
                        "message of an unknown kind; filing it from its raw fields"
                    );
                }
            }
            return Some(Update { id: UpdateId(row.inbox_id as u32), kind: update.kind });
        }
        Err(reason) => reason,
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
        Command::parse(message.text()?, &telegram.identity.username).ok()
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
    let memberships =
        dptree::endpoint(|telegram: Arc<Telegram>, update: Update, change: ChatMemberUpdated| async move {
            let id = inbox_id(update.id);
            contained(&telegram, update.id, || members::note_update(&telegram, id, &change)).await
        });
    let others = dptree::endpoint(|telegram: Arc<Telegram>, update: Update| async move {
        contained(&telegram, update.id, || telegram.store.close_update(inbox_id(update.id))).await
    });
    dptree::entry()
        .branch(Update::filter_message().branch(commands).branch(messages))
        .branch(Update::filter_edited_message().branch(edits))
        .branch(Update::filter_chat_member().branch(memberships))
        .branch(others)
}

/// A panic or a refusal costs this one update, which is kept and marked; a database that is away costs nothing but time.
async fn contained<F, W>(telegram: &Telegram, id: UpdateId, work: F) -> Result<(), Infallible>
where
    F: FnMut() -> W,
    W: Future<Output = Result<(), StoreError>>,
{
    let why = match AssertUnwindSafe(patiently(work)).catch_unwind().await {
        Ok(Some(())) => return Ok(()),
        // Done before, or impossible: what is done stays done.
        Ok(None) => "it could not be handled",
        Err(_) => {
            error!(inbox_id = id.0, "a handler panicked; its update is kept and skipped");
            "its handler panicked"
        }
    };
    patiently(|| telegram.store.skip_update(inbox_id(id), why)).await;
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
    let Some(incoming) = parse::parse_message(message, &telegram.identity, &telegram.routes) else {
        return members::note_message(telegram, inbox_id(id), message).await;
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
    let sends = match text {
        Some(text) => plan::plan_message(&text),
        None => match telegram.access.admit(&place, &user).await? {
            Admission::Stranger if telegram.access.should_notify(&user).await? => {
                plan::plan_message(&messages::stranger(&user.0))
            }
            Admission::Stranger => return telegram.store.close_update(inbox_id(id)).await,
            Admission::Welcome(_) => obey(telegram, &place, &user, command).await?,
        },
    };
    telegram.store.answer_update(&[inbox_id(id)], &place, None, &sends).await?;
    telegram.send_wake.notify_one();
    Ok(())
}

/// None if pairing has nothing to say: then it is an ordinary /start.
async fn pair(telegram: &Telegram, user: &UserId, code: &str) -> Result<Option<String>, StoreError> {
    Ok(match telegram.access.pair(user, code).await? {
        Pairing::Paired => Some(messages::paired()),
        Pairing::WrongCode => Some(messages::wrong_code()),
        Pairing::Closed => None,
    })
}

async fn obey(
    telegram: &Telegram,
    place: &Conversation,
    user: &UserId,
    command: &Command,
) -> Result<Vec<PlannedSend>, StoreError> {
    let text = match command {
        Command::Start(_) => messages::welcome(),
        Command::Help => messages::help(&telegram.routes),
        Command::New => {
            telegram.store.start_session(place, user).await?;
            messages::new_conversation()
        }
        Command::Cancel => {
            let dropped = filing::drop_waiting(telegram, place, user).await?;
            if telegram.turns.cancel(place).await? || dropped {
                messages::cancelled()
            } else {
                messages::nothing_to_cancel()
            }
        }
        Command::Usage => usage(telegram, place, user).await?,
        Command::Web => match telegram.logins.page_access() {
            // A link is for one person: in a group anybody could follow it.
            PageAccess::Login(_) if place.id != user.0 => messages::link_only_in_private(),
            PageAccess::Login(_) => return Ok(vec![plan::SendRequest::LoginLink {}.into_planned()]),
            way => messages::page(way),
        },
    };
    Ok(plan::plan_message(&text))
}

async fn usage(telegram: &Telegram, place: &Conversation, user: &UserId) -> Result<String, StoreError> {
    let today = Budgets::today();
    let since = today - TimeDelta::days(29);
    // A private chat has the person's own id: nobody else is there.
    let chat = match place.id == user.0 {
        true => None,
        false => Some(telegram.store.usage_in(place, since).await?),
    };
    let spender = Spender {
        conversation: place.clone(),
        user_id: user.clone(),
        agent_id: telegram.routes.agent(None, None),
    };
    Ok(messages::usage(&messages::Spending {
        today,
        own: telegram.store.usage_of(place.interface, user, since).await?,
        chat,
        left: telegram.budgets.left(&spender).await?,
        models: telegram.budgets.rules().models,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        agent::Turns,
        attachments::{Attachments, Limits, Objects},
        config::BatchSettings,
        store::{NewUpdate, Store},
        telegram::{BotIdentity, pacing::Pacer},
    };
    use std::sync::Mutex;
    use tokio::sync::{Notify, Semaphore};
    use tokio_util::sync::CancellationToken;

    async fn telegram(store: Store) -> Telegram {
        rustls::crypto::ring::default_provider().install_default().ok();
        let limits = Limits { max_file_bytes: 1, max_conversation_bytes: 1 };
        let pacing = crate::config::PacingSettings {
            per_chat_per_second: 1.0,
            per_chat_burst: 1,
            group_per_minute: 1.0,
            overall_per_second: 1.0,
        };
        let api = "http://127.0.0.1:9".parse().unwrap();
        let access = Arc::new(crate::access::Access::open(store.clone(), [], true).await.unwrap());
        Telegram {
            bot: crate::telegram::bot(&"1:nobody".to_owned().into(), &api).unwrap(),
            identity: BotIdentity { user_id: 1, username: "nobody".into() },
            attachments: Attachments::new(store.clone(), Objects::open("memory://").unwrap(), limits),
            logins: Arc::new(crate::access::Logins::new(
                store.clone(),
                access.clone(),
                PageAccess::Closed,
                [],
            )),
            access,
            turns: Arc::new(Turns::new(store.clone())),
            budgets: Budgets::new(store.clone(), Default::default()),
            store,
            timing: BatchSettings { quiet_ms: 1, album_quiet_ms: 1, max_wait_ms: 1 },
            pacer: Mutex::new(Pacer::new(pacing)),
            routes: Default::default(),
            batch_wake: Notify::new(),
            send_wake: Notify::new(),
            closing: CancellationToken::new(),
            on_the_wire: Semaphore::new(1),
            parking: Default::default(),
            desk: crate::telegram::drafts::Desk::new(crate::config::DraftSettings {
                after_ms: None,
                every_ms: 1,
            }),
        }
    }

    #[tokio::test]
    async fn a_handler_that_panics_costs_its_own_update_which_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", folder.path().join("test.db").display());
        let telegram = telegram(Store::open(&url).await.unwrap()).await;
        let new =
            ["1", "2"].map(|key| NewUpdate { key: key.into(), raw: "{}".into(), conversation_id: None });
        let rows = telegram.store.receive_updates(&new).await.unwrap();
        let panics = UpdateId(rows[0].inbox_id as u32);
        contained(&telegram, panics, || async { panic!("as asked") }).await.unwrap();
        assert_eq!(telegram.store.unhandled_updates().await.unwrap(), rows[1..]);
        let fine = UpdateId(rows[1].inbox_id as u32);
        contained(&telegram, fine, || telegram.store.close_update(inbox_id(fine))).await.unwrap();
        assert_eq!(telegram.store.unhandled_updates().await.unwrap(), []);
        let forgotten = telegram.store.prune_inbox(chrono::Utc::now()).await.unwrap();
        assert_eq!(forgotten, 1, "what was skipped is kept");
    }
}
