//! Membership of groups: members may see the group's conversations on the page. Telegram reports joining and leaving by
//! a service message and, where the bot is an administrator, also by an update.

use crate::{
    domain::{Conversation, UserId},
    store::{BatchedUpdate, StoreError},
    telegram::{Telegram, batch},
};
use teloxide::types::{ChatMemberUpdated, Message, UpdateKind, User};

/// What one update says about the members of a chat.
struct MembershipChange {
    conversation: Conversation,
    joined: Vec<UserId>,
    left: Option<UserId>,
}

fn person(user: &User) -> Option<UserId> {
    (!user.is_bot).then(|| UserId(user.id.0.to_string()))
}

impl MembershipChange {
    fn of_message(message: &Message) -> Self {
        Self {
            conversation: Conversation::telegram(message.chat.id.0),
            joined: message.new_chat_members().unwrap_or_default().iter().filter_map(person).collect(),
            left: message.left_chat_member().and_then(person),
        }
    }

    fn of_update(update: &ChatMemberUpdated) -> Self {
        let (user, is_present) =
            (person(&update.new_chat_member.user), update.new_chat_member.kind.is_present());
        let (joined, left) = if is_present { (user, None) } else { (None, user) };
        let conversation = Conversation::telegram(update.chat.id.0);
        Self { conversation, joined: joined.into_iter().collect(), left }
    }
}

pub async fn note_service_message(
    telegram: &Telegram,
    inbox_id: i64,
    message: &Message,
) -> Result<(), StoreError> {
    note(telegram, inbox_id, MembershipChange::of_message(message)).await
}

pub async fn note_member_update(
    telegram: &Telegram,
    inbox_id: i64,
    update: &ChatMemberUpdated,
) -> Result<(), StoreError> {
    note(telegram, inbox_id, MembershipChange::of_update(update)).await
}

async fn note(telegram: &Telegram, inbox_id: i64, change: MembershipChange) -> Result<(), StoreError> {
    let MembershipChange { conversation, joined, left } = change;
    for user in &joined {
        // A stranger cannot look at the conversation, so their joining is not kept.
        if telegram.access.is_allowed(user).await? {
            telegram.store.add_member(&conversation, user).await?;
        }
    }
    let Some(user) = left else { return telegram.store.close_update(inbox_id).await };
    let waiting = telegram.store.waiting_conversations(&conversation, &user.0).await?;
    telegram.store.remove_member(&conversation, &user).await?;
    // Watchers of the conversation on the page are checked again.
    telegram.turns.changed(&conversation);
    match waiting.into_iter().next() {
        Some(waiting) => wait_behind(telegram, inbox_id, waiting, &user).await,
        None => telegram.store.close_update(inbox_id).await,
    }
}

/// Filing a message makes its sender a member. So the row of a departure waits behind the messages of the person who left,
/// and the removal is repeated when they are filed.
async fn wait_behind(
    telegram: &Telegram,
    inbox_id: i64,
    conversation: Conversation,
    user: &UserId,
) -> Result<(), StoreError> {
    let (conversation_id, sender_id) = (conversation.id, user.0.clone());
    batch::park(telegram, BatchedUpdate { inbox_id, conversation_id, sender_id, album_id: None }).await
}

/// Whether an update among a person's waiting messages says that they left.
pub fn is_departure(update: &UpdateKind) -> bool {
    match update {
        UpdateKind::Message(message) => message.left_chat_member().is_some(),
        UpdateKind::ChatMember(change) => !change.new_chat_member.kind.is_present(),
        _ => false,
    }
}

/// Removes a member who left, after their last messages are filed, and closes the rows that said so.
pub async fn close_departures(
    telegram: &Telegram,
    conversation: &Conversation,
    user: &UserId,
    inbox_ids: &[i64],
) -> Result<(), StoreError> {
    if inbox_ids.is_empty() {
        return Ok(());
    }
    telegram.store.remove_member(conversation, user).await?;
    let mut waiting = telegram.store.waiting_conversations(conversation, &user.0).await?.into_iter();
    match waiting.find(|waiting| waiting != conversation) {
        // Messages in another topic of the chat are filed later.
        Some(elsewhere) => {
            for inbox_id in inbox_ids {
                wait_behind(telegram, *inbox_id, elsewhere.clone(), user).await?;
            }
            Ok(())
        }
        None => telegram.store.close_updates(inbox_ids).await,
    }
}
