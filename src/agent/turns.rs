//! The handle others hold on running turns: wake the worker, hear of beginnings and ends, cancel.

use crate::{
    domain::{Conversation, TurnId},
    store::{Store, StoreError},
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Notify, broadcast, watch};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    Started { turn: TurnId, conversation: Conversation },
    Ended { turn: TurnId, conversation: Conversation },
}

/// What of a running turn can be shown before it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// What the model has said so far in this step.
    pub text: String,
    /// What is being done, in words for the person: “cropping 3 photos…”.
    pub doing: Option<String>,
}

struct RunningTurn {
    conversation: Conversation,
    token: CancellationToken,
    progress: watch::Sender<Progress>,
}

pub struct Turns {
    store: Store,
    wake: Notify,
    events: broadcast::Sender<TurnEvent>,
    /// Apart from the events, because it happens with every step and only watchers care.
    changes: broadcast::Sender<Conversation>,
    running: Mutex<HashMap<TurnId, RunningTurn>>,
}

impl Turns {
    pub fn new(store: Store) -> Self {
        let (events, _) = broadcast::channel(1024);
        let (changes, _) = broadcast::channel(1024);
        Self { store, wake: Notify::new(), events, changes, running: Mutex::default() }
    }

    /// A turn was filed: look.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Something is new in a conversation, for whoever watches it.
    pub fn changed(&self, conversation: &Conversation) {
        let _ = self.changes.send(conversation.clone());
    }

    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Conversations in which something is new: a message, a step, a name.
    pub fn changes(&self) -> broadcast::Receiver<Conversation> {
        self.changes.subscribe()
    }

    pub fn events(&self) -> broadcast::Receiver<TurnEvent> {
        self.events.subscribe()
    }

    /// Stops everything that runs or waits in a conversation; says whether there was anything.
    pub async fn cancel(&self, place: &Conversation) -> Result<bool, StoreError> {
        let cancelled = self.store.cancel_turns(place).await?;
        self.stop(&cancelled, place);
        Ok(!cancelled.is_empty())
    }

    /// Stops these turns, which are over as far as the store is concerned.
    pub fn stop(&self, turns: &[TurnId], place: &Conversation) {
        for id in turns {
            let here = self.running().get(id).map(|turn| turn.token.cancel());
            // A turn that runs here says itself that it ends; of one that waits, nobody else will.
            if here.is_none() {
                self.tell(TurnEvent::Ended { turn: *id, conversation: place.clone() });
            }
        }
    }

    /// The turn of this conversation that runs here, if one does.
    pub fn running_in(&self, place: &Conversation) -> Option<TurnId> {
        self.running().iter().find(|(_, turn)| turn.conversation == *place).map(|(id, _)| *id)
    }

    fn running(&self) -> MutexGuard<'_, HashMap<TurnId, RunningTurn>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, turn: TurnId, conversation: &Conversation) -> CancellationToken {
        let token = CancellationToken::new();
        let running = RunningTurn {
            conversation: conversation.clone(),
            token: token.clone(),
            progress: watch::Sender::default(),
        };
        self.running().insert(turn, running);
        self.tell(TurnEvent::Started { turn, conversation: conversation.clone() });
        token
    }

    /// Follows a running turn; none if it does not run here. The channel closes when the turn ends.
    pub fn follow(&self, turn: TurnId) -> Option<watch::Receiver<Progress>> {
        self.running().get(&turn).map(|running| running.progress.subscribe())
    }

    /// Notes how far a turn is, for whoever follows it.
    pub(super) fn progress(&self, turn: TurnId, change: impl FnOnce(&mut Progress)) {
        if let Some(running) = self.running().get(&turn) {
            running.progress.send_modify(change);
        }
    }

    /// Which turns run here.
    pub(super) fn running_here(&self) -> Vec<TurnId> {
        self.running().keys().copied().collect()
    }

    pub(super) fn end(&self, turn: TurnId, conversation: &Conversation) {
        self.running().remove(&turn);
        self.tell(TurnEvent::Ended { turn, conversation: conversation.clone() });
        self.wake();
    }

    fn tell(&self, event: TurnEvent) {
        // Nobody listening is fine.
        let _ = self.events.send(event);
    }
}
