//! Who comes into a group and who leaves it, and so who sees it on the page. Telegram tells by a message in the chat;
//! where the bot is an administrator, by an update of its own as well.

use super::Telegram;
use crate::{
    domain::{Conversation, UserId},
    store::{Parked, StoreError},
};
use teloxide::types::{ChatMemberUpdated, Message, UpdateKind, User};

/// What one update tells of the people in a chat.
struct Changes {
    place: Conversation,
    came: Vec<UserId>,
    left: Option<UserId>,
}

fn person(user: &User) -> Option<UserId> {
    (!user.is_bot).then(|| UserId(user.id.0.to_string()))
}

impl Changes {
    fn of_message(message: &Message) -> Self {
        Self {
            place: Conversation::telegram(message.chat.id.0),
            came: message.new_chat_members().unwrap_or_default().iter().filter_map(person).collect(),
            left: message.left_chat_member().and_then(person),
        }
    }

    fn of_update(change: &ChatMemberUpdated) -> Self {
        let (who, is_there) =
            (person(&change.new_chat_member.user), change.new_chat_member.kind.is_present());
        let (came, left) = if is_there { (who, None) } else { (None, who) };
        Self { place: Conversation::telegram(change.chat.id.0), came: came.into_iter().collect(), left }
    }
}

pub async fn note_message(telegram: &Telegram, inbox_id: i64, message: &Message) -> Result<(), StoreError> {
    note(telegram, inbox_id, Changes::of_message(message)).await
}

pub async fn note_update(
    telegram: &Telegram,
    inbox_id: i64,
    change: &ChatMemberUpdated,
) -> Result<(), StoreError> {
    note(telegram, inbox_id, Changes::of_update(change)).await
}

async fn note(telegram: &Telegram, inbox_id: i64, changes: Changes) -> Result<(), StoreError> {
    let Changes { place, came, left } = changes;
    for user in &came {
        telegram.store.add_member(&place, user).await?;
    }
    let Some(user) = left else { return telegram.store.close_update(inbox_id).await };
    // What they said last may still wait to be filed, and whoever says something takes part: then their leaving waits
    // behind it, to be noted once more.
    let speaks = !telegram.store.waiting_updates(&place.id, &user.0).await?.is_empty();
    telegram.store.remove_member(&place, &user).await?;
    // Whoever watches it on the page is looked at anew.
    telegram.turns.changed(&place);
    if !speaks {
        return telegram.store.close_update(inbox_id).await;
    }
    let parked = Parked { inbox_id, conversation_id: place.id, sender_id: user.0, album_id: None };
    telegram.parking.park(&telegram.store, parked).await?;
    telegram.batch_wake.notify_one();
    Ok(())
}

/// Does this update, found among what somebody said, tell that they left?
pub fn tells_of_leaving(update: &UpdateKind) -> bool {
    match update {
        UpdateKind::Message(message) => message.left_chat_member().is_some(),
        UpdateKind::ChatMember(change) => !change.new_chat_member.kind.is_present(),
        _ => false,
    }
}

/// They left, and all they said is filed.
pub async fn left(
    telegram: &Telegram,
    place: &Conversation,
    user: &UserId,
    inbox_ids: &[i64],
) -> Result<(), StoreError> {
    if inbox_ids.is_empty() {
        return Ok(());
    }
    telegram.store.remove_member(place, user).await?;
    telegram.store.close_updates(inbox_ids).await
}
