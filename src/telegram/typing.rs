//! Shows "typing…" in a chat while a turn runs there. Best effort: a lost chat action is ignored.

use super::{Telegram, place::Place};
use crate::{
    agent::TurnEvent,
    domain::{InterfaceType, TurnId},
};
use std::{collections::HashMap, sync::Arc, time::Duration};
use teloxide::{requests::Requester as _, types::ChatAction};
use tokio::sync::broadcast::error::RecvError;
use tokio_util::task::AbortOnDropHandle;

/// Telegram shows a chat action for five seconds.
const REPEAT_INTERVAL: Duration = Duration::from_millis(4500);

/// Follows the turns until dropped.
pub async fn run(telegram: Arc<Telegram>) {
    let mut events = telegram.turns.events();
    let mut typing: HashMap<TurnId, AbortOnDropHandle<()>> = HashMap::new();
    loop {
        match events.recv().await {
            Ok(TurnEvent::Started { turn, conversation })
                if conversation.interface == InterfaceType::Telegram =>
            {
                if let Some(place) = Place::of(&conversation) {
                    let task = tokio::spawn(keep_typing(telegram.clone(), place));
                    typing.insert(turn, AbortOnDropHandle::new(task));
                }
            }
            Ok(TurnEvent::Ended { turn, .. }) => {
                typing.remove(&turn);
            }
            Ok(TurnEvent::Started { .. }) => {}
            // The end of any of these turns may be among the events that were missed.
            Err(RecvError::Lagged(_)) => typing.clear(),
            Err(RecvError::Closed) => return,
        }
    }
}

async fn keep_typing(telegram: Arc<Telegram>, place: Place) {
    loop {
        let mut request = telegram.bot.send_chat_action(place.chat, ChatAction::Typing);
        request.message_thread_id = place.topic;
        let _ = request.await;
        tokio::time::sleep(REPEAT_INTERVAL).await;
    }
}
