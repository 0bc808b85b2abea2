//! The handle others hold on running turns: wake the worker, hear of beginnings and ends, cancel.

use crate::{
    domain::{Conversation, TurnId},
    store::{Store, StoreError},
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{Notify, broadcast};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEvent {
    Started { turn: TurnId, conversation: Conversation },
    Ended { turn: TurnId, conversation: Conversation },
}

pub struct Turns {
    store: Store,
    wake: Notify,
    events: broadcast::Sender<TurnEvent>,
    running: Mutex<HashMap<TurnId, CancellationToken>>,
}

impl Turns {
    pub fn new(store: Store) -> Self {
        let (events, _) = broadcast::channel(1024);
        Self { store, wake: Notify::new(), events, running: Mutex::default() }
    }

    /// A turn was filed: look.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    pub(super) async fn woken(&self) {
        self.wake.notified().await;
    }

    pub fn events(&self) -> broadcast::Receiver<TurnEvent> {
        self.events.subscribe()
    }

    /// Stops everything that runs or waits in a conversation; says whether there was anything.
    pub async fn cancel(&self, place: &Conversation) -> Result<bool, StoreError> {
        let cancelled = self.store.cancel_turns(place).await?;
        for id in &cancelled {
            if let Some(token) = self.running().get(id) {
                token.cancel();
            }
            // Waiting turns end here: nobody else will say so.
            self.tell(TurnEvent::Ended { turn: *id, conversation: place.clone() });
        }
        Ok(!cancelled.is_empty())
    }

    fn running(&self) -> MutexGuard<'_, HashMap<TurnId, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn begin(&self, turn: TurnId, conversation: &Conversation) -> CancellationToken {
        let token = CancellationToken::new();
        self.running().insert(turn, token.clone());
        self.tell(TurnEvent::Started { turn, conversation: conversation.clone() });
        token
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
