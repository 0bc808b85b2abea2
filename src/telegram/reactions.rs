//! A sign of life: 👀 on a message as soon as it has arrived, until its answer is there. Best effort: it delays nothing, and
//! a chat that does not allow it goes without.
//!
//! The row of a reaction is stored before Telegram is asked for it, so that a crash leaves none that stays for ever: the next
//! start removes those whose message is answered.

use super::{
    Telegram,
    error_text::{describe, is_unknown_method},
    parse::ReceivedMessage,
    place::Place,
    send::hold_chat,
};
use crate::{retry::while_unavailable, store::Reaction};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};
use teloxide::{
    RequestError,
    payloads::SetMessageReactionSetters as _,
    requests::Requester as _,
    types::{ChatId, MessageId, ReactionType},
};
use tokio::sync::Notify;
use tracing::{debug, error};

const SEEN: &str = "👀";
/// How often reactions are checked without a wake-up.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

#[derive(Default)]
pub struct Reactions {
    wake: Notify,
    /// Learnt by this process.
    refused: Mutex<Refused>,
}

#[derive(Default)]
struct Refused {
    /// The server does not know the method.
    everywhere: bool,
    /// These chats do not allow the reaction.
    chats: HashSet<ChatId>,
}

impl Reactions {
    /// An update was closed, or a turn or one of its sends has ended.
    pub fn wake(&self) {
        self.wake.notify_one();
    }

    fn is_refused(&self, chat: ChatId) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.everywhere || refused.chats.contains(&chat)
    }

    fn remember(&self, chat: ChatId, error: &RequestError) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        match error {
            error if is_unknown_method(error) => refused.everywhere = true,
            // A message that is gone says nothing about the chat.
            RequestError::Api(error) if error.to_string().contains("REACTION") => {
                refused.chats.insert(chat);
            }
            _ => {}
        }
    }
}

/// Shows that a message has arrived, in the background: only messages for the bot, of people who may use it.
pub fn show(telegram: &Arc<Telegram>, inbox_id: i64, message: &ReceivedMessage) {
    let Some(place) = Place::of(&message.conversation) else { return };
    if !telegram.features.reactions || !message.addressed || telegram.reactions.is_refused(place.chat) {
        return;
    }
    let reaction = Reaction {
        inbox_id,
        conversation: message.conversation.clone(),
        shown_id: message.message_id.clone(),
    };
    let (telegram, sender) = (telegram.clone(), message.sender.clone());
    tokio::spawn(async move {
        let is_welcome = telegram.access.is_allowed(&sender).await.unwrap_or_default();
        if !is_welcome || telegram.pacer().is_held(reaction.conversation.chat_id(), Instant::now()) {
            return;
        }
        match telegram.store.add_reaction(&reaction).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(error) => {
                debug!(%error, op = "add_reaction", "store error; no reaction is shown");
                return;
            }
        }
        if let Err(error) = set(&telegram, &reaction, vec![ReactionType::Emoji { emoji: SEEN.into() }]).await
        {
            debug!(error = describe(&error), op = "set_message_reaction", "no reaction is shown");
            telegram.reactions.remember(place.chat, &error);
        }
        // The message may be answered already.
        telegram.reactions.wake();
    });
}

/// Removes reactions until dropped.
pub async fn run(telegram: Arc<Telegram>) {
    let mut turns = telegram.turns.events();
    loop {
        let pause = remove_spare(&telegram).await;
        tokio::select! {
            () = telegram.reactions.wake.notified() => {}
            _ = turns.recv() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Removes the reactions of messages that are answered. Returns when to look again.
async fn remove_spare(telegram: &Telegram) -> Duration {
    let spare = while_unavailable("spare_reactions", || telegram.store.spare_reactions()).await;
    let spare = spare.unwrap_or_else(|error| {
        error!(%error, op = "spare_reactions", "store error; retrying in {CHECK_INTERVAL:?}");
        Vec::new()
    });
    let mut pause = CHECK_INTERVAL;
    for reaction in spare {
        if telegram.pacer().is_held(reaction.conversation.chat_id(), Instant::now()) {
            pause = RETRY_INTERVAL;
            continue;
        }
        match set(telegram, &reaction, Vec::new()).await {
            // A refusal is final: the message is gone, or the chat is closed to the bot.
            Ok(()) | Err(RequestError::Api(_) | RequestError::MigrateToChatId(_)) => {}
            Err(error) => {
                debug!(
                    error = describe(&error),
                    op = "set_message_reaction",
                    "retrying in {RETRY_INTERVAL:?}"
                );
                pause = RETRY_INTERVAL;
                continue;
            }
        }
        let deleted =
            while_unavailable("delete_reaction", || telegram.store.delete_reaction(reaction.inbox_id));
        if let Err(error) = deleted.await {
            error!(%error, op = "delete_reaction", "store error; the reaction stays recorded");
        }
    }
    pause
}

async fn set(telegram: &Telegram, reaction: &Reaction, shown: Vec<ReactionType>) -> Result<(), RequestError> {
    let message = reaction.shown_id.parse().map(MessageId);
    let (Some(place), Ok(message)) = (Place::of(&reaction.conversation), message) else { return Ok(()) };
    let request = telegram.bot.set_message_reaction(place.chat, message).reaction(shown);
    let done = request.await.map(drop);
    if let Err(error) = &done {
        hold_chat(telegram, &reaction.conversation, error);
    }
    done
}
