//! Who may talk to the bot (`Access`), who may see what over HTTP (`Viewer`), and how they log in (`Logins`).
//! Admission yields a `Scope`, the proof that a person may use one conversation. Every tool and file access needs it.

mod logins;
mod viewer;

pub use logins::{
    Credential, LINK_LIFETIME, LOGIN_LIFETIME, LoggedIn, Logins, MAX_TOKENS_PER_USER, PageAccess,
    REPLACED_LOGIN_LIFETIME,
};
pub use viewer::{Standing, Viewer};

use crate::{
    domain::{Conversation, InterfaceType, Turn, UserId},
    store::{Store, StoreError},
};
use chrono::{TimeDelta, Utc};
use rand::RngExt as _;
use std::{collections::HashSet, sync::Mutex};
use subtle::ConstantTimeEq as _;

/// A stranger is told that the bot is private at most once in this time.
const STRANGER_NOTICE_INTERVAL: TimeDelta = TimeDelta::hours(12);
/// People type the code by hand: no letters and digits that look alike.
const CODE_LETTERS: &[u8] = b"ABCDEFGHJKMNPQRSTUVWXYZ23456789";
const CODE_LENGTH: usize = 8;

/// The right of one person to use the messages and files of one conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scope {
    conversation: Conversation,
    user: UserId,
}

impl Scope {
    /// Turns are created only for admitted people, so a turn is proof enough.
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
    /// This person is now the owner.
    Paired,
    WrongCode,
    /// There is an owner already, or pairing was never enabled.
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
    /// Enables pairing if no owner, no allowed user and no open access is configured.
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
        if self.is_allowed(user).await? {
            return Ok(Admission::Welcome(Scope { conversation: conversation.clone(), user: user.clone() }));
        }
        Ok(Admission::Stranger)
    }

    /// Whether to tell this stranger now that the bot is private. Records that they were told.
    pub async fn should_notify(&self, stranger: &UserId) -> Result<bool, StoreError> {
        self.store
            .claim_stranger_notice(self.interface, stranger, Utc::now() - STRANGER_NOTICE_INTERVAL)
            .await
    }

    /// Whether the user is allowed, is the owner, or everyone is allowed.
    pub async fn is_allowed(&self, user: &UserId) -> Result<bool, StoreError> {
        if self.everyone || self.allowed.contains(user) {
            return Ok(true);
        }
        Ok(self.store.owners(self.interface).await?.contains(user))
    }

    /// The first person who sends the right code becomes the owner; then the code is invalid.
    pub async fn pair(&self, user: &UserId, offered: &str) -> Result<Pairing, StoreError> {
        let right = match &*self.code() {
            None => return Ok(Pairing::Closed),
            Some(code) => codes_match(code, offered.trim()),
        };
        if !right {
            return Ok(Pairing::WrongCode);
        }
        let paired = self.store.become_owner(self.interface, user).await?;
        *self.code() = None;
        Ok(if paired { Pairing::Paired } else { Pairing::Closed })
    }
}

/// Compares in constant time.
fn codes_match(code: &str, offered: &str) -> bool {
    let offered = offered.to_ascii_uppercase();
    code.as_bytes().ct_eq(offered.as_bytes()).into()
}

fn new_code() -> String {
    let mut rng = rand::rng();
    (0..CODE_LENGTH).map(|_| char::from(CODE_LETTERS[rng.random_range(0..CODE_LETTERS.len())])).collect()
}
