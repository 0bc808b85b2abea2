//! Telegram in and out. An update walks intake → route (with parking) → batch → filing (with fetching), and its
//! answer leaves by plan → send; each is a file here, in that order. teloxide is seen nowhere above this room.

mod batch;
mod bot_identity;
mod download;
mod drafts;
mod error_text;
mod fetching;
mod filing;
mod intake;
mod members;
mod messages;
mod pacing;
mod parking;
mod parse;
mod plan;
mod route;
mod send;
mod typing;

pub use bot_identity::BotIdentity;
pub use plan::{plan_answer, plan_echo};

use crate::{
    access::{Access, Logins},
    agent::{Routes, Turns, budgets::Budgets},
    attachments::Attachments,
    config::{BatchSettings, DraftSettings, PacingSettings},
    domain::Conversation,
    store::Store,
};
use route::Command;
use secrecy::{ExposeSecret as _, SecretString};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};
use teloxide::{
    ApiError, Bot, RequestError,
    adaptors::CacheMe,
    requests::{Request as _, Requester as _, RequesterExt as _},
    types::BotCommand,
    utils::command::BotCommands as _,
};
use tokio::sync::{Notify, Semaphore, mpsc, watch};
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};
use url::Url;

/// More sends at once than the overall pace would ever allow.
const ON_THE_WIRE: u32 = 1000;

/// What everything in this room shares.
pub struct Telegram {
    bot: Bot,
    identity: BotIdentity,
    store: Store,
    attachments: Attachments,
    access: Arc<Access>,
    /// How people get to the page.
    logins: Arc<Logins>,
    turns: Arc<Turns>,
    budgets: Budgets,
    timing: BatchSettings,
    pacer: Mutex<pacing::Pacer>,
    /// Which agent a message is for.
    routes: Routes,
    parking: parking::Parking,
    desk: drafts::Desk,
    batch_wake: Notify,
    send_wake: Notify,
    /// Set when the program is about to stop: nothing new is put on the wire.
    closing: CancellationToken,
    /// One permit for each send under way.
    on_the_wire: Semaphore,
}

impl Telegram {
    fn pacer(&self) -> MutexGuard<'_, pacing::Pacer> {
        self.pacer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// If Telegram asks us to wait, nobody writes to this chat until then.
    fn note_flood(&self, place: &Conversation, error: &RequestError) {
        if let RequestError::RetryAfter(wait) = error {
            let now = Instant::now();
            self.pacer().silence(&place.id, now + wait.duration(), now);
        }
    }
}

/// What the rest of the program supplies.
pub struct Parts {
    pub store: Store,
    pub attachments: Attachments,
    pub access: Arc<Access>,
    pub logins: Arc<Logins>,
    pub turns: Arc<Turns>,
    pub budgets: Budgets,
    pub timing: BatchSettings,
    pub pacing: PacingSettings,
    pub drafts: DraftSettings,
    pub routes: Routes,
}

#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    #[error("Telegram does not know this token; check TELEGRAM_BOT_TOKEN (from @BotFather)")]
    WrongToken,
    #[error("the HTTP client cannot be made")]
    Client,
    #[error("{0}")]
    Unreachable(String),
}

/// A client for the Bot API. Time-outs are long because albums are large.
pub fn bot(token: &SecretString, api_url: &Url) -> Result<Bot, ConnectError> {
    let client = telegram_http::Client::builder()
        .connect_timeout(Duration::from_secs(10))
        .timeout(Duration::from_secs(180))
        .tcp_nodelay(true)
        .build()
        .map_err(|_| ConnectError::Client)?;
    Ok(Bot::with_client(token.expose_secret(), client).set_api_url(api_url.clone()))
}

/// Asks Telegram who we are.
async fn who_am_i(bot: &CacheMe<Bot>) -> Result<BotIdentity, ConnectError> {
    match bot.get_me().send().await {
        Ok(me) => Ok(BotIdentity { user_id: me.user.id.0, username: me.username().to_owned() }),
        Err(RequestError::Api(ApiError::InvalidToken)) => Err(ConnectError::WrongToken),
        Err(error) => Err(ConnectError::Unreachable(error_text::describe(&error))),
    }
}

