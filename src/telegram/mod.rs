//! The Telegram interface. One update goes through these modules, and its answer leaves through the last two:
//!
//! ```text
//! receive   polls Telegram; commits each update to the inbox, then acknowledges it
//! parse     raw JSON → teloxide's types → `ReceivedMessage`
//! route     answers commands; parks messages for their batch; applies edits and membership changes
//! batch     decides when an album or a burst of messages is complete
//! file      turns a complete batch into history: admission, downloads, reply targets, one transaction
//! plan      answer → planned sends in the outbox: albums, captions, Markdown, splitting
//! send      delivers the outbox, one send per chat at a time; retries; drafts of running turns
//! ```
//!
//! `place` says in which chat and topic a conversation is, `messages` holds the bot's own sentences, `typing` shows "typing…", `reactions` the 👀 of a
//! message that has arrived, `connect` opens the connection. Nothing outside
//! this module sees teloxide.

mod batch;
mod bot_identity;
mod connect;
mod error_text;
mod file;
mod in_flight;
mod messages;
mod parse;
mod place;
mod plan;
mod reactions;
mod receive;
mod route;
mod send;
mod typing;

pub use bot_identity::BotIdentity;
pub use connect::{ConnectError, bot, check_token, connect};
pub use plan::{plan_answer, plan_echo};

use crate::{
    access::{Access, Logins},
    agent::{Routes, Turns, budgets::Budgets},
    attachments::Attachments,
    config::{BatchSettings, DraftSettings, PacingSettings, TelegramFeatures},
    store::Store,
};
use send::{Drafts, Pacer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use teloxide::{Bot, adaptors::CacheMe};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;

/// More than the overall pace ever allows.
const MAX_CONCURRENT_SENDS: u32 = 1000;
/// Committed rows that may wait to be routed.
const MAX_UNROUTED_ROWS: usize = 1000;

/// What the modules of this interface share.
pub struct Telegram {
    bot: Bot,
    identity: BotIdentity,
    store: Store,
    attachments: Attachments,
    access: Arc<Access>,
    logins: Arc<Logins>,
    turns: Arc<Turns>,
    budgets: Budgets,
    /// Decides which agent a message is for.
    routes: Routes,
    features: TelegramFeatures,
    batch_settings: BatchSettings,
    park_queue: batch::ParkQueue,
    /// Wakes the loop that files batches.
    batch_wake: Notify,
    pacer: Mutex<Pacer>,
    drafts: Drafts,
    reactions: reactions::Reactions,
    /// Wakes the loop that delivers the outbox.
    send_wake: Notify,
    /// Set before the program stops: no new send starts.
    closing: CancellationToken,
    /// One permit for each request that is on its way to Telegram.
    send_permits: Semaphore,
}

/// What the rest of the program supplies.
pub struct Parts {
    pub store: Store,
    pub attachments: Attachments,
    pub access: Arc<Access>,
    pub logins: Arc<Logins>,
    pub turns: Arc<Turns>,
    pub budgets: Budgets,
    pub routes: Routes,
    pub batch: BatchSettings,
    pub pacing: PacingSettings,
    pub drafts: DraftSettings,
    pub features: TelegramFeatures,
}

impl Telegram {
    fn new(bot: Bot, identity: BotIdentity, parts: Parts) -> Self {
        Self {
            bot,
            identity,
            store: parts.store,
            attachments: parts.attachments,
            access: parts.access,
            logins: parts.logins,
            turns: parts.turns,
            budgets: parts.budgets,
            routes: parts.routes,
            features: parts.features,
            batch_settings: parts.batch,
            park_queue: batch::ParkQueue::default(),
            batch_wake: Notify::new(),
            pacer: Mutex::new(Pacer::new(parts.pacing)),
            drafts: Drafts::new(parts.drafts),
            reactions: reactions::Reactions::default(),
            send_wake: Notify::new(),
            closing: CancellationToken::new(),
            send_permits: Semaphore::new(MAX_CONCURRENT_SENDS as usize),
        }
    }

    fn pacer(&self) -> MutexGuard<'_, Pacer> {
        self.pacer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The connected interface. Each of its tasks runs until dropped and can be started again after a panic.
#[derive(Clone)]
pub struct Connected {
    telegram: Arc<Telegram>,
    cached: CacheMe<Bot>,
    caught_up: watch::Sender<bool>,
}

impl Connected {
    pub fn identity(&self) -> &BotIdentity {
        &self.telegram.identity
    }

    pub fn pairing_code(&self) -> Option<String> {
        self.telegram.access.pairing_code()
    }

    /// Polls, and routes the updates that are committed.
    pub async fn receive(self) {
        let (committed, rows) = mpsc::channel(MAX_UNROUTED_ROWS);
        let Telegram { bot, store, .. } = &*self.telegram;
        let poll = receive::poll(bot.clone(), store.clone(), committed, self.caught_up.clone());
        tokio::join!(poll, route::dispatch(self.telegram.clone(), self.cached.clone(), rows));
    }

    pub async fn file_batches(self) {
        file::run(self.telegram, self.caught_up.subscribe()).await;
    }

    pub async fn send(self) {
        send::run(self.telegram).await;
    }

    pub async fn show_typing(self) {
        typing::run(self.telegram).await;
    }

    pub async fn show_drafts(self) {
        send::run_drafts(self.telegram).await;
    }

    pub async fn show_reactions(self) {
        reactions::run(self.telegram).await;
    }

    /// Tells Telegram which commands there are, once.
    pub async fn register_commands(self) {
        route::register_commands(&self.telegram).await;
    }

    /// Starts no new send and waits for the requests on their way: the outcome of a request that is cut off is unknown.
    pub async fn close(&self) {
        self.telegram.closing.cancel();
        self.telegram.send_permits.acquire_many(MAX_CONCURRENT_SENDS).await.map(drop).unwrap_or_default();
    }
}
