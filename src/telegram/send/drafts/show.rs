//! Shows running turns: sends the draft of a turn and edits it until the turn ends.

use super::{
    body, drop_draft,
    edit::{edit_text, message_id},
    native,
};
use crate::{
    agent::{Progress, TurnEvent},
    context,
    domain::{Conversation, InterfaceType, TurnId, TurnState},
    retry::while_unavailable,
    telegram::{
        Telegram,
        error_text::describe,
        messages,
        place::Place,
        plan::{Formatted, SendRequest},
        send::{
            outcome::{self, DeliveryOutcome},
            pacing,
            request::reply_parameters,
            retry::hold_chat,
        },
    },
};
use std::{
    ops::ControlFlow,
    sync::Arc,
    time::{Duration, Instant},
};
use teloxide::{RequestError, payloads::SendMessageSetters as _, requests::Requester as _, types::MessageId};
use tokio::{
    sync::{broadcast::error::RecvError, watch},
    task::JoinSet,
};
use tracing::{Instrument as _, debug, error, info_span};

/// The answer waits for a draft that is on its way, so a draft does not wait long for Telegram.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);

/// Follows the turns until dropped.
pub async fn run(telegram: &Arc<Telegram>) {
    let mut events = telegram.turns.events();
    // Dropping the set stops the tasks.
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        match events.recv().await {
            Ok(TurnEvent::Started { turn, conversation })
                if conversation.interface == InterfaceType::Telegram =>
            {
                if let Some(after) = telegram.drafts.settings.after() {
                    let span = info_span!("draft", %conversation, turn_id = %turn);
                    tasks.spawn(show_turn(telegram.clone(), turn, conversation, after).instrument(span));
                }
            }
            Ok(TurnEvent::Ended { .. }) => telegram.drafts.wake(),
            Ok(TurnEvent::Started { .. }) | Err(RecvError::Lagged(_)) => {}
            Err(RecvError::Closed) => return,
        }
    }
}

/// Shows one turn until it ends. The sender or `remove` then takes over its draft.
async fn show_turn(telegram: Arc<Telegram>, turn: TurnId, conversation: Conversation, after: Duration) {
    let Some(mut progress) = telegram.turns.follow(turn) else { return };
    if ends_within(&mut progress, after).await {
        return;
    }
    let Some(mut draft) = DraftMessage::open(&telegram, turn, conversation).await else { return };
    let interval = draft.interval();
    loop {
        let now = progress.borrow_and_update().clone();
        match draft.next_body(&now) {
            Some(body) => {
                if draft.show(body).await.is_break() || ends_within(&mut progress, interval).await {
                    return;
                }
            }
            None => match tokio::time::timeout(native::REFRESH_INTERVAL, progress.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) => draft.refresh(),
            },
        }
    }
}

/// Waits for this time, or until the turn ends. True if it ended.
async fn ends_within(progress: &mut watch::Receiver<Progress>, time: Duration) -> bool {
    let ended = async { while progress.changed().await.is_ok() {} };
    tokio::time::timeout(time, ended).await.is_ok()
}

/// How a turn is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DraftKind {
    /// A message that is edited.
    Message,
    /// Not a message: Telegram shows it for a while.
    Native,
}

/// The draft of one turn. `Break` means that no more of this turn is shown.
struct DraftMessage<'a> {
    telegram: &'a Telegram,
    turn: TurnId,
    conversation: Conversation,
    place: Place,
    message: Option<MessageId>,
    reply_to: Option<String>,
    /// What the message, or the native draft, shows.
    shown: Option<Formatted>,
    kind: DraftKind,
    /// The last text of the turn, shown until the next step has text.
    text: String,
}

impl<'a> DraftMessage<'a> {
    /// Continues the draft of a turn that runs again after a restart. `None` if it is unknown whether that draft arrived:
    /// a second one must not be sent.
    async fn open(telegram: &'a Telegram, turn: TurnId, conversation: Conversation) -> Option<Self> {
        let place = Place::of(&conversation)?;
        let message = match telegram.store.draft_of_turn(turn).await.ok()? {
            Some(draft) => Some(message_id(&draft)?),
            None => None,
        };
        let reply_to = context::message_to_answer(&telegram.store.inputs_of_turn(turn).await.ok()?);
        let text = String::new();
        let is_native = message.is_none() && telegram.drafts.native.may_work(place);
        let kind = if is_native { DraftKind::Native } else { DraftKind::Message };
        Some(Self { telegram, turn, conversation, place, message, reply_to, shown: None, kind, text })
    }

    /// The time between two edits. Telegram limits edits in groups more strictly.
    fn interval(&self) -> Duration {
        let interval = self.telegram.drafts.settings.every();
        if pacing::is_group(self.conversation.chat_id()) { interval * 2 } else { interval }
    }

    /// A native draft is about to disappear: shows it again.
    fn refresh(&mut self) {
        if self.kind == DraftKind::Native {
            self.shown = None;
        }
    }

    /// What the draft should show now. `None` if it shows that already or there is nothing to show.
    fn next_body(&mut self, now: &Progress) -> Option<Formatted> {
        let has_text = !now.text.trim().is_empty();
        let thinking =
            (!has_text && (self.message.is_some() || self.shown.is_some())).then(messages::thinking);
        if has_text {
            self.text.clone_from(&now.text);
        }
        let body = body::body(&self.text, now.doing.as_deref().or(thinking))?;
        (self.shown.as_ref() != Some(&body)).then_some(body)
    }

