//! Who may talk to the bot, and who may see what of it over HTTP. Admission yields a `Scope`: the proof, asked for by
//! every tool and every load of a file, that this person may touch this conversation and nothing else.

mod door;
mod viewer;

pub use door::{Door, LINK_LASTS, LOGIN_LASTS, LoggedIn, MOST_TOKENS, Pass, REPLACED_LASTS, WayIn};
pub use viewer::{Standing, Viewer};

use crate::{
    domain::{Conversation, InterfaceType, Turn, UserId},
    store::{Store, StoreError},
};
use chrono::{TimeDelta, Utc};
use rand::RngExt as _;
use std::{collections::HashSet, sync::Mutex};
use subtle::ConstantTimeEq as _;

/// A stranger is told once, then not again for this long, however much they write.
const STRANGER_REMINDER: TimeDelta = TimeDelta::hours(12);
/// No letters or digits that look alike: people type this by hand.
const CODE_LETTERS: &[u8] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const CODE_LENGTH: usize = 8;

/// The right to touch one conversation's messages and files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    conversation: Conversation,
    user: UserId,
}

impl Scope {
    /// A turn is only ever filed for a person who was admitted.
    pub fn of_turn(turn: &Turn) -> Self {
        Self { conversation: turn.conversation.clone(), user: turn.user_id.clone() }
    }

    #[cfg(test)]
    pub fn local(conversation: Conversation) -> Self {
        Self { conversation, user: UserId("local".into()) }
    }

    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    pub fn user(&self) -> &UserId {
        &self.user
    }
}

#[derive(Debug)]
pub enum Admission {
    Welcome(Scope),
    Stranger,
}

#[derive(Debug, PartialEq, Eq)]
pub enum Pairing {
    /// They are the owner from now on.
    Paired,
    WrongCode,
    /// There is an owner already, or pairing was never open.
    Closed,
}

pub struct Access {
    store: Store,
    allowed: HashSet<UserId>,
    everyone: bool,
    interface: InterfaceType,
    code: Mutex<Option<String>>,
}

impl Access {
    /// Opens pairing if nobody could get in otherwise.
    pub async fn open(
        store: Store,
        allowed: impl IntoIterator<Item = UserId>,
        everyone: bool,
    ) -> Result<Self, StoreError> {
        let interface = InterfaceType::Telegram;
        let allowed: HashSet<UserId> = allowed.into_iter().collect();
        let closed = everyone || !allowed.is_empty() || !store.owners(interface).await?.is_empty();
        let code = (!closed).then(new_code);
        Ok(Self { store, allowed, everyone, interface, code: Mutex::new(code) })
    }

    /// The code to print at start-up, while there is no owner.
    pub fn pairing_code(&self) -> Option<String> {
        self.code().clone()
    }

    fn code(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.code.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub async fn admit(&self, conversation: &Conversation, user: &UserId) -> Result<Admission, StoreError> {
        if self.lets_in(user).await? {
            return Ok(Admission::Welcome(Scope { conversation: conversation.clone(), user: user.clone() }));
        }
        Ok(Admission::Stranger)
    }

    /// Should this stranger hear now that the bot is private? Asking counts as telling.
    pub async fn should_tell(&self, stranger: &UserId) -> Result<bool, StoreError> {
        self.store.should_tell_stranger(self.interface, stranger, Utc::now() - STRANGER_REMINDER).await
    }

    /// Is this person on the list, or the owner, or is everybody welcome?
    pub async fn lets_in(&self, user: &UserId) -> Result<bool, StoreError> {
        if self.everyone || self.allowed.contains(user) {
            return Ok(true);
        }
        Ok(self.store.owners(self.interface).await?.contains(user))
    }

    /// Whoever sends the right code first becomes the owner; the code is worth nothing afterwards.
    pub async fn pair(&self, user: &UserId, offered: &str) -> Result<Pairing, StoreError> {
        let right = match &*self.code() {
            None => return Ok(Pairing::Closed),
            Some(code) => same(code, offered.trim()),
        };
        if !right {
            return Ok(Pairing::WrongCode);
        }
        let paired = self.store.become_owner(self.interface, user).await?;
        *self.code() = None;
        Ok(if paired { Pairing::Paired } else { Pairing::Closed })
    }
}

/// Compares in a time that tells nothing about where the first difference is.
fn same(code: &str, offered: &str) -> bool {
    let offered = offered.to_ascii_uppercase();
    code.as_bytes().ct_eq(offered.as_bytes()).into()
}

fn new_code() -> String {
    let mut rng = rand::rng();
    (0..CODE_LENGTH).map(|_| char::from(CODE_LETTERS[rng.random_range(0..CODE_LETTERS.len())])).collect()
}
