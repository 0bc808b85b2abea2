//! Shared handle on the turns of this process: wake the worker, watch starts, ends and progress, cancel.

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

/// What people see of a running turn before it ends.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// The text of the model in this step so far.
    pub text: String,
    /// The running tool, for people: “cropping 3 photos…”.
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
    /// Separate from `events`: changes happen with every step, and only watchers need them.
    changes: broadcast::Sender<Conversation>,
    running: Mutex<HashMap<TurnId, RunningTurn>>,
}

impl Turns {
    pub fn new(store: Store) -> Self {
        let (events, _) = broadcast::channel(1024);
        let (changes, _) = broadcast::channel(1024);
        Self { store, wake: Notify::new(), events, changes, running: Mutex::default() }
    }

    /// Wakes the worker after a turn was filed.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    /// Tells watchers that a conversation has changed.
    pub fn changed(&self, conversation: &Conversation) {
        let _ = self.changes.send(conversation.clone());
    }

    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    /// Conversations that changed: a message, a step or a title is new.
    pub fn changes(&self) -> broadcast::Receiver<Conversation> {
        self.changes.subscribe()
    }

    pub fn events(&self) -> broadcast::Receiver<TurnEvent> {
        self.events.subscribe()
    }

    /// Cancels the running and pending turns of a conversation. Returns whether there were any.
    pub async fn cancel(&self, conversation: &Conversation) -> Result<bool, StoreError> {
        let cancelled = self.store.cancel_turns(conversation).await?;
        self.stop(&cancelled, conversation);
        Ok(!cancelled.is_empty())
    }

    /// Stops the tasks of turns that the store has already ended.
    pub fn stop(&self, turns: &[TurnId], conversation: &Conversation) {
        for id in turns {
            let here = self.running().get(id).map(|turn| turn.token.cancel());
            // A running turn sends its own end event; a pending one cannot.
            if here.is_none() {
                self.send_event(TurnEvent::Ended { turn: *id, conversation: conversation.clone() });
            }
        }
    }

    /// The turn of this conversation that runs in this process, if any.
    pub fn running_in(&self, conversation: &Conversation) -> Option<TurnId> {
        self.running().iter().find(|(_, turn)| turn.conversation == *conversation).map(|(id, _)| *id)
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
        self.send_event(TurnEvent::Started { turn, conversation: conversation.clone() });
        token
    }

    /// Follows a turn; none if it does not run in this process. The channel closes when the turn ends.
    pub fn follow(&self, turn: TurnId) -> Option<watch::Receiver<Progress>> {
        self.running().get(&turn).map(|running| running.progress.subscribe())
    }

    /// Updates the progress of a running turn.
    pub(super) fn progress(&self, turn: TurnId, change: impl FnOnce(&mut Progress)) {
        if let Some(running) = self.running().get(&turn) {
            running.progress.send_modify(change);
        }
    }

    /// The turns that run in this process.
    pub(super) fn running_here(&self) -> Vec<TurnId> {
        self.running().keys().copied().collect()
    }

    pub(super) fn end(&self, turn: TurnId, conversation: &Conversation) {
        self.running().remove(&turn);
        self.send_event(TurnEvent::Ended { turn, conversation: conversation.clone() });
        self.wake();
    }

    fn send_event(&self, event: TurnEvent) {
        // No receiver is fine.
        let _ = self.events.send(event);
    }
}
