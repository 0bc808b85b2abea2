//! Groups that became supergroups. Telegram gives them another chat id and numbers their messages anew; their history
//! moves along. It reports that with a service message in either chat, and with an error on a send to the old one.

use crate::{
    domain::Conversation,
    store::StoreError,
    telegram::{Telegram, parse::ReceivedMessage},
};
use teloxide::types::{ChatId, Message};
use tracing::info;

/// The old and the new chat, if the message says that a group became a supergroup.
pub fn migration_of(message: &Message) -> Option<(ChatId, ChatId)> {
    match (message.migrate_to_chat_id(), message.migrate_from_chat_id()) {
        (Some(to), _) => Some((message.chat.id, *to)),
        (_, Some(from)) => Some((*from, message.chat.id)),
        _ => None,
    }
}

/// Moves everything that is stored of the old chat. Does no harm when it is repeated.
pub async fn migrate(telegram: &Telegram, from: ChatId, to: ChatId) -> Result<(), StoreError> {
    let (from, to) = (Conversation::telegram(from.0), Conversation::telegram(to.0));
    let restarted = telegram.store.migrate_chat(&from, &to).await?;
    info!(op = "migrate_chat", %from, %to, turns = restarted.len(), "a group became a supergroup");
    // These turns are pending again, and go on after their last stored step.
    telegram.turns.stop(&restarted, &from);
    telegram.turns.changed(&to);
    telegram.turns.wake();
    telegram.send_wake.notify_one();
    telegram.batch_wake.notify_one();
    Ok(())
}

/// A message that waited while its chat moved has an id of the old chat.
pub fn adopt(conversation: &Conversation, message: &mut ReceivedMessage) {
    let ReceivedMessage { conversation: received_in, message_id, reply, .. } = message;
    if received_in.chat_id() == conversation.chat_id() {
        return;
    }
    for id in [message_id].into_iter().chain(reply.as_mut().map(|target| &mut target.message_id)) {
        *id = received_in.foreign_message_id(id);
    }
    *received_in = conversation.clone();
}
