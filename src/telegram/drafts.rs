//! A running turn as people see it: one message with what is said so far and what is being done, edited as that
//! changes. It is only a courtesy, so it never delays a real send; in the end it becomes the answer or goes away.

mod body;

use super::{
    Telegram, messages,
    plan::{Formatted, SendRequest},
    route::patiently,
    send::{Fate, judge},
};
use crate::{
    agent::{Progress, TurnEvent},
    config, context,
    domain::{Conversation, InterfaceType, TurnId, TurnState},
    store::{Draft, OutboxRow},
};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use teloxide::{
    ApiError, RequestError,
    payloads::{EditMessageTextSetters as _, SendMessageSetters as _},
    requests::Requester as _,
    types::{ChatId, MessageId, ReplyParameters},
};
use tokio::{
    sync::{Notify, OwnedMutexGuard, broadcast::error::RecvError, watch},
    task::JoinSet,
};
use tracing::{debug, warn};

/// A draft that Telegram does not answer is not worth holding up the answer for.
const PATIENCE: Duration = Duration::from_secs(15);
/// How soon to try again to take a draft away.
const TRY_AGAIN: Duration = Duration::from_secs(5);
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// What drafts share with the sender.
pub struct Desk {
    timing: config::DraftSettings,
    pens: Pens,
    /// Something was settled: a draft may be spare now.
    wake: Notify,
}

impl Desk {
    pub fn new(timing: config::DraftSettings) -> Self {
        Self { timing, pens: Pens::default(), wake: Notify::new() }
    }

    /// A send of a turn is over.
    pub fn look(&self) {
        self.wake.notify_one();
    }
}

/// One pen for each turn: who holds it may write in its draft, so that an edit on its way cannot land on the answer.
#[derive(Default)]
struct Pens(Mutex<HashMap<TurnId, Arc<tokio::sync::Mutex<()>>>>);

impl Pens {
    async fn take(&self, turn: TurnId) -> OwnedMutexGuard<()> {
        let pen = {
            let mut pens = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            pens.retain(|_, pen| Arc::strong_count(pen) > 1);
            pens.entry(turn).or_default().clone()
        };
        pen.lock_owned().await
    }
}

/// Shows running turns and takes away what is left of them, until dropped.
pub async fn run(telegram: Arc<Telegram>) {
    tokio::join!(show_all(&telegram), take_away_all(&telegram));
}