/// Does Telegram take this token? What `doctor` wants to know.
pub async fn check_token(token: &SecretString, api_url: &Url) -> Result<BotIdentity, ConnectError> {
    who_am_i(&bot(token, api_url)?.cache_me()).await
}

/// Connects, however long Telegram is away; fails only on a wrong token.
pub async fn connect(bot: Bot, parts: Parts) -> Result<Connected, ConnectError> {
    let cached = bot.clone().cache_me();
    let mut wait = Duration::from_millis(500);
    let me = loop {
        match who_am_i(&cached).await {
            Ok(me) => break me,
            Err(ConnectError::WrongToken) => return Err(ConnectError::WrongToken),
            Err(error) => {
                warn!("{error}; trying again");
                tokio::time::sleep(wait).await;
                wait = (wait * 2).min(Duration::from_secs(30));
            }
        }
    };
    info!(username = me.username, "connected to Telegram");
    let telegram = Arc::new(Telegram {
        bot,
        identity: me,
        store: parts.store,
        attachments: parts.attachments,
        access: parts.access,
        logins: parts.logins,
        turns: parts.turns,
        budgets: parts.budgets,
        timing: parts.timing,
        pacer: Mutex::new(pacing::Pacer::new(parts.pacing)),
        routes: parts.routes,
        parking: parking::Parking::default(),
        desk: drafts::Desk::new(parts.drafts),
        batch_wake: Notify::new(),
        send_wake: Notify::new(),
        closing: CancellationToken::new(),
        on_the_wire: Semaphore::new(ON_THE_WIRE as usize),
    });
    let (caught_up, _) = watch::channel(false);
    Ok(Connected { telegram, cached, caught_up })
}

/// Ready to run: each of these tasks runs until dropped, and can be started again after a panic.
#[derive(Clone)]
pub struct Connected {
    telegram: Arc<Telegram>,
    cached: CacheMe<Bot>,
    caught_up: watch::Sender<bool>,
}

impl Connected {
    pub fn me(&self) -> &BotIdentity {
        &self.telegram.identity
    }

    pub fn pairing_code(&self) -> Option<String> {
        self.telegram.access.pairing_code()
    }

    /// Polls, and routes what is safe.
    pub async fn receive(self) {
        let (handled_next, rows) = mpsc::channel(1000);
        let Telegram { bot, store, .. } = &*self.telegram;
        let poll = intake::poll(bot.clone(), store.clone(), handled_next, self.caught_up.clone());
        tokio::join!(poll, route::dispatch(self.telegram.clone(), self.cached.clone(), rows));
    }

    pub async fn batch(self) {
        batch::run(self.telegram, self.caught_up.subscribe()).await;
    }

    pub async fn send(self) {
        send::run(self.telegram).await;
    }

    /// Puts nothing new on the wire and waits for what is: a send cut in the middle has an unknown fate.
    pub async fn close(&self) {
        self.telegram.closing.cancel();
        self.telegram.on_the_wire.acquire_many(ON_THE_WIRE).await.map(drop).unwrap_or_default();
    }

    pub async fn show_typing(self) {
        typing::run(self.telegram).await;
    }

    pub async fn show_drafts(self) {
        drafts::run(self.telegram).await;
    }

    /// Tells Telegram which commands there are. Not worth a restart when it fails.
    pub async fn register_commands(self) {
        // teloxide writes them with the slash, which Telegram's documentation does not allow.
        let named = |c: BotCommand| BotCommand::new(c.command.trim_start_matches('/'), c.description);
        let of_agents = self.telegram.routes.commands();
        let of_agents =
            of_agents.map(|(command, agent)| BotCommand::new(command, messages::agent_command(agent)));
        let commands = Command::bot_commands().into_iter().map(named).chain(of_agents);
        let request = self.telegram.bot.set_my_commands(commands);
        if let Err(error) = request.await {
            warn!("the commands could not be registered: {}", error_text::describe(&error));
        }
    }
}