    async fn show(&mut self, body: Formatted) -> ControlFlow<()> {
        let Ok(_permit) = self.telegram.send_permits.acquire().await else { return ControlFlow::Break(()) };
        let _lock = self.telegram.drafts.locks.lock(self.turn).await;
        if self.telegram.closing.is_cancelled() {
            return ControlFlow::Break(());
        }
        match self.telegram.store.turn(self.turn).await {
            Ok(Some(turn)) if turn.state == TurnState::Running => {}
            Ok(_) => return ControlFlow::Break(()),
            Err(_) => return ControlFlow::Continue(()),
        }
        if !self.telegram.pacer().try_book(self.conversation.chat_id(), Instant::now()) {
            return ControlFlow::Continue(());
        }
        if self.kind == DraftKind::Native {
            let shown = self.send_native(&body).await;
            // A server or a chat without native drafts gets a message at once.
            if self.kind == DraftKind::Native {
                return shown;
            }
        }
        match self.message {
            Some(message) => self.edit(message, body).await,
            None => self.send(body).await,
        }
    }

    async fn send_native(&mut self, body: &Formatted) -> ControlFlow<()> {
        let request = native::send_draft(self.telegram, self.place, self.turn, body);
        match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
            Ok(Ok(())) => self.shown = Some(body.clone()),
            Ok(Err(error)) => {
                let is_unknown = self.telegram.drafts.native.remember(&error);
                match self.outcome_of(&error) {
                    DeliveryOutcome::Undeliverable(_) if !is_unknown => return ControlFlow::Break(()),
                    DeliveryOutcome::Refused(_) => self.kind = DraftKind::Message,
                    _ => {}
                }
            }
            Err(_) => {}
        }
        ControlFlow::Continue(())
    }

    async fn send(&mut self, body: Formatted) -> ControlFlow<()> {
        let store = &self.telegram.store;
        let planned = SendRequest::Text { body: body.clone() }.into_planned();
        let outbox_id = match store.start_draft(self.turn, &planned, self.reply_to.as_deref()).await {
            Ok(Some(id)) => id,
            Ok(None) => return ControlFlow::Continue(()),
            Err(error) => {
                debug!(%error, op = "start_draft", "store error; not showing the turn now");
                // The row may be committed although the response was lost. It would block the sends of the chat.
                drop_draft(self.telegram, self.turn).await;
                return ControlFlow::Continue(());
            }
        };
        let mut request =
            self.telegram.bot.send_message(self.place.chat, &body.text).entities(body.entities.clone());
        request.message_thread_id = self.place.topic;
        request.reply_parameters = reply_parameters(self.reply_to.as_deref());
        let outcome = match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
            Ok(Ok(message)) => {
                (self.message, self.shown) = (Some(message.id), Some(body));
                DeliveryOutcome::Delivered(vec![message.id.0.to_string()])
            }
            Ok(Err(error)) => self.outcome_of(&error),
            Err(_) => timed_out(),
        };
        let next = self.record_send(outbox_id, outcome).await;
        // The sends of this chat waited for the draft to arrive.
        self.telegram.send_wake.notify_one();
        self.telegram.drafts.wake();
        next
    }

    async fn record_send(&self, outbox_id: i64, outcome: DeliveryOutcome) -> ControlFlow<()> {
        match outcome {
            DeliveryOutcome::Delivered(message_ids) => {
                for id in &message_ids {
                    let store = &self.telegram.store;
                    let sent =
                        while_unavailable("mark_draft_sent", || store.mark_draft_sent(self.turn, id)).await;
                    if let Err(error) = sent {
                        error!(%error, op = "mark_draft_sent", outbox_id, "store error; the draft is not recorded");
                    }
                }
                ControlFlow::Continue(())
            }
            DeliveryOutcome::Unknown(reason) => {
                outcome::record_unknown(self.telegram, outbox_id, &reason).await;
                ControlFlow::Break(())
            }
            DeliveryOutcome::NotDelivered { .. } => {
                drop_draft(self.telegram, self.turn).await;
                ControlFlow::Continue(())
            }
            DeliveryOutcome::Refused(_) | DeliveryOutcome::Undeliverable(_) => {
                drop_draft(self.telegram, self.turn).await;
                ControlFlow::Break(())
            }
        }
    }

    async fn edit(&mut self, message: MessageId, body: Formatted) -> ControlFlow<()> {
        let request = edit_text(self.telegram, self.place.chat, message, &body);
        let outcome = match tokio::time::timeout(REQUEST_TIMEOUT, request).await {
            Ok(Ok(())) => DeliveryOutcome::Delivered(Vec::new()),
            Ok(Err(error)) => self.outcome_of(&error),
            Err(_) => timed_out(),
        };
        match outcome {
            // Certainly not shown: the next edit shows it.
            DeliveryOutcome::NotDelivered { .. } => ControlFlow::Continue(()),
            DeliveryOutcome::Delivered(_) | DeliveryOutcome::Unknown(_) => {
                self.shown = Some(body);
                ControlFlow::Continue(())
            }
            DeliveryOutcome::Refused(_) | DeliveryOutcome::Undeliverable(_) => ControlFlow::Break(()),
        }
    }

    fn outcome_of(&self, error: &RequestError) -> DeliveryOutcome {
        hold_chat(self.telegram, &self.conversation, error);
        debug!(error = describe(error), op = "show_draft", "the draft is not shown");
        DeliveryOutcome::of_error(error, 0)
    }
}

fn timed_out() -> DeliveryOutcome {
    DeliveryOutcome::Unknown("Telegram did not answer in time".into())
}