async fn show_all(telegram: &Arc<Telegram>) {
    let mut events = telegram.turns.events();
    // In a set of their own, so that dropping us drops them.
    let mut work = JoinSet::new();
    loop {
        while work.try_join_next().is_some() {}
        match events.recv().await {
            Ok(TurnEvent::Started { turn, conversation })
                if conversation.interface == InterfaceType::Telegram =>
            {
                if let Some(after) = telegram.desk.timing.after() {
                    work.spawn(show(telegram.clone(), turn, conversation, after));
                }
            }
            Ok(TurnEvent::Ended { .. }) => telegram.desk.look(),
            Ok(TurnEvent::Started { .. }) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Shows one turn until it ends. What has become of its draft by then is the sender's to finish.
async fn show(telegram: Arc<Telegram>, turn: TurnId, place: Conversation, after: Duration) {
    let Some(mut progress) = telegram.turns.follow(turn) else { return };
    if ends_within(&mut progress, after).await {
        return;
    }
    let Some(mut sketch) = Sketch::open(&telegram, turn, place).await else { return };
    let every = sketch.every();
    loop {
        let now = progress.borrow_and_update().clone();
        match sketch.draw(&now) {
            Some(body) => {
                if sketch.show(body).await == Then::Stop || ends_within(&mut progress, every).await {
                    return;
                }
            }
            None => {
                if progress.changed().await.is_err() {
                    return;
                }
            }
        }
    }
}

/// Waits this long, or less if the turn ends.
async fn ends_within(progress: &mut watch::Receiver<Progress>, span: Duration) -> bool {
    let ended = async { while progress.changed().await.is_ok() {} };
    tokio::time::timeout(span, ended).await.is_ok()
}

#[derive(PartialEq, Eq)]
enum Then {
    GoOn,
    /// Nothing more is shown of this turn.
    Stop,
}

/// The draft of one turn.
struct Sketch<'a> {
    telegram: &'a Telegram,
    turn: TurnId,
    place: Conversation,
    chat: ChatId,
    message: Option<MessageId>,
    reply_to: Option<String>,
    /// What the draft shows.
    shown: Option<Formatted>,
    /// What was said before the step that has not said anything yet.
    said: String,
}

impl<'a> Sketch<'a> {
    /// Takes up the draft of a turn that is run again after a restart. None if there is nothing to be shown: nobody
    /// knows whether its first draft arrived, and there must not be two.
    async fn open(telegram: &'a Telegram, turn: TurnId, place: Conversation) -> Option<Self> {
        let chat = ChatId(place.id.parse().ok()?);
        let message = match telegram.store.draft_of_turn(turn).await.ok()? {
            Some(draft) => Some(message_id(&draft)?),
            None => None,
        };
        let reply_to = context::message_to_answer(&telegram.store.inputs_of_turn(turn).await.ok()?);
        Some(Self { telegram, turn, place, chat, message, reply_to, shown: None, said: String::new() })
    }

    /// Telegram counts edits in groups more strictly.
    fn every(&self) -> Duration {
        let every = self.telegram.desk.timing.every();
        if super::pacing::is_group(&self.place.id) { every * 2 } else { every }
    }

    /// What should be shown now, if that is something else than what is.
    fn draw(&mut self, now: &Progress) -> Option<Formatted> {
        let thinking = (now.text.trim().is_empty() && self.message.is_some()).then_some(messages::thinking());
        if !now.text.trim().is_empty() {
            self.said.clone_from(&now.text);
        }
        let body = body::body(&self.said, now.doing.as_deref().or(thinking))?;
        (self.shown.as_ref() != Some(&body)).then_some(body)
    }

    async fn show(&mut self, body: Formatted) -> Then {
        let Ok(_on_the_wire) = self.telegram.on_the_wire.acquire().await else { return Then::Stop };
        let _pen = self.telegram.desk.pens.take(self.turn).await;
        if self.telegram.closing.is_cancelled() {
            return Then::Stop;
        }
        match self.telegram.store.turn(self.turn).await {
            Ok(Some(turn)) if turn.state == TurnState::Running => {}
            Ok(_) => return Then::Stop,
            Err(_) => return Then::GoOn,
        }
        if !self.telegram.pacer().try_book(&self.place.id, Instant::now()) {
            return Then::GoOn;
        }
        match self.message {
            Some(message) => self.edit(message, body).await,
            None => self.send(body).await,
        }
    }

    async fn send(&mut self, body: Formatted) -> Then {
        let (store, turn) = (&self.telegram.store, self.turn);
        let planned = SendRequest::Text { body: body.clone() }.into_planned();
        let outbox_id = match store.start_draft(turn, &planned, self.reply_to.as_deref()).await {
            Ok(Some(id)) => id,
            Ok(None) => return Then::GoOn,
            Err(error) => {
                debug!(%error, "a draft could not be stored");
                // It may be there although we did not hear of it, and would hold up the chat.
                patiently(|| store.drop_draft(turn)).await;
                return Then::GoOn;
            }
        };
        let mut request =
            self.telegram.bot.send_message(self.chat, &body.text).entities(body.entities.clone());
        request.reply_parameters = reply(self.reply_to.as_deref());
        let fate = match tokio::time::timeout(PATIENCE, request).await {
            Ok(Ok(message)) => {
                let shown_id = message.id.0.to_string();
                patiently(|| store.draft_sent(turn, &shown_id)).await;
                (self.message, self.shown) = (Some(message.id), Some(body));
                None
            }
            Ok(Err(error)) => Some(self.failed(&error)),
            Err(_) => Some(Fate::Unknown("Telegram did not answer in time".into())),
        };
        let then = match fate {
            None => Then::GoOn,
            Some(Fate::Unknown(why)) => {
                warn!(outbox_id, why, "nobody knows whether a draft arrived; see `photothread doctor`");
                patiently(|| store.send_unknown(outbox_id, &why)).await;
                Then::Stop
            }
            Some(fate) => {
                patiently(|| store.drop_draft(turn)).await;
                if matches!(fate, Fate::Again(..)) { Then::GoOn } else { Then::Stop }
            }
        };
        // What is to be said in this chat waited for the draft to land.
        self.telegram.send_wake.notify_one();
        self.telegram.desk.look();
        then
    }

    async fn edit(&mut self, message: MessageId, body: Formatted) -> Then {
        let request = edit(self.telegram, self.chat, message, &body);
        let fate = match tokio::time::timeout(PATIENCE, request).await {
            Ok(Ok(())) => Fate::Arrived(Vec::new()),
            Ok(Err(error)) => self.failed(&error),
            Err(_) => Fate::Unknown("Telegram did not answer in time".into()),
        };
        match fate {
            // Not shown, certainly: it may be tried again when there is room.
            Fate::Again(..) => Then::GoOn,
            Fate::Arrived(_) | Fate::Unknown(_) => {
                self.shown = Some(body);
                Then::GoOn
            }
            Fate::Refused(_) | Fate::Never(_) => Then::Stop,
        }
    }

    fn failed(&self, error: &RequestError) -> Fate {
        self.telegram.note_flood(&self.place, error);
        let fate = judge(error, 0);
        debug!("a draft was not shown: {}", super::error_text::describe(error));
        fate
    }
}

fn reply(to: Option<&str>) -> Option<ReplyParameters> {
    let id = to?.parse().ok()?;
    Some(ReplyParameters::new(MessageId(id)).allow_sending_without_reply())
}

fn message_id(draft: &Draft) -> Option<MessageId> {
    draft.shown_id.as_ref()?.parse().ok().map(MessageId)
}

/// Nothing to change is as good as changed.
async fn edit(
    telegram: &Telegram,
    chat: ChatId,
    id: MessageId,
    body: &Formatted,
) -> Result<(), RequestError> {
    let request = telegram.bot.edit_message_text(chat, id, &body.text).entities(body.entities.clone());
    match request.await {
        Ok(_) | Err(RequestError::Api(ApiError::MessageNotModified)) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The draft that this send turns into the answer, if its turn was shown while it ran.
pub async fn becoming(telegram: &Telegram, row: &OutboxRow, send: &SendRequest) -> Option<Draft> {
    let (SendRequest::Text { .. }, Some(turn)) = (send, row.turn_id) else { return None };
    patiently(|| telegram.store.draft_of_turn(turn)).await?.filter(|draft| draft.shown_id.is_some())
}

/// Turns a draft into the answer. Unlike a send this can be made twice, so its fate is never unknown; a draft that
/// cannot be changed any more goes away, and the answer is sent as if there had been none.
pub async fn finish(telegram: &Telegram, draft: &Draft, row: &OutboxRow, send: &SendRequest) -> Fate {
    let _pen = telegram.desk.pens.take(draft.turn_id).await;
    let (SendRequest::Text { body }, Ok(chat), Some(id)) =
        (send, draft.conversation.id.parse(), message_id(draft))
    else {
        return Fate::Never("not a draft".into());
    };
    let chat = ChatId(chat);
    let Err(error) = edit(telegram, chat, id, body).await else {
        return Fate::Arrived(vec![id.0.to_string()]);
    };
    telegram.note_flood(&draft.conversation, &error);
    match judge(&error, row.attempts) {
        Fate::Unknown(why) => Fate::Again(Duration::from_secs(2), why),
        Fate::Refused(why) => {
            // It may be gone already, and what is in the way of this must not be in the way of the answer.
            let _ = telegram.bot.delete_message(chat, id).await;
            patiently(|| telegram.store.drop_draft(draft.turn_id)).await;
            Fate::Again(Duration::ZERO, why)
        }
        fate => fate,
    }
}

/// Takes away the drafts of turns that were cancelled or answered with files.
async fn take_away_all(telegram: &Telegram) {
    loop {
        let mut pause = LOOK_AGAIN;
        for draft in patiently(|| telegram.store.spare_drafts()).await.unwrap_or_default() {
            if take_away(telegram, &draft).await == Then::GoOn {
                pause = TRY_AGAIN;
            }
        }
        tokio::select! {
            () = telegram.desk.wake.notified() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn take_away(telegram: &Telegram, draft: &Draft) -> Then {
    let _pen = telegram.desk.pens.take(draft.turn_id).await;
    if let (Some(id), Ok(chat)) = (message_id(draft), draft.conversation.id.parse()) {
        if telegram.pacer().is_silent(&draft.conversation.id, Instant::now()) {
            return Then::GoOn;
        }
        if let Err(error) = telegram.bot.delete_message(ChatId(chat), id).await {
            telegram.note_flood(&draft.conversation, &error);
            if matches!(judge(&error, 0), Fate::Again(..) | Fate::Unknown(_)) {
                return Then::GoOn;
            }
        }
    }
    patiently(|| telegram.store.drop_draft(draft.turn_id)).await;
    Then::Stop
}
